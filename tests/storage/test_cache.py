from unittest.mock import Mock

import numpy as np

from aor_lib.storage.cache import load_or_make


def test_arrays_are_made_once_and_again_where_their_file_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("AOR_CACHE", str(tmp_path))
    make = Mock(return_value={"samples": np.arange(3, dtype=np.float32), "text": np.array("words")})
    first = load_or_make("kind", ["a", 1], make)
    again = load_or_make("kind", ["a", 1], make)
    make.assert_called_once()
    assert str(again["text"]) == "words"
    np.testing.assert_array_equal(again["samples"], first["samples"], strict=True)
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(b"PK\x03\x04 not a whole file")
    load_or_make("kind", ["a", 1], make)
    load_or_make("kind", "b", make)
    assert make.call_count == 3
