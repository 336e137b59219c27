"""Analysis of results: selections, refusal rates, tests and known effects."""
