"""Models that answer: the protocol in :mod:`base`, one adapter a module, and the registry."""
