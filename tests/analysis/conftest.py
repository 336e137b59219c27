"""Frames of trials that several tests of the analysis share."""

import pandas as pd
import pytest

REFUSED, COMPLIED = ("ok", "full_refusal"), ("ok", "full_compliance")


@pytest.fixture(scope="session")
def trials():
    def make(rows, **columns):
        frame = pd.DataFrame(rows, columns=["utterance_id", "status", "label"])
        return frame.assign(**{"model": "m", "intent": "pseudo_harmful"} | columns)

    return make


@pytest.fixture(scope="session")
def answers(trials):
    def make(refused, asked, **columns):
        outcomes = [REFUSED] * refused + [COMPLIED] * (asked - refused)
        return trials([(str(n), *outcome) for n, outcome in enumerate(outcomes)], **columns)

    return make


@pytest.fixture(scope="session")
def asked(answers):
    core = {
        "model": "ref-wordbound",
        "revision": "1",
        "block": "core",
        "split": "test",
        "variant": 0,
    }
    core |= {"condition": "benign_scene", "arm": "none"}
    core |= {"emotion": "neutral", "gender": "female", "speaking_rate": "normal"}
    return lambda refused, **changes: answers(refused, 20, **core | changes)


@pytest.fixture(scope="session")
def paired(answers):
    def make(utterances, changed):
        alone = answers(utterances, utterances, condition="speech_only")
        in_scene = answers(utterances - changed, utterances, condition="benign_scene")
        return pd.concat([alone, in_scene], ignore_index=True)

    return make
