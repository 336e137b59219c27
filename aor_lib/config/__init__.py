"""Typed parameters from YAML files, and the row types of the study."""
