import datetime

import pytest

from aor_lib.report.annotation.store import (
    ANNOTATIONS,
    CLIPS,
    AnnotationError,
    load_annotations,
    record_annotation,
)

ITEM, OTHER = "a" * 64, "b" * 64


def test_an_annotation_is_kept_with_its_time_in_utc(tmp_path):
    record_annotation(tmp_path, CLIPS, "ann", ITEM, "benign")
    (row,) = load_annotations(tmp_path, CLIPS).to_dict("records")
    assert [row["annotator"], row["item_sha256"], row["label"]] == ["ann", ITEM, "benign"]
    assert datetime.datetime.fromisoformat(row["created"]).utcoffset() == datetime.timedelta(0)


def test_a_second_label_of_an_item_replaces_the_first_of_this_annotator_only(tmp_path):
    record_annotation(tmp_path, CLIPS, "ann", ITEM, "benign")
    record_annotation(tmp_path, CLIPS, "bob", ITEM, "benign")
    record_annotation(tmp_path, CLIPS, "ann", ITEM, "harmful")
    labels = load_annotations(tmp_path, CLIPS).set_index("annotator")["label"]
    assert labels.to_dict() == {"ann": "harmful", "bob": "benign"}


@pytest.mark.parametrize(
    ("annotator", "label", "named"),
    [("", "benign", "annotator: ''"), ("ann", "evil", "label: 'evil'")],
)
def test_a_value_that_cannot_be_kept_is_named(tmp_path, annotator, label, named):
    with pytest.raises(AnnotationError, match=named):
        record_annotation(tmp_path, CLIPS, annotator, ITEM, label)
    assert load_annotations(tmp_path, CLIPS).empty


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / ANNOTATIONS).write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(AnnotationError, match=ANNOTATIONS):
        load_annotations(tmp_path, CLIPS)
    with pytest.raises(AnnotationError, match=ANNOTATIONS):
        record_annotation(tmp_path, CLIPS, "ann", ITEM, "benign")
