import errno

import pytest

from aor_lib.storage.atomic_write import atomic_folder, atomic_write


def test_the_file_is_there_when_the_block_ends(tmp_path):
    with atomic_write(tmp_path / "a") as stream:
        stream.write(b"content")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_bytes() == b"content"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_reported_with_the_file_whose_old_content_alone_is_left(tmp_path):
    (tmp_path / "a.flac").write_bytes(b"old")
    with pytest.raises(OSError, match=r"a\.flac") as caught, atomic_write(tmp_path / "a.flac"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "a.flac").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_error_of_another_file_or_in_words_of_its_own_is_left_as_it_is(tmp_path):
    for error in (FileNotFoundError(errno.ENOENT, "Not found", "b.flac"), OSError("set AOR_CACHE")):
        with pytest.raises(OSError, match=r"flac|CACHE") as caught, atomic_write(tmp_path / "a"):
            raise error
        assert caught.value is error


def test_a_folder_is_there_when_the_block_ends_with_the_permissions_of_any(tmp_path):
    (tmp_path / "other").mkdir()
    with atomic_folder(tmp_path / "in" / "a") as folder:
        (folder / "b").write_bytes(b"content")
        assert not (tmp_path / "in" / "a").exists()
    assert (tmp_path / "in" / "a" / "b").read_bytes() == b"content"
    assert (tmp_path / "in" / "a").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert len(list((tmp_path / "in").iterdir())) == 1
