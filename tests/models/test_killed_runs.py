"""Runs of the command against a server with every fault, killed and started again."""

import itertools
import subprocess
import sys

import pytest
import yaml

from aor_lib.config.records import Split
from aor_lib.inference.store import STORE
from aor_lib.stimuli.manifest import write_manifest
from tests.conftest import make_text_stimuli
from tests.inference.conftest import outcomes_in
from tests.models.loopback import completion, error
from tests.models.test_openai_api import NO_ANSWER, card

FAULTS = [reply for reply, _, blocked, _ in NO_ANSWER if not blocked]
FAULTS += [None, error(503, "no healthy upstream"), (200, {}, b"<html>Please log in")]
FAULTS += [error(429, "slow down", retry_after=later) for later in ("0", "0.001", "soon")]
FAULTS += [error(400, "the audio exceeds the encoder's cache"), (200, {}, b'{"choices": null}')]
FAULTS += [completion(None, "tool_calls"), completion(None, "length"), completion("", "stop")]
KILLS = 10
TRIALS = KILLS + 3 * len(FAULTS)


def text_of(body):
    return body["messages"][0]["content"][0]["text"]


@pytest.mark.nightly
def test_ten_kills_lose_no_answer_and_ask_none_again_and_no_fault_becomes_one(
    server, write_profile, tmp_path
):
    (tmp_path / "models").mkdir()
    asked = card(server, max_retries=0, concurrency=2).model_dump(mode="json")
    (tmp_path / "models/tiny.yaml").write_text(yaml.safe_dump(asked | {"id": "tiny"}))
    texts = make_text_stimuli(TRIALS)
    write_manifest([text.model_copy(update={"split": Split.TEST}) for text in texts], tmp_path)
    profile = write_profile(models=["tiny"], mitigations=["none"])
    command = ["run", profile, "--build", tmp_path, "--max-failures", "1000"]
    command = [sys.executable, "-c", "from aor_lib.cli import main; main()", *map(str, command)]
    numbers, faults = itertools.count(1), itertools.cycle(FAULTS)
    runs: list[subprocess.Popen] = []

    def reply(body):
        if len(runs) <= KILLS and len(server.requests) > 2:
            runs[-1].kill()
        return next(faults) if next(numbers) % 3 == 0 else completion(f"To {text_of(body)}")

    server.reply = reply
    answered: set[str] = set()
    while len(answered) < TRIALS:
        server.requests.clear()
        runs.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        code = runs[-1].wait()
        assert not answered & set(map(text_of, server.bodies)), "what is answered is asked again"
        rows = outcomes_in(tmp_path / STORE)
        assert len(rows) == TRIALS
        now = {row.stimulus_id.replace("s", "text ") for row in rows if row.status == "ok"}
        assert {row.response for row in rows} - {None} == {f"To {text}" for text in now}
        assert answered <= now
        answered = now
        assert code == (-9 if len(runs) <= KILLS else len(answered) < TRIALS)
