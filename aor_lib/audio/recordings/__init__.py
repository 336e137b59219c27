"""Recorded sounds as backgrounds, in place of synthesised scenes."""
