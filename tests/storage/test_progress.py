from aor_lib.storage import progress


def test_lines_say_how_much_is_done_and_how_long_it_takes(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 20.0, 25.0, 220.0, 400.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.progress("trials") as report:
        report(10, 100)
        report(30, 100)
        report(31, 100)  # too soon for another line
        report(60, 100)
        report(100, 100)
    assert capsys.readouterr().err.splitlines() == [
        "trials: 10 of 100",
        "trials: 30 of 100, 1 a second, about 70 s left",
        "trials: 60 of 100, 13.6 a minute, about 3 min left",
        "trials: 100 of 100",
    ]
