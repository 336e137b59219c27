"""What is written is read back, and the same results are the same bytes."""

import json
import sqlite3

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aor_lib.config.params import ModelCard
from aor_lib.config.records import (
    FLAGS,
    Arm,
    Generation,
    Label,
    Response,
    Status,
    Trial,
    Verdict,
    content_hash,
)
from aor_lib.inference.bundles import Bundle, read_bundle, write_bundle
from aor_lib.inference.provenance import Provenance
from aor_lib.inference.store import Store
from tests.inference.bundles import machine, model

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
PLAIN = st.text(st.characters(categories=("L", "N")), max_size=12)
NAMES = st.sampled_from(["a", "b.c", "d_e-1"])
HASHES = st.integers(0, 5).map(content_hash)


@st.composite
def bundles(draw):
    arms = draw(
        st.lists(
            st.builds(
                Arm,
                *(NAMES, PLAIN, HASHES, NAMES, st.none() | TEXT),
                st.builds(
                    Generation,
                    max_new_tokens=st.integers(1, 4096),
                    temperature=st.floats(0, 2),
                    seed=st.integers(),
                ),
                st.lists(TEXT, max_size=2).map(tuple),
            ),
            min_size=1,
            max_size=3,
        )
    )
    trials = draw(
        st.lists(
            st.builds(Trial, NAMES, HASHES, st.sampled_from(arms)),
            min_size=1,
            max_size=5,
            unique_by=lambda trial: (trial.key, trial.stimulus_id, trial.arm.mitigation),
        )
    )
    keys = draw(st.lists(st.sampled_from([t.key for t in trials]), unique=True))
    responses = [draw(responses_to(key)) for key in keys]
    return Bundle(
        profile="tiny",
        aor_version="0.1.0",
        trials=tuple(trials),
        responses=tuple(responses),
        verdicts=tuple(draw(verdicts_on(r)) for r in responses if draw(st.booleans())),
        cards=tuple(
            ModelCard(id=name, title=draw(PLAIN), family="", kind="hf", licence="", source="")
            for name in sorted({trial.arm.model for trial in trials})
        ),
        provenance=(
            Provenance(
                model=trials[0].arm.model,
                revision=draw(PLAIN),
                aor_version="0",
                python="3",
                device=draw(PLAIN),
                libraries=draw(st.dictionaries(PLAIN, PLAIN, max_size=2)),
                since="2026-01-01",
            ),
        ),
    )


@st.composite
def responses_to(draw, key):
    status = draw(st.sampled_from(Status))
    said = draw(TEXT)
    return Response(
        trial_key=key,
        status=status,
        text=said if status is Status.OK else None,
        error=None if status is Status.OK else said,
        heard=draw(st.none() | st.dictionaries(TEXT, TEXT, max_size=2).map(json.dumps)),
        latency_s=draw(st.floats(0, 1e6)),
        tokens=draw(st.none() | st.integers(0, 2**40)),
        created=draw(st.datetimes()).isoformat(),
    )


@st.composite
def verdicts_on(draw, response):
    answered = response.status is Status.OK
    return Verdict(
        trial_key=response.trial_key,
        judge=draw(NAMES),
        judge_version=draw(PLAIN),
        label=draw(st.sampled_from(Label)) if answered else Label.UNJUDGED,
        score=draw(st.none() | st.floats(0, 1)),
        rationale=draw(TEXT),
        flags=tuple(draw(st.lists(st.sampled_from(FLAGS), unique=True))),
    )


@given(bundle=bundles())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_bundle_is_read_back_as_it_was_written(bundle, tmp_path_factory):
    folder = tmp_path_factory.mktemp("round") / "bundle"
    write_bundle(bundle, folder)
    assert read_bundle(folder) == bundle


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


def test_the_same_results_are_the_same_bytes(tmp_path):
    there = machine(tmp_path / "there").ask(model("other"))
    first, second = there.export("first"), there.export("second")
    assert contents(first) == contents(second)
    assert len(contents(first)) == 5


def test_the_order_in_which_answers_came_leaves_no_trace(tmp_path):
    there = machine(tmp_path / "there").ask(model("other"), model("third"))
    here = machine(tmp_path / "here")
    with Store(there.build / "results.sqlite") as store, Store(here.build / "results.sqlite") as to:
        to.set_plan(store.planned()[::-1])
        answers = list(store.answers())[::-1]
        to.record(response for response, _ in answers)
        to.record_verdicts((response, v) for response, verdicts in answers for v in verdicts)
        for table in ("cards", "provenance"):
            rows = store.read(f"SELECT * FROM {table}")[::-1]
            with to.transaction() as db:
                db.executemany(
                    f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows
                )
    assert contents(there.export()) == contents(here.export())


def test_results_from_before_some_columns_were_kept_are_exported(tmp_path):
    there = machine(tmp_path / "there").ask(model("other"))
    with sqlite3.connect(there.build / "results.sqlite") as db:
        db.execute("ALTER TABLE trials DROP COLUMN steps")
        db.execute("ALTER TABLE plan DROP COLUMN part")
        db.execute("ALTER TABLE verdicts DROP COLUMN flags")
        db.execute("DROP TABLE cards")
        db.execute("DROP TABLE provenance")
    there.study = there.study.model_copy(update={"models": (model("other").card,)})
    read = read_bundle(there.export())
    assert len(read.trials) == len(read.responses) == 6
    assert read.verdicts == read.provenance == ()
