"""Plan, ask, record, resume: every trial once."""
