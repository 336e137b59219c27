"""Responses to be judged."""

import pytest

from aor_lib.config.records import Response, Status


@pytest.fixture(scope="session")
def response():
    """Make a response; by default, an answer that helps."""
    fields = {"trial_key": "0" * 64, "status": Status.OK, "text": "Use the kill command."}
    fields |= {"error": None, "latency_s": 0.1, "tokens": 5, "created": "2026-01-01T00:00:00+00:00"}
    return lambda **changes: Response.model_validate(fields | changes)
