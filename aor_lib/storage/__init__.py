"""Atomic writes, the user's cache, downloaded weights, progress, and worker processes."""
