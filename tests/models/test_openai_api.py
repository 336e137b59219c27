"""The API adapter, through the real SDK, against a server on this machine."""

from __future__ import annotations

import asyncio
import base64
import collections
import email.utils
import io
import json
import logging
import math
import random
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from aor_lib.config.params import ModelCard, card_settings, load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.api_settings import Settings
from aor_lib.models.base import Answer, Conversation, Failure, ModelError, Turn, Waveform
from aor_lib.models.openai_api import OpenAIModel
from tests.models.loopback import KEY, Reply, Server, error, serving

GENERATION = Generation(max_new_tokens=7, temperature=0.5, seed=11)
PRICES = {"text_input": 0, "audio_input": 0, "output": 1e6, "audio_tokens_per_s": 10}
"""A request may cost 7 USD; an answer of five tokens costs 5."""
BROKEN_OFF = (200, {"content-length": "999"}, b'{"choices": [{"index"')
NO_JSON = (200, {}, b'{"choices": [{"index"')


def completion(text: str | None, finish_reason: str = "stop", refusal: str | None = None) -> Reply:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "tiny",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6},
    }
    return 200, {}, json.dumps(body).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr("aor_lib.models.api_errors._FIRST_DELAY_S", 0.001)
    with serving() as server:
        server.reply = lambda _: completion("Fine.")
        yield server


def card(server: Server | None = None, **settings: Any) -> ModelCard:
    if server is not None:
        settings["base_url"] = server.url
    return ModelCard(
        id="tiny-api",
        title="Tiny",
        family="Test",
        kind="openai_api",
        licence="none",
        source="tiny",
        settings={"api_key_variable": "TEST_KEY", "max_retries": 2, **settings},
    )


def said(text: str) -> Conversation:
    return (Turn("user", text=text),)


def text_of(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"][0]["text"])


def sound_in(request: dict[str, Any]) -> tuple[np.ndarray, int]:
    [part] = request["messages"][-1]["content"]
    assert part["type"] == "input_audio"
    assert part["input_audio"]["format"] == "wav"
    wav = io.BytesIO(base64.b64decode(part["input_audio"]["data"]))
    samples, rate = soundfile.read(wav, dtype="int16")
    return samples, rate


def answer_to(server: Server, reply: Reply, **settings: Any) -> Answer | Failure:
    """What becomes of one question to a server that always replies the same."""
    server.reply = lambda _: reply
    [result] = OpenAIModel(card(server, **settings)).answer([said("Hello")], GENERATION)
    return result


def answers_in(results: list[Answer | Failure]) -> int:
    return sum(isinstance(result, Answer) for result in results)


def test_answers_keep_their_order_and_no_more_than_asked_are_under_way(server: Server) -> None:
    together = threading.Barrier(3)
    lock = threading.Lock()
    under_way, most = 0, 0

    def reply(request: dict[str, Any]) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        # Passed only if three requests are here at once; the last of three is answered first.
        together.wait(timeout=10)
        with lock:
            under_way -= 1
        return completion(f"You said {text_of(request)}")

    server.reply = reply
    answers = OpenAIModel(card(server, concurrency=3)).answer(
        [said(f"number {i}") for i in range(12)], GENERATION
    )
    assert answers == [Answer(f"You said number {i}", 5) for i in range(12)]
    assert most == 3


def test_a_connection_serves_many_requests(server: Server) -> None:
    OpenAIModel(card(server, concurrency=4)).answer([said(f"{i}") for i in range(40)], GENERATION)
    assert len(server.requests) == 40
    assert len(server.connections) <= 4


def test_a_request_holds_the_sound_and_the_settings(server: Server, tmp_path: Path) -> None:
    samples = np.random.default_rng(0).integers(-9000, 9000, 2400).astype(np.int16)
    soundfile.write(tmp_path / "clip.flac", samples, 24_000)
    model = OpenAIModel(card(server, extra={"reasoning_effort": "none"}))
    conversation = (
        Turn("system", text="Think first."),
        Turn("user", audio=tmp_path / "clip.flac"),
    )
    assert model.answer([conversation], GENERATION) == [Answer("Fine.", 5)]
    [asked] = server.requests
    sent, rate = sound_in(asked.body)
    assert rate == 24_000
    np.testing.assert_array_equal(sent, samples)
    system, _ = asked.body.pop("messages")
    assert asked.body == {
        "model": "tiny",
        "max_completion_tokens": 7,
        "temperature": 0.5,
        "seed": 11,
        "reasoning_effort": "none",
    }
    assert system == {"role": "system", "content": [{"type": "text", "text": "Think first."}]}
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"


def test_sound_in_memory_is_sent_as_sound_in_a_file_is(server: Server, tmp_path: Path) -> None:
    samples = (np.arange(-2000, 2000) / 2048).astype(np.float32)
    soundfile.write(tmp_path / "clip.wav", samples, 16_000, subtype="FLOAT")
    OpenAIModel(card(server)).answer([(Turn("user", audio=Waveform(samples, 16_000)),)], GENERATION)
    sent, rate = sound_in(server.bodies[0])
    assert rate == 16_000
    np.testing.assert_allclose(sent / 2**15, samples, atol=1 / 2**15)


def test_the_seed_is_left_out_where_it_is_refused(server: Server) -> None:
    answer_to(server, completion("Fine."), send_seed=False)
    assert "seed" not in server.bodies[0]


@pytest.mark.parametrize(
    "first",
    [error(500, "boom"), error(429, "slow down", retry_after="0"), None, BROKEN_OFF, NO_JSON],
    ids=["500", "429", "hangs up", "breaks off", "no JSON"],
)
def test_a_passing_problem_is_tried_again(server: Server, first: Reply) -> None:
    replies = [first, completion("Fine.")]
    server.reply = lambda _: replies.pop(0)
    [answer] = OpenAIModel(card(server)).answer([said("Hello")], GENERATION)
    assert answer == Answer("Fine.", 5)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(500, "boom"), r"InternalServerError: .*boom \(3 tries\)$"),
        (error(429, "slow down"), "RateLimitError: .*slow down"),
        (NO_JSON, "malformed response: JSONDecodeError: "),
        ((200, {}, b'{"choices": [{"index": 0}]}'), "malformed response: it holds no answer"),
        ((200, {}, b'{"choices": ["no"]}'), "malformed response"),
        ((200, {}, b'{"choices": []}'), "malformed response"),
        ((200, {}, b'{"choices": null}'), "malformed response"),
        ((200, {}, b'{"error": {"message": "no"}}'), "malformed response: it holds .*'no'"),
        ((200, {}, b"[]"), "malformed response"),
        ((200, {}, b"[" * 50_000), "malformed response: RecursionError"),
        ((200, {"content-type": "text/html"}, b"<p>Log in"), "malformed response"),
        ((200, {"content-length": "many"}, b"{}"), "ClientResponseError: .*Content-Length"),
        (BROKEN_OFF, "APIConnectionError: ClientPayloadError: Response payload is not completed"),
        (None, "APIConnectionError: ServerDisconnectedError: "),
    ],
)
def test_a_problem_that_does_not_pass_is_a_failure_in_the_end(
    server: Server, reply: Reply, expected: str
) -> None:
    result = answer_to(server, reply)
    assert isinstance(result, Failure)
    assert re.match(expected, result.error), result.error
    assert not result.blocked
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(400, f"what is {KEY}?"), r"BadRequestError: .*what is \[key\]\?$"),
        ((400, {}, b'{"detail": "no"}'), "BadRequestError: .*'detail': 'no'"),
        ((400, {}, b'[{"error": {"code": 400, "message": "no"}}]'), "BadRequestError: .*'no'"),
        ((413, {}, b"<h1>Too large"), "APIStatusError: .*<h1>Too large"),
        (error(503, "never", x_should_retry="false"), "InternalServerError: .*never$"),
        (completion(""), r"empty answer: no text \(finish_reason stop\)"),
        (completion(None, "length"), r"empty answer: no text \(finish_reason length\)"),
    ],
)
def test_what_another_try_would_not_change_is_a_failure_at_once(
    server: Server, reply: Reply, expected: str
) -> None:
    result = answer_to(server, reply)
    assert isinstance(result, Failure)
    assert re.match(expected, result.error), result.error
    assert not result.blocked
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        completion("Half an ans", "content_filter"),
        completion(None, "SAFETY"),
        (200, {}, b'{"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT"}]}'),
        error(400, "no", code="content_filter"),
        error(400, "no", code="content_policy_violation"),
        (400, {}, b'{"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}'),
        (403, {}, b'{"error": {"metadata": {"reasons": ["x"], "flagged_input": "Hello"}}}'),
    ],
    ids=["finish", "Gemini", "Gemini's endpoint", "Azure", "OpenAI", "inner", "OpenRouter"],
)
def test_what_a_content_filter_withholds_is_blocked_and_not_asked_again(
    server: Server, reply: Reply
) -> None:
    result = answer_to(server, reply)
    assert isinstance(result, Failure)
    assert result.blocked
    assert result.error.startswith("content filter: ")
    assert "Half an ans" not in result.error
    assert len(server.requests) == 1


def test_a_refusal_in_its_own_field_is_an_answer(server: Server) -> None:
    assert answer_to(server, completion(None, refusal="I can't.")) == Answer("I can't.", 5)


def test_retry_after_in_seconds_is_waited_for_by_all(server: Server) -> None:
    replies = [error(429, "slow down", retry_after="0.3"), completion("Fine.")]
    server.reply = lambda _: replies.pop(0)
    results = OpenAIModel(card(server, concurrency=1, max_retries=0)).answer(
        [said("first"), said("second")], GENERATION
    )
    first, second = server.requests
    assert second.arrived_s - first.arrived_s >= 0.3
    assert isinstance(results[0], Failure)
    assert results[1] == Answer("Fine.", 5)


def test_retry_after_as_a_date_is_waited_for(server: Server) -> None:
    when = math.ceil(time.time() + 0.2)
    arrived = []

    def reply(_: dict[str, Any]) -> Reply:
        arrived.append(time.time())
        date = email.utils.formatdate(when, usegmt=True)
        return error(503, "later", retry_after=date) if len(arrived) == 1 else completion("Fine.")

    server.reply = reply
    [answer] = OpenAIModel(card(server)).answer([said("Hello")], GENERATION)
    assert answer == Answer("Fine.", 5)
    assert len(arrived) == 2
    assert arrived[1] >= when


def test_a_wait_that_is_too_long_ends_the_run(server: Server) -> None:
    with pytest.raises(ModelError, match="asks to wait 3600 s, longer than max_wait_s"):
        answer_to(server, error(429, "tomorrow", retry_after="3600"))
    assert len(server.requests) == 1


def test_a_response_that_takes_too_long_is_a_failure(server: Server) -> None:
    answered = threading.Event()

    def wait(_: dict[str, Any]) -> Reply:
        answered.wait(timeout=10)
        return completion("Too late.")

    server.reply = wait
    result = OpenAIModel(card(server, timeout_s=0.5, max_retries=1)).answer(
        [said("Hello")], GENERATION
    )
    answered.set()
    assert result == [Failure("timeout: no answer within 0.5 s (2 tries)")]
    assert len(server.requests) == 2


def test_a_failure_concerns_one_conversation(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corrupt.flac").write_bytes(b"fLaC, or so it says")
    server.reply = lambda request: (
        error(400, "no") if text_of(request) == "bad" else completion("Fine.")
    )
    corrupt = (Turn("user", audio=tmp_path / "corrupt.flac"),)
    missing = (Turn("user", audio=tmp_path / "missing.flac"),)
    results = OpenAIModel(card(server)).answer(
        [said("good"), said("bad"), corrupt, missing, said("good")], GENERATION
    )
    fine = Answer("Fine.", 5)
    assert [result == fine for result in results] == [True, False, False, False, True]
    assert all(isinstance(result, Failure) for result in results[1:4])


def test_of_300_conversations_with_random_faults_none_is_lost_or_counted_twice(
    server: Server,
) -> None:
    released = threading.Event()
    chance = random.Random(5)
    faults: list[Reply] = [
        error(500, "boom"),
        error(429, "slow down", retry_after_ms="2"),
        BROKEN_OFF,
        NO_JSON,
        None,
    ]
    ends = {
        "answered": completion("Fine."),
        "empty": completion(""),
        "blocked": completion(None, "content_filter"),
        "wrong": error(400, "no"),
        "down": error(500, "boom"),
    }
    plan: dict[str, list[Reply]] = {}
    expected: dict[str, str] = {}
    for i in range(300):
        [end] = chance.choices(list(ends), weights=[20, 1, 1, 1, 1])
        before = chance.choices(faults, k=chance.choice([0, 0, 1, 2, 3]))
        plan[str(i)] = [*before, *[ends[end]] * (4 - len(before) if end == "down" else 1)]
        expected[str(i)] = end
    slow = {str(i) for i in chance.sample(range(300), 3)}
    for text in slow:
        plan[text], expected[text] = [completion("Too late."), completion("Fine.")], "answered"
    asked = collections.Counter[str]()
    lock = threading.Lock()

    def reply(request: dict[str, Any]) -> Reply:
        text = text_of(request)
        with lock:
            tries = asked[text]
            asked[text] += 1
        if text in slow and tries == 0:
            released.wait(timeout=30)
        planned = plan[text][tries]
        return completion(f"Fine, {text}.") if planned == ends["answered"] else planned

    server.reply = reply
    model = OpenAIModel(card(server, concurrency=32, max_retries=3, timeout_s=4))
    results = model.answer([said(text) for text in plan], GENERATION)
    released.set()
    starts = {
        "empty": "empty answer",
        "blocked": "content filter",
        "wrong": "BadRequestError",
        "down": "InternalServerError",
    }
    for text, result in zip(plan, results, strict=True):
        if expected[text] == "answered":
            assert result == Answer(f"Fine, {text}.", 5)
        else:
            assert isinstance(result, Failure)
            assert result.error.startswith(starts[expected[text]])
            assert result.blocked == (expected[text] == "blocked")
    assert asked == {text: len(replies) for text, replies in plan.items()}


def test_no_more_requests_are_sent_than_the_cap_allows(server: Server) -> None:
    model = OpenAIModel(card(server, concurrency=16, max_requests=20))
    results = model.answer([said(f"{i}") for i in range(100)], GENERATION)
    assert len(server.requests) == answers_in(results) == 20
    left = (
        "tiny-api: max_requests (20) is reached; "
        "run again to go on, or raise it in the model's card"
    )
    assert [result for result in results if isinstance(result, Failure)] == [Failure(left)] * 80
    with pytest.raises(ModelError, match=re.escape(left)):
        model.answer([said("more")], GENERATION)
    assert len(server.requests) == 20


def test_retries_count_as_requests_and_a_run_without_answers_ends_at_once(server: Server) -> None:
    server.reply = lambda _: error(500, "boom")
    model = OpenAIModel(card(server, concurrency=4, max_requests=7, max_retries=9))
    with pytest.raises(ModelError, match=r"max_requests \(7\) is reached"):
        model.answer([said(f"{i}") for i in range(12)], GENERATION)
    assert len(server.requests) == 7


def test_the_cap_holds_for_several_calls_together(server: Server) -> None:
    model = OpenAIModel(card(server, max_requests=3))
    assert answers_in(model.answer([said("1"), said("2")], GENERATION)) == 2
    assert answers_in(model.answer([said("3"), said("4")], GENERATION)) == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize("concurrency", [1, 16])
def test_no_more_is_spent_than_the_cap_allows(server: Server, concurrency: int) -> None:
    settings = {"max_spend_usd": 52, "usd_per_million_tokens": PRICES}
    model = OpenAIModel(card(server, concurrency=concurrency, **settings))
    results = model.answer([said(f"{i}") for i in range(60)], GENERATION)
    # After nine answers for 45 USD one more may cost 7; after ten, none.
    assert len(server.requests) == answers_in(results) == 10
    assert isinstance(results[-1], Failure)
    assert results[-1].error.startswith(
        "tiny-api: max_spend_usd (52) does not allow another request: 10 cost up to 50.0000 USD, "
        "and the next one may cost 7.0000; run again to go on"
    )


@pytest.mark.parametrize("reply", [BROKEN_OFF, None], ids=["breaks off", "hangs up"])
def test_what_may_have_been_made_but_did_not_arrive_is_spent(server: Server, reply: Reply) -> None:
    settings = {"max_spend_usd": 20, "usd_per_million_tokens": PRICES, "max_retries": 9}
    with pytest.raises(ModelError, match="2 cost up to 14"):
        answer_to(server, reply, **settings)
    assert len(server.requests) == 2


def test_what_was_never_sent_costs_nothing(server: Server) -> None:
    settings = {"max_spend_usd": 7, "usd_per_million_tokens": PRICES, "concurrency": 1}
    model = OpenAIModel(card(server, **settings))
    server.shutdown()  # while it is served, a closed socket still takes connections
    server.server_close()
    results = model.answer([said("Hello"), said("Anyone?")], GENERATION)
    for result in results:
        assert isinstance(result, Failure)
        assert re.match(r"APIConnectionError: ClientConnector.*\(3 tries\)$", result.error)


def test_what_the_api_turns_away_costs_nothing(server: Server) -> None:
    replies = [*[error(500, "boom")] * 5, completion("Fine.")]
    server.reply = lambda _: replies.pop(0)
    settings = {"max_spend_usd": 7, "usd_per_million_tokens": PRICES, "max_retries": 9}
    results = OpenAIModel(card(server, **settings)).answer([said("Hello")], GENERATION)
    assert results == [Answer("Fine.", 5)]


def test_a_refused_key_ends_the_run_and_is_not_shown(server: Server) -> None:
    with pytest.raises(ModelError) as refused:
        answer_to(server, error(401, f"Incorrect API key provided: {KEY[:8]}****{KEY[-4:]}"))
    assert str(refused.value) == "tiny-api: the API refuses the key in $TEST_KEY"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(400, "API key not valid", code="API_KEY_INVALID"), r"refuses the key in \$TEST_KEY"),
        (error(404, "no model tiny"), "no model tiny; check the source in its card and the addres"),
        (error(429, "You exceeded your quota", code="insufficient_quota"), "quota; pay for more"),
    ],
)
def test_what_no_request_would_get_past_ends_the_run(
    server: Server, reply: Reply, expected: str
) -> None:
    with pytest.raises(ModelError, match=f"^tiny-api: .*{expected}"):
        answer_to(server, reply)
    assert len(server.requests) == 1


def test_answers_that_came_before_the_end_of_a_run_are_returned(server: Server) -> None:
    replies = [completion("Fine."), error(401, "revoked")]
    server.reply = lambda _: replies.pop(0)
    model = OpenAIModel(card(server, concurrency=1))
    results = model.answer([said(f"{i}") for i in range(4)], GENERATION)
    refused = Failure("tiny-api: the API refuses the key in $TEST_KEY")
    assert results == [Answer("Fine.", 5), refused, refused, refused]
    with pytest.raises(ModelError, match="refuses the key"):
        model.answer([said("more")], GENERATION)
    assert len(server.requests) == 2


def test_the_key_is_in_no_file_log_or_message(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    log = logging.FileHandler(tmp_path / "log.txt")
    root = logging.getLogger()
    level = root.level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    replies = [
        error(500, f"boom {KEY}"),
        error(400, f"what is {KEY}"),
        (400, {}, f"[{KEY}]".encode()),
        (200, {}, f'{{"choices": "{KEY}"}}'.encode()),
        (200, {}, f'{{"error": "Bearer {KEY}"}}'.encode()),
        (200, {}, f"{KEY}".encode()),
        None,
    ]
    try:
        model = OpenAIModel(card(server))
        results = [answer_to(server, reply, max_retries=0) for reply in replies]
        with pytest.raises(ModelError) as unknown:
            answer_to(server, error(404, f"{KEY} may not use it"))
    finally:
        root.setLevel(level)
        root.removeHandler(log)
        log.close()
    shown = (
        f"{model!r} {model.card!r} {model.revision} {results} {unknown.value} {capfd.readouterr()}"
    )
    assert all(isinstance(result, Failure) for result in results)
    assert "[key]" in shown
    assert KEY not in shown
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "Sending HTTP Request" in (tmp_path / "log.txt").read_text()
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_what_it_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    monkeypatch.delenv("TEST_URL", raising=False)
    with pytest.raises(ModelError) as missing:
        OpenAIModel(card())
    assert str(missing.value) == "tiny-api needs the API key in $TEST_KEY; it is not set"
    with pytest.raises(ModelError) as missing:
        OpenAIModel(card(base_url_variable="TEST_URL"))
    assert str(missing.value) == "tiny-api needs the address of its API in $TEST_URL; it is not set"
    monkeypatch.setenv("TEST_KEY", "two\nlines")
    with pytest.raises(ModelError, match="characters that no key has") as odd:
        OpenAIModel(card())
    assert "lines" not in str(odd.value)
    with pytest.raises(ParamsError, match=r"model tiny-api: settings: concurency: "):
        OpenAIModel(card(concurency=2))
    monkeypatch.setenv("TEST_KEY", KEY)
    with pytest.raises(ModelError, match=r"must begin with http\(s\)://"):
        OpenAIModel(card(base_url="127.0.0.1:8000/v1"))
    with pytest.raises(ParamsError, match=r"settings: max_spend_usd needs usd_per_million_tokens"):
        OpenAIModel(card(max_spend_usd=2))


def test_the_address_can_come_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_URL", server.url)
    model = OpenAIModel(card(base_url_variable="TEST_URL"))
    assert model.answer([said("Hello")], GENERATION) == [Answer("Fine.", 5)]


def test_a_card_says_whether_text_alone_can_be_asked(server: Server) -> None:
    assert OpenAIModel(card(server)).capabilities.text_only
    assert not OpenAIModel(card(server, text_only=False)).capabilities.text_only


def test_the_studys_cards_have_caps_and_settings_that_fit_and_name_no_host() -> None:
    cards = [card for card in load_model_cards().values() if card.kind == "openai_api"]
    assert len(cards) >= 3
    for shipped in cards:
        settings = card_settings(shipped, Settings)
        assert settings.base_url is None
        assert settings.max_spend_usd
        assert settings.text_only == (shipped.family != "OpenAI")


def test_it_answers_where_an_event_loop_runs_as_in_a_notebook(server: Server) -> None:
    model = OpenAIModel(card(server))

    async def cell() -> list[Answer | Failure]:
        return model.answer([said("Hello?")], GENERATION)

    # In a thread of its own, whatever loop other tests have left running in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, cell()).result() == [Answer("Fine.", 5)]
