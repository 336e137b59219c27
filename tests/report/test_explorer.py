import json
import re
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urljoin
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.config.records import Intent
from aor_lib.inference.store import STORE, Store
from aor_lib.report.explorer.cards import HANDFUL, answered, card, load_answers, presets, values
from aor_lib.report.explorer.page import BINS, FOLDER, outline, write_page
from aor_lib.report.explorer.served import serve_page
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli
from benchmarks.explorer_study import write_study

N = 240


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    write_study(folder, N)
    return folder


@pytest.fixture(scope="module")
def stimuli(build):
    return load_stimuli(build)


@pytest.fixture(scope="module")
def answers(build):
    return load_answers(build)[0]


@pytest.fixture(scope="module")
def written(build):
    """Values that the page's scripts hand over, by name."""
    write_page(build, "clips/")
    scripts = {path.stem: path.read_text("ascii") for path in (build / FOLDER).iterdir()}
    return {
        name: json.loads(script.removeprefix(f'aorExplorer.receive("{name}",').removesuffix(")\n"))
        for name, script in scripts.items()
    }


def test_no_file_of_the_page_holds_what_was_answered_to_a_harmful_utterance(build, written):
    harmful = {one.stimulus_id for one in load_stimuli(build) if one.intent == Intent.HARMFUL}
    with Store(build / STORE) as store:
        results = store.frame("speech-acts")
    asked = results["stimulus_id"].isin(harmful)
    secret = set(results.loc[asked, "response"].dropna()) - set(results.loc[~asked, "response"])
    pages = json.dumps(written)
    assert len(secret) > 10
    assert not [text for text in secret if json.dumps(text)[1:-1] in pages]


def test_a_request_is_answered_nowhere_if_the_model_complies_in_none_of_its_forms(stimuli, answers):
    frame = answered(stimuli, answers)
    arm = ["utterance_id", "model", "mitigation"]
    for _, forms in frame.groupby(arm):
        somewhere = "full_compliance" in set(forms["label"])
        assert set(forms["elsewhere"]) == {"somewhere" if somewhere else "nowhere"}
    assert set(frame["elsewhere"]) == {"nowhere", "somewhere"}


def test_each_preset_names_one_model_and_leaves_a_handful(stimuli, answers):
    own, of_answers = values(stimuli), answered(stimuli, answers)
    names = {"model-a": "Model A", "model-b": "Model B"}
    found = presets(own, of_answers, names)
    trials = of_answers[of_answers["mitigation"] == "none"].join(own, on="position")
    assert found
    for preset in found:
        wished = dict(parse_qsl(preset["link"]))
        left = trials[(trials[list(wished)] == pd.Series(wished)).all(axis=1)]
        assert 1 <= len(left) <= HANDFUL
        assert preset["title"].startswith(names[wished["model"]])
        assert preset["title"].endswith(f"{len(left)})")


def test_earlier_turns_are_on_the_card_with_their_sounds(stimuli):
    said = {"role": "user", "text": "Can you hear me?", "path": "clips/turn1.flac", "sha256": "0"}
    turns = [said, {"role": "assistant", "text": "Yes."}]
    stimulus = stimuli[0].model_copy(update={"history": json.dumps(turns)})
    first, second = card(stimulus, ())["earlier"]
    assert (first["role"], first["path"]) == ("user", "turn1.flac")
    assert (second["role"], second["path"]) == ("assistant", None)


@given(levels=st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=3 * BINS))
def test_an_outline_is_in_proportion_to_the_loudest_part(levels, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "sound.wav"
    soundfile.write(path, np.asarray(levels, np.float32), 24_000, subtype="FLOAT")
    digits = outline(path)
    assert re.fullmatch(rf"[0-9a-z]{{{BINS}}}", digits)
    assert "z" in digits or not any(levels)


def test_a_clip_that_is_gone_is_named_with_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.flac does not exist; run 'aor data'"):
        outline(tmp_path / "gone.flac")


def test_the_page_has_a_card_of_every_stimulus_in_order(written, stimuli, answers):
    parts = [written[f"part-{i}"] for i in range(len(written) - 1)]
    cards = [card for part in parts for card in part]
    assert [one["stimulus_id"] for one in cards] == [one.stimulus_id for one in stimuli]
    assert [len(one["answers"]) for one in cards] == [4] * N
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    assert written["index"]["parts"] == starts


def test_a_running_notebook_frames_the_page_with_its_data_and_sounds(build):
    address = serve_page(build).src
    page = fetch(address)
    assert b'class="aor-explorer"' in page
    assert b"window.aorExplorer" in page
    assert fetch(urljoin(address, "explorer/index.js")).startswith(b"aorExplorer.receive(")
    clip = (build / "clips" / "tone.flac").read_bytes()
    assert fetch(urljoin(address, "clips/tone.flac")) == clip


@pytest.mark.parametrize("path", ["", STORE, "clips/../" + STORE, MANIFEST])
def test_nothing_else_of_the_study_is_served(build, path):
    with pytest.raises(HTTPError, match="404"):
        fetch(urljoin(serve_page(build).src, "/") + path)


def fetch(address):
    with urlopen(address) as response:
        return response.read()
