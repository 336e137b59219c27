"""Whisper's transcripts, and what is heard in a clip beside the words."""
