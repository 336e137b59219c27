"""Stimuli: their design, clips, manifest, validation and export."""
