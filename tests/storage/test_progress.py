from aor_lib.storage.progress import finished, progress, up_to_date


def test_plain_lines_say_how_much_is_done(capsys):
    with progress("trials") as report:
        report(10, 100)
        report(100, 100)
    lines = capsys.readouterr().err.split("\n")
    assert "trials: 10 of 100" in lines[0]
    assert "trials: 100 of 100" in lines[1]


def test_a_stage_is_up_to_date_until_its_inputs_change(tmp_path):
    assert not up_to_date(tmp_path, "validate", {"manifest": "a"})
    finished(tmp_path, "validate", {"manifest": "a"})
    assert up_to_date(tmp_path, "validate", {"manifest": "a"})
    assert not up_to_date(tmp_path, "validate", {"manifest": "b"})
    assert not up_to_date(tmp_path, "steer", {"manifest": "a"})
