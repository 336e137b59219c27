"""How the weights of the sound tagger and the scene classifier were made."""
