"""Speech synthesis, background scenes, recordings, mixing, transcription and sound tagging."""
