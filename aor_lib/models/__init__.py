"""Audio models: the protocol (:mod:`base`), one adapter per module, and the registry."""
