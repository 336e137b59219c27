import pytest

from aor_lib.storage.stages import finished, up_to_date


def test_a_stage_is_up_to_date_until_its_inputs_change(tmp_path):
    assert not up_to_date(tmp_path, "validate", {"manifest": "a"})
    finished(tmp_path, "validate", {"manifest": "a"})
    assert up_to_date(tmp_path, "validate", {"manifest": "a"})
    assert not up_to_date(tmp_path, "validate", {"manifest": "b"})
    assert not up_to_date(tmp_path, "steer", {"manifest": "a"})


@pytest.mark.parametrize("damage", [b"{", b"\xff", b"[]"])
def test_a_damaged_record_counts_as_not_finished(tmp_path, damage):
    finished(tmp_path, "validate", {"manifest": "a"})
    (tmp_path / ".stages" / "validate.json").write_bytes(damage)
    assert not up_to_date(tmp_path, "validate", {"manifest": "a"})
