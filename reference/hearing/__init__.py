"""How the weights of the sound tagger were made."""
