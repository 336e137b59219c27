"""Results, selections, rates, tests and effects."""
