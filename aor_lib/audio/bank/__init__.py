"""Recordings of sounds by AudioSet's labels, which scenes take in place of synthesised sounds."""
