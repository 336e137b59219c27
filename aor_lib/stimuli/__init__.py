"""Design, clips, manifest: what the models are given, validated and exported."""
