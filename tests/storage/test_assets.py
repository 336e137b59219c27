import hashlib
import zipfile
from unittest.mock import Mock

import numpy as np
import pytest
import yaml

from aor_lib.storage import assets

SHA256 = hashlib.sha256(b"first second").hexdigest()


@pytest.fixture
def listing(tmp_path, monkeypatch):
    monkeypatch.setenv("AOR_CACHE", str(tmp_path / "cache"))
    assets.fetch.cache_clear()
    archive = tmp_path / "pkg.whl"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("part1", b"first ")
        bundle.writestr("part2", b"second")
    package = {"registry": "pypi", "name": "pkg", "version": "1", "sha256": SHA256}
    file = {"path": "sub/whole.bin", "members": ["part1", "part2"], "sha256": SHA256}
    asset = {"id": "thing", "description": "A thing", "licence": "MIT"}
    path = tmp_path / "assets.yaml"
    path.write_text(yaml.safe_dump({"assets": [asset | {"packages": [package], "files": [file]}]}))
    download = Mock(return_value=archive)
    monkeypatch.setattr(assets, "_download", download)
    return path, download


def test_members_are_joined_and_fetched_once_and_again_where_the_file_was_altered(listing, capsys):
    path, download = listing
    folder = assets.fetch("thing", path)
    assert (folder / "sub/whole.bin").read_bytes() == b"first second"
    assert [f.name for f in folder.rglob("*") if f.is_file()] == ["whole.bin"]
    assets.fetch.cache_clear()
    assets.fetch("thing", path)
    download.assert_called_once()
    (folder / "sub/whole.bin").write_bytes(b"first secunD")
    assets.fetch.cache_clear()
    assets.fetch("thing", path)
    assert (folder / "sub/whole.bin").read_bytes() == b"first second"
    assert download.call_count == 2
    assert "whole.bin: is not what its sha256 says" in capsys.readouterr().err


def test_a_package_with_other_content_is_refused_and_nothing_is_kept(listing, tmp_path):
    path, _ = listing
    path.write_text(path.read_text().replace(SHA256, "ab" * 32))
    with pytest.raises(assets.AssetError, match=r"sub/whole.bin: sha256 .*abab"):
        assets.fetch("thing", path)
    assert not list((tmp_path / "cache").rglob("whole.bin"))


def test_arrays_are_made_once_and_again_where_their_file_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("AOR_CACHE", str(tmp_path))
    make = Mock(return_value={"samples": np.arange(3, dtype=np.float32), "text": np.array("words")})
    first = assets.load_or_make("kind", ["a", 1], make)
    again = assets.load_or_make("kind", ["a", 1], make)
    make.assert_called_once()
    assert str(again["text"]) == "words"
    np.testing.assert_array_equal(again["samples"], first["samples"], strict=True)
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(b"PK\x03\x04 not a whole file")
    assets.load_or_make("kind", ["a", 1], make)
    assets.load_or_make("kind", "b", make)
    assert make.call_count == 3
