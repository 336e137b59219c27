"""Models that answer: the protocol in :mod:`base`, one adapter per module, and the registry."""
