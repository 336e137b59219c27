import json
import re
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import urlopen

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.config.records import Intent
from aor_lib.inference.store import STORE, Store
from book._ext.explorer_cards import answered, card, load_answers
from book._ext.explorer import BINS, FOLDER, outline, write_page
from aor_lib.report.explorer.served import serve_page
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli
from benchmarks.explorer_study import write_study


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    write_study(folder, 240)
    return folder


@pytest.fixture(scope="module")
def stimuli(build):
    return load_stimuli(build)


@pytest.fixture(scope="module")
def answers(build):
    return load_answers(build)[0]


def test_no_file_of_the_page_holds_what_was_answered_to_a_harmful_utterance(build, stimuli):
    write_page(build, "clips/")
    pages = "".join(path.read_text("ascii") for path in (build / FOLDER).iterdir())
    harmful = {one.stimulus_id for one in stimuli if one.intent == Intent.HARMFUL}
    with Store(build / STORE) as store:
        results = store.frame("speech-acts")
    asked = results["stimulus_id"].isin(harmful)
    secret = set(results.loc[asked, "response"].dropna()) - set(results.loc[~asked, "response"])
    assert len(secret) > 10
    assert not [text for text in secret if json.dumps(text)[1:-1] in pages]


def test_a_request_is_answered_nowhere_if_the_model_complies_in_none_of_its_forms(stimuli, answers):
    frame = answered(stimuli, answers)
    arm = ["utterance_id", "model", "mitigation"]
    for _, forms in frame.groupby(arm):
        somewhere = "full_compliance" in set(forms["label"])
        assert set(forms["elsewhere"]) == {"somewhere" if somewhere else "nowhere"}
    assert set(frame["elsewhere"]) == {"nowhere", "somewhere"}


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
