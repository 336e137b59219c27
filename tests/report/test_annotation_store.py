import datetime

import pytest

from aor_lib.report.annotation.store import (
    ANNOTATIONS,
    CLIPS,
    AnnotationError,
    load_annotations,
    record_annotation,
)

ITEM = "a" * 64


def test_a_second_label_of_an_item_replaces_the_first_of_this_annotator_only(tmp_path):
    for annotator, label in (("ann", "benign"), ("bob", "benign"), ("ann", "harmful")):
        record_annotation(tmp_path, CLIPS, annotator, ITEM, label)
    kept = load_annotations(tmp_path, CLIPS)
    rows = kept[["annotator", "item_sha256", "label"]].to_numpy().tolist()
    assert rows == [["ann", ITEM, "harmful"], ["bob", ITEM, "benign"]]
    for created in kept["created"]:
        assert datetime.datetime.fromisoformat(created).utcoffset() == datetime.timedelta(0)


def test_a_label_that_cannot_be_kept_is_named(tmp_path):
    with pytest.raises(AnnotationError, match="label: 'evil'"):
        record_annotation(tmp_path, CLIPS, "ann", ITEM, "evil")
    assert load_annotations(tmp_path, CLIPS).empty


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / ANNOTATIONS).write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(AnnotationError, match=ANNOTATIONS):
        load_annotations(tmp_path, CLIPS)
