import json
import re

import numpy as np
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.analysis.results import load_results
from aor_lib.inference.store import STORE, Store
from benchmarks.explorer_study import write_study
from book._ext.explorer import BINS, outline, write_data


def test_no_file_holds_what_was_answered_to_a_harmful_utterance(tmp_path):
    write_study(tmp_path, 240)
    write_data(tmp_path, tmp_path / "explorer")
    scripts = "".join(path.read_text("ascii") for path in (tmp_path / "explorer").iterdir())
    harmful = load_results(tmp_path).query("intent == 'harmful'")["stimulus_id"]
    with Store(tmp_path / STORE) as store:
        stored = store.frame("speech-acts")
    asked = stored["stimulus_id"].isin(harmful)
    secret = set(stored.loc[asked, "response"].dropna()) - set(stored.loc[~asked, "response"])
    assert len(secret) > 10
    assert not [text for text in secret if json.dumps(text)[1:-1] in scripts]


@given(levels=st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=3 * BINS))
def test_an_outline_is_in_proportion_to_the_loudest_part(levels, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "sound.wav"
    soundfile.write(path, np.asarray(levels, np.float32), 24_000, subtype="FLOAT")
    digits = outline(path)
    assert re.fullmatch(rf"[0-9a-z]{{{BINS}}}", digits)
    assert "z" in digits or not any(levels)
