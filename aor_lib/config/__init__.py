"""YAML becomes typed parameters, and the rows that the study exchanges."""
