"""The identity of what is made: a hash of all that it is made from."""

import hashlib
import json


def content_hash(content: object) -> str:
    """sha256 of the :func:`canonical_json` of ``content``."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def canonical_json(content: object) -> str:
    """JSON with sorted keys and no white space: equal contents give equal texts."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
