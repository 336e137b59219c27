import numpy as np
import pytest

from aor_lib.storage.cache import load_or_make


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AOR_CACHE", str(tmp_path))


def counted(calls: list[int]):
    def make():
        calls.append(1)
        return {"samples": np.arange(3, dtype=np.float32), "text": np.array("words")}

    return make


def test_arrays_are_made_once_and_come_back_the_same():
    calls: list[int] = []
    first = load_or_make("kind", ["a", 1], counted(calls))
    second = load_or_make("kind", ["a", 1], counted(calls))
    assert len(calls) == 1
    assert str(second["text"]) == "words"
    np.testing.assert_array_equal(first["samples"], second["samples"])
    load_or_make("kind", "b", counted(calls))
    assert len(calls) == 2


def test_a_damaged_entry_is_made_again(tmp_path):
    calls: list[int] = []
    load_or_make("kind", "a", counted(calls))
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(b"PK\x03\x04 not a whole file")
    load_or_make("kind", "a", counted(calls))
    assert len(calls) == 2
