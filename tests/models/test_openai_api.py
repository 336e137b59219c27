"""The API adapter, through the real SDK, against a server on this machine."""

import asyncio
import base64
import io
import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import soundfile

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Failure, ModelError, Turn
from aor_lib.models.openai_api import OpenAIModel
from tests.models.loopback import KEY, completion, error

GENERATION = Generation(max_new_tokens=7, temperature=0.5, seed=11)
PRICES = {"text_input": 0, "audio_input": 0, "output": 1e6, "audio_tokens_per_s": 10}
"""A request may cost 7 USD; an answer of five tokens costs 5."""
FINE = Answer("Fine.", 5, finish_reason="stop")
BROKEN_OFF = (200, {"content-length": "999"}, b'{"choices": [{"index"')


def card(server=None, **settings):
    """A card whose settings stand where they belong; those that nobody knows are settings."""
    if server is not None:
        settings["base_url"] = server.url
    settings = {"api_key_variable": "TEST_KEY", "max_retries": 2, **settings}
    reach = {name: settings.pop(name) for name in ApiSettings.REACH & settings.keys()}
    about = {"id": "tiny-api", "title": "Tiny", "family": "Test", "kind": "openai_api"}
    return ModelCard(**about, licence="none", source="tiny", settings=settings, reach=reach)


def ask(text):
    return (Turn("user", text=text),)


def answer_to(server, reply, **settings):
    """The result of one question to a server that always replies the same."""
    server.reply = lambda _: reply
    [result] = OpenAIModel(card(server, **settings)).answer([ask("Hello")], GENERATION)
    return result


def answers_in(results):
    return sum(isinstance(result, Answer) for result in results)


def test_answers_keep_their_order_and_no_more_than_asked_are_under_way(server):
    together = threading.Barrier(3)

    def reply(request):
        # Passed only if three requests are here at once, each on a connection of its own.
        together.wait(timeout=10)
        return completion(request["messages"][0]["content"][0]["text"].upper())

    server.reply = reply
    questions = [ask(f"number {i}") for i in range(12)]
    answers = OpenAIModel(card(server, concurrency=3)).answer(questions, GENERATION)
    assert [answer.text for answer in answers] == [f"NUMBER {i}" for i in range(12)]
    assert len(server.connections) == 3


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"extra": {"reasoning_effort": "none"}}, {"seed": 11, "reasoning_effort": "none"}),
        ({"send_seed": False}, {}),
    ],
)
def test_a_request_holds_the_sound_and_the_settings(server, tmp_path, settings, fields):
    samples = np.random.default_rng(0).integers(-9000, 9000, 2400).astype(np.int16)
    soundfile.write(tmp_path / "clip.flac", samples, 24_000)
    asked = (Turn("system", text="Think first."), Turn("user", audio=tmp_path / "clip.flac"))
    assert OpenAIModel(card(server, **settings)).answer([asked], GENERATION) == [FINE]
    [request] = server.requests
    system, spoken = request.body.pop("messages")
    assert request.body == {
        "model": "tiny",
        "max_completion_tokens": 7,
        "temperature": 0.5,
        **fields,
    }
    [part] = spoken["content"]
    wav = io.BytesIO(base64.b64decode(part["input_audio"]["data"]))
    sent, rate = soundfile.read(wav, dtype="int16")
    assert rate == 24_000
    np.testing.assert_array_equal(sent, samples)
    assert system == {"role": "system", "content": [{"type": "text", "text": "Think first."}]}
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"


PASSING, BLOCKED, LASTING = {}, {"blocked": True}, {"lasting": True}
"""Failures that are worth another try, that are not, and that are worth one."""


@pytest.mark.parametrize(
    ("reply", "tries", "kind", "expected"),
    [
        (error(500, "boom"), 3, PASSING, "InternalServerError: .*boom"),
        (error(429, "slow down", retry_after_ms="1"), 3, PASSING, "RateLimitError: .*slow down"),
        (completion("Half an ans", "abort"), 1, PASSING, "the server broke the answer off .*abort"),
        (BROKEN_OFF, 3, PASSING, "APIConnectionError: .*Not enough data"),
        (None, 3, PASSING, "APIConnectionError: ServerDisconnectedError: "),
        ((200, {}, b'{"choices": [{"index"'), 1, PASSING, "malformed response: JSONDecodeError: "),
        ((200, {}, b"[" * 50_000), 1, PASSING, "malformed response: RecursionError"),
        ((400, {}, b'[{"error": {"code": 400, "message": "no"}}]'), 1, PASSING, ".*'no'"),
        ((413, {}, b"<h1>Too large"), 1, PASSING, "APIStatusError: .*<h1>Too large"),
        (completion(" ", "length"), 1, LASTING, "empty answer: .*length"),
        (completion(None), 1, LASTING, "empty answer: "),
        ((200, {}, b'{"choices": []}'), 1, LASTING, "malformed response: it holds no answer"),
        ((200, {}, b'{"error": {"message": "no"}}'), 1, LASTING, "malformed response: .*'no'"),
        (completion("Half an ans", "content_filter"), 1, BLOCKED, "content filter: "),
        (completion(None, "SAFETY"), 1, BLOCKED, "content filter: "),
        *(
            ((200, {}, body), 1, BLOCKED, "content filter: ")
            for body in (
                b'{"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT"}]}',
                b'{"choices": [{"finish_reason": "stop", "native_finish_reason": "BLOCKLIST"}]}',
                b'{"choices": [{"extra_content": {"google": {"finishReason": "RECITATION"}}}]}',
                b'{"choices": [], "promptFeedback": {"blockReason": "OTHER"}}',
            )
        ),
        (error(400, "no", code="content_filter"), 1, BLOCKED, "content filter: "),
        ((403, {}, b'{"error": {"metadata": {"flagged_input": "Hello"}}}'), 1, BLOCKED, "content"),
    ],
)
def test_what_is_no_answer_is_a_failure_and_says_whether_to_ask_again(
    server, reply, tries, kind, expected
):
    result = answer_to(server, reply)
    assert result == Failure(result.error, **kind)
    assert re.match(expected, result.error), result.error
    assert "Half an ans" not in result.error
    assert len(server.requests) == tries


@pytest.mark.parametrize("served", ["tiny-lite", "tiny-3.5", "small-2025-08-28"])
def test_an_answer_of_another_model_than_the_cards_ends_the_run(server, served):
    reply = completion("Fine.", model=served)
    with pytest.raises(ModelError, match=f"^tiny-api: the API says that '{served}' answers"):
        answer_to(server, reply)
    assert len(server.requests) == 1
    assert answer_to(server, reply, served_as=served).served_by == served


def test_an_answer_that_was_cut_off_and_a_refusal_in_its_own_field_are_answers(server):
    cut_off = answer_to(server, completion("Well, it", "length"))
    assert cut_off == Answer("Well, it", 5, finish_reason="length")
    refusal = answer_to(server, completion(None, refusal="I can't."))
    assert refusal == Answer("I can't.", 5, finish_reason="stop")


def test_a_server_that_stays_silent_is_a_failure(server):
    answered = threading.Event()

    def wait(_):
        answered.wait(timeout=10)
        return completion("Too late.")

    server.reply = wait
    model = OpenAIModel(card(server, timeout_s=0.2, max_retries=1))
    [result] = model.answer([ask("Hello")], GENERATION)
    answered.set()
    assert result.error.startswith("APIConnectionError: SocketTimeoutError: ")
    assert len(server.requests) == 2


def test_a_file_that_cannot_be_read_fails_alone(server, tmp_path):
    (tmp_path / "corrupt.flac").write_bytes(b"fLaC, or so it says")
    broken = [(Turn("user", audio=tmp_path / f"{name}.flac"),) for name in ("corrupt", "missing")]
    first, *failures, last = OpenAIModel(card(server)).answer(
        [ask("good"), *broken, ask("good")], GENERATION
    )
    assert first == last == FINE
    assert all(isinstance(failure, Failure) for failure in failures)


def test_no_more_requests_are_sent_than_the_cap_allows_in_all_calls(server):
    replies = [error(500, "boom")] * 5
    server.reply = lambda _: replies.pop() if replies else completion("Fine.")
    model = OpenAIModel(card(server, concurrency=4, max_requests=20, max_retries=9))
    assert answers_in(model.answer([ask("1"), ask("2")], GENERATION)) == 2
    results = model.answer([ask(f"{i}") for i in range(100)], GENERATION)
    assert answers_in(results) == 20 - 5 - 2, "retries count as requests"
    with pytest.raises(ModelError, match=r"^tiny-api: max_requests \(20\) is reached"):
        model.answer([ask("more")], GENERATION)
    assert len(server.requests) == 20


@pytest.mark.parametrize("reply", [BROKEN_OFF, None], ids=["breaks off", "hangs up"])
def test_what_may_have_been_made_but_did_not_arrive_is_spent(server, reply):
    settings = {"max_spend_usd": 20, "usd_per_million_tokens": PRICES, "max_retries": 9}
    with pytest.raises(ModelError, match="2 cost up to 14"):
        answer_to(server, reply, **settings)
    assert len(server.requests) == 2


def test_what_was_never_sent_or_is_turned_away_costs_nothing(server):
    settings = {"max_spend_usd": 7, "usd_per_million_tokens": PRICES}
    replies = [*[error(500, "boom")] * 5, completion("Fine.")]
    server.reply = lambda _: replies.pop(0)
    model = OpenAIModel(card(server, max_retries=9, **settings))
    assert model.answer([ask("Hello")], GENERATION) == [FINE]
    model = OpenAIModel(card(server, **settings))
    server.shutdown()  # while it is served, a closed socket still takes connections
    server.server_close()
    for result in model.answer([ask("Hello"), ask("Anyone?")], GENERATION):
        assert result.error.startswith("APIConnectionError: ")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(401, f"Incorrect API key: {KEY[:8]}****"), r"refuses the key in \$TEST_KEY"),
        (error(400, "API key not valid", code="API_KEY_INVALID"), r"refuses the key in \$TEST_KEY"),
        (error(404, "no model tiny"), "no model tiny; check the source in its card and the addres"),
        (error(402, "used up"), "pay for more"),
        (error(429, "tomorrow", retry_after="3600"), "asks to wait 3600 s"),
    ],
)
def test_what_no_request_would_get_past_ends_the_run(server, reply, expected):
    with pytest.raises(ModelError, match=f"^tiny-api: .*{expected}") as ended:
        answer_to(server, reply)
    assert KEY[:8] not in str(ended.value)
    assert len(server.requests) == 1


def test_the_key_is_in_no_log_or_message(server, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    replies = [
        error(500, f"boom {KEY}"),
        error(400, f"what is {KEY}"),
        (200, {}, f'{{"choices": "{KEY}"}}'.encode()),
        (200, {}, f"{KEY}".encode()),
        None,
    ]
    results = [answer_to(server, reply, max_retries=0) for reply in replies]
    with pytest.raises(ModelError) as unknown:
        answer_to(server, error(404, f"{KEY} may not use it"))
    model = OpenAIModel(card(server))
    shown = f"{model!r} {model.card!r} {results} {unknown.value} {caplog.text} {capfd.readouterr()}"
    assert all(isinstance(result, Failure) for result in results)
    assert "[key]" in shown
    assert "Sending HTTP Request" in shown
    assert KEY not in shown


@pytest.mark.parametrize(
    ("key", "settings", "kind", "message"),
    [
        ("", {}, ModelError, r"tiny-api needs the API key in \$TEST_KEY; it is not set"),
        ("k", {"base_url_variable": "NO_URL"}, ModelError, r"address of its API in \$NO_URL"),
        ("two\nlines", {}, ModelError, "characters that no key has$"),
        ("k", {"concurency": 2}, ParamsError, "model tiny-api: settings: concurency: "),
        ("k", {"base_url": "127.0.0.1:80/v1"}, ModelError, r"must begin with http\(s\)://"),
        ("k", {"max_spend_usd": 2}, ParamsError, "max_spend_usd needs usd_per_million_tokens"),
    ],
)
def test_what_it_needs_is_said(monkeypatch, key, settings, kind, message):
    monkeypatch.setenv("TEST_KEY", key)
    with pytest.raises(kind, match=message):
        OpenAIModel(card(**settings))


def test_a_loop_may_run_as_in_a_notebook(server):
    async def cell():
        return OpenAIModel(card(server)).answer([ask("Hello?")], GENERATION)

    # In a thread of its own, whatever loop other tests have left running in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, cell()).result() == [FINE]
