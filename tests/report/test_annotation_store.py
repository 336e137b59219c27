import datetime
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from aor_lib.report.annotation.store import LabelStore, LabelStoreError

CLIP, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def store(tmp_path):
    with LabelStore(tmp_path / "labels.sqlite") as store:
        yield store


def test_a_label_is_kept_with_its_time_in_utc(store):
    store.record("ann", CLIP, True, "benign")
    row = store.labels().iloc[0]
    assert [row["listener"], row["stimulus_sha256"], row["label"]] == ["ann", CLIP, "benign"]
    assert bool(row["with_scene"]) is True
    assert datetime.datetime.fromisoformat(row["created"]).utcoffset() == datetime.timedelta(0)


def test_a_second_label_of_a_clip_replaces_the_first_of_this_listener_only(store):
    store.record("ann", CLIP, True, "benign")
    store.record("bob", CLIP, True, "benign")
    store.record("ann", CLIP, True, "harmful")
    labels = store.labels().set_index("listener")["label"]
    assert labels.to_dict() == {"ann": "harmful", "bob": "benign"}


def test_what_was_committed_survives_without_closing(tmp_path):
    store = LabelStore(tmp_path / "labels.sqlite")
    store.record("ann", CLIP, False, "unclear")
    with LabelStore(tmp_path / "labels.sqlite") as reader:
        assert len(reader.labels()) == 1


def test_labels_are_kept_from_any_thread(store):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: store.record(f"l{i}", CLIP, True, "benign"), range(20)))
    assert len(store.labels()) == 20


def test_labels_come_in_the_same_order_however_they_were_given(tmp_path):
    given = [("bob", OTHER), ("ann", OTHER), ("bob", CLIP), ("ann", CLIP)]
    frames = []
    for name, order in {"a": given, "b": given[::-1]}.items():
        with LabelStore(tmp_path / name) as store:
            for listener, clip in order:
                store.record(listener, clip, True, "benign")
            frames.append(store.labels().drop(columns="created"))
    assert frames[0].equals(frames[1])


def test_a_new_file_has_no_labels_but_all_columns(store):
    labels = store.labels()
    assert len(labels) == 0
    assert list(labels) == ["listener", "stimulus_sha256", "with_scene", "label", "created"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"listener": "Ann Smith"}, "listener: 'Ann Smith' cannot be used; take up to 60 small"),
        ({"listener": ""}, "listener: '' cannot be used"),
        ({"stimulus_sha256": "abc"}, "labels.sqlite: stimulus_sha256: 'abc' is no sha256; give"),
        ({"label": "evil"}, "label: 'evil' is not one of harmful, benign, unclear; choose one"),
    ],
)
def test_a_label_that_is_none_is_refused_in_one_line(store, changed, message):
    values = {"listener": "ann", "stimulus_sha256": CLIP, "with_scene": True, "label": "benign"}
    with pytest.raises(LabelStoreError) as error:
        store.record(**(values | changed))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(store.labels()) == 0


def test_a_file_that_is_no_store_is_named(tmp_path):
    path = tmp_path / "labels.sqlite"
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(LabelStoreError, match=r"labels\.sqlite: file is not a database"):
        LabelStore(path)


def test_the_file_is_in_wal_mode(store):
    mode = sqlite3.connect(store.path).execute("PRAGMA journal_mode").fetchone()
    assert mode == ("wal",)
