"""Recordings with AudioSet labels, which scenes use in place of synthesised sounds."""
