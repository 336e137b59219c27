"""The API adapter, through the real SDK, against a server on this machine."""

import asyncio
import base64
import collections
import io
import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import soundfile

from aor_lib.config.params import ModelCard, card_settings, load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Failure, ModelError, Turn, Waveform
from aor_lib.models.openai_api import OpenAIModel
from tests.models.loopback import KEY, completion, error

GENERATION = Generation(max_new_tokens=7, temperature=0.5, seed=11)
PRICES = {"text_input": 0, "audio_input": 0, "output": 1e6, "audio_tokens_per_s": 10}
"""A request may cost 7 USD; an answer of five tokens costs 5."""
FINE = Answer("Fine.", 5, finish_reason="stop")
BROKEN_OFF = (200, {"content-length": "999"}, b'{"choices": [{"index"')


def googles(fields):
    """A response whose choice has fields of Google's own."""
    body = f'{{"choices": [{{"finish_reason": "stop", "extra_content": {{"google": {fields}}}}}]}}'
    return 200, {}, body.encode()


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


def text_of(request):
    return str(request["messages"][-1]["content"][0]["text"])


def sound_in(request):
    [part] = request["messages"][-1]["content"]
    wav = io.BytesIO(base64.b64decode(part["input_audio"]["data"]))
    samples, rate = soundfile.read(wav, dtype="int16")
    return samples, rate


def answer_to(server, reply, **settings):
    """The result of one question to a server that always replies the same."""
    server.reply = lambda _: reply
    [result] = OpenAIModel(card(server, **settings)).answer([ask("Hello")], GENERATION)
    return result


def answers_in(results):
    return sum(isinstance(result, Answer) for result in results)


def test_answers_keep_their_order_and_no_more_than_asked_are_under_way(server):
    together = threading.Barrier(3)
    lock = threading.Lock()
    under_way, most = 0, 0

    def reply(request):
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
        [ask(f"number {i}") for i in range(12)], GENERATION
    )
    assert answers == [Answer(f"You said number {i}", 5, finish_reason="stop") for i in range(12)]
    assert most == 3
    assert len(server.connections) == 3


def test_a_request_holds_the_sound_and_the_settings(server, tmp_path):
    samples = np.random.default_rng(0).integers(-9000, 9000, 2400).astype(np.int16)
    soundfile.write(tmp_path / "clip.flac", samples, 24_000)
    model = OpenAIModel(card(server, extra={"reasoning_effort": "none"}))
    conversation = (
        Turn("system", text="Think first."),
        Turn("user", audio=tmp_path / "clip.flac"),
    )
    assert model.answer([conversation], GENERATION) == [FINE]
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


def test_sound_in_memory_is_sent_as_that_of_a_file_and_a_seed_only_where_it_is_taken(server):
    samples = (np.arange(-2000, 2000) / 2048).astype(np.float32)
    model = OpenAIModel(card(server, send_seed=False))
    model.answer([(Turn("user", audio=Waveform(samples, 16_000)),)], GENERATION)
    [asked] = server.bodies
    sent, rate = sound_in(asked)
    assert rate == 16_000
    np.testing.assert_allclose(sent / 2**15, samples, atol=1 / 2**15)
    assert "seed" not in asked


@pytest.mark.parametrize(
    ("reply", "tries", "expected"),
    [
        (error(500, "boom"), 3, "InternalServerError: .*boom"),
        (BROKEN_OFF, 3, "APIConnectionError: .*Not enough data"),
        (None, 3, "APIConnectionError: ServerDisconnectedError: "),
        ((200, {}, b'{"choices": [{"index"'), 1, "malformed response: JSONDecodeError: "),
        ((200, {}, b'{"error": {"message": "no"}}'), 1, "malformed response: it holds .*'no'"),
        ((200, {"content-type": "text/html"}, b"<p>Log in"), 1, "malformed response"),
        ((200, {}, b"[" * 50_000), 1, "malformed response: RecursionError"),
        ((200, {"content-length": "many"}, b"{}"), 1, "ClientResponseError: .*Content-Length"),
        (error(400, f"what is {KEY}?"), 1, r"BadRequestError: .*what is \[key\]\?"),
        ((400, {}, b'[{"error": {"code": 400, "message": "no"}}]'), 1, "BadRequestError: .*'no'"),
        ((413, {}, b"<h1>Too large"), 1, "APIStatusError: .*<h1>Too large"),
    ],
)
def test_a_problem_that_does_not_pass_is_a_failure(server, reply, tries, expected):
    result = answer_to(server, reply)
    assert isinstance(result, Failure)
    assert re.match(expected, result.error), result.error
    assert not result.blocked
    assert len(server.requests) == tries


@pytest.mark.parametrize(
    "reply",
    [
        completion("Half an ans", "content_filter"),
        *[completion(None, reason) for reason in ("SAFETY", "OTHER", "LANGUAGE", "IMAGE_SAFETY")],
        (200, {}, b'{"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT"}]}'),
        (200, {}, b'{"choices": [{"finish_reason": "stop", "native_finish_reason": "BLOCKLIST"}]}'),
        googles('{"finishReason": "RECITATION"}'),
        (200, {}, b'{"choices": [], "promptFeedback": {"blockReason": "OTHER"}}'),
        (200, {}, b'{"prompt_feedback": {"block_reason": "SAFETY"}}'),
        (200, {}, b'{"extra_content": {"google": {"promptFeedback": {"blockReason": "A"}}}}'),
        error(400, "no", code="content_filter"),
        error(400, "no", code="content_policy_violation"),
        (400, {}, b'{"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}'),
        (403, {}, b'{"error": {"metadata": {"reasons": ["x"], "flagged_input": "Hello"}}}'),
    ],
)
def test_what_a_provider_withholds_is_blocked_and_not_asked_again(server, reply):
    result = answer_to(server, reply)
    assert isinstance(result, Failure)
    assert result.blocked
    assert result.error.startswith("content filter: ")
    assert "Half an ans" not in result.error
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [completion(None), completion(" "), completion(None, "length"), (200, {}, b'{"choices": []}')],
)
def test_where_a_model_says_nothing_it_is_asked_once_and_may_say_nothing_again(server, reply):
    result = answer_to(server, reply)
    assert result == Failure(result.error, lasting=True)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("served", "settings"),
    [
        ("tiny-2025-08-28", {}),
        ("models/tiny", {}),
        ("tiny-preview-05-20", {}),
        ("small", {"served_as": "small"}),
    ],
)
def test_the_name_of_what_answered_is_kept(server, served, settings):
    answer = answer_to(server, completion("Fine.", model=served), **settings)
    assert answer == Answer("Fine.", 5, finish_reason="stop", served_by=served)


@pytest.mark.parametrize("served", ["tiny-lite", "tiny-3.5", "small-2025-08-28"])
def test_an_answer_of_another_model_than_the_cards_ends_the_run(server, served):
    with pytest.raises(ModelError, match=f"^tiny-api: the API says that '{served}' answers"):
        answer_to(server, completion("Fine.", model=served))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (completion("Well, it", "length"), Answer("Well, it", 5, finish_reason="length")),
        (completion(None, refusal="I can't."), Answer("I can't.", 5, finish_reason="stop")),
    ],
)
def test_an_answer_that_was_cut_off_and_a_refusal_in_its_own_field_are_answers(
    server, reply, answer
):
    assert answer_to(server, reply) == answer


def test_a_server_that_stays_silent_is_a_failure(server):
    answered = threading.Event()

    def wait(_):
        answered.wait(timeout=10)
        return completion("Too late.")

    server.reply = wait
    model = OpenAIModel(card(server, timeout_s=0.2, max_retries=1))
    [result] = model.answer([ask("Hello")], GENERATION)
    answered.set()
    assert isinstance(result, Failure)
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


def test_passing_problems_are_tried_again_and_every_conversation_is_answered_once(server):
    slow_down = error(429, "slow down", retry_after_ms="1")
    problems = [error(500, "boom"), slow_down, BROKEN_OFF, None]
    asked = collections.Counter()

    def reply(request):
        text = text_of(request)
        asked[text] += 1
        return problems[int(text) % 4] if asked[text] == 1 else completion(f"Fine, {text}.")

    server.reply = reply
    model = OpenAIModel(card(server, concurrency=16))
    results = model.answer([ask(f"{i}") for i in range(40)], GENERATION)
    assert results == [Answer(f"Fine, {i}.", 5, finish_reason="stop") for i in range(40)]
    assert set(asked.values()) == {2}


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


def test_no_more_is_spent_than_the_cap_allows(server):
    settings = {"max_spend_usd": 52, "usd_per_million_tokens": PRICES}
    model = OpenAIModel(card(server, concurrency=16, **settings))
    results = model.answer([ask(f"{i}") for i in range(60)], GENERATION)
    # After nine answers for 45 USD one more may cost 7; after ten, none.
    assert len(server.requests) == answers_in(results) == 10
    assert isinstance(results[-1], Failure)
    assert "max_spend_usd (52) does not allow another request" in results[-1].error


@pytest.mark.parametrize("reply", [BROKEN_OFF, None], ids=["breaks off", "hangs up"])
def test_what_may_have_been_made_but_did_not_arrive_is_spent(server, reply):
    settings = {"max_spend_usd": 20, "usd_per_million_tokens": PRICES, "max_retries": 9}
    with pytest.raises(ModelError, match="2 cost up to 14"):
        answer_to(server, reply, **settings)
    assert len(server.requests) == 2


def test_what_was_never_sent_or_is_turned_away_costs_nothing(server):
    settings = {"max_spend_usd": 7, "usd_per_million_tokens": PRICES, "concurrency": 1}
    replies = [*[error(500, "boom")] * 5, completion("Fine.")]
    server.reply = lambda _: replies.pop(0)
    model = OpenAIModel(card(server, max_retries=9, **settings))
    assert model.answer([ask("Hello")], GENERATION) == [FINE]
    model = OpenAIModel(card(server, **settings))
    server.shutdown()  # while it is served, a closed socket still takes connections
    server.server_close()
    for result in model.answer([ask("Hello"), ask("Anyone?")], GENERATION):
        assert isinstance(result, Failure)
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


def test_answers_that_came_before_the_end_of_a_run_are_returned(server):
    replies = [completion("Fine."), error(401, "revoked")]
    server.reply = lambda _: replies.pop(0)
    model = OpenAIModel(card(server, concurrency=1))
    results = model.answer([ask(f"{i}") for i in range(4)], GENERATION)
    refused = Failure("tiny-api: the API refuses the key in $TEST_KEY")
    assert results == [FINE, refused, refused, refused]
    with pytest.raises(ModelError, match="refuses the key"):
        model.answer([ask("more")], GENERATION)
    assert len(server.requests) == 2


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


def test_the_address_can_come_from_the_environment_and_a_loop_may_run_as_in_a_notebook(
    server, monkeypatch
):
    monkeypatch.setenv("TEST_URL", server.url)
    model = OpenAIModel(card(base_url_variable="TEST_URL", text_only=False))
    assert not model.capabilities.text_only

    async def cell():
        return model.answer([ask("Hello?")], GENERATION)

    # In a thread of its own, whatever loop other tests have left running in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, cell()).result() == [FINE]


def test_the_studys_cards_have_caps_and_settings_that_fit_and_name_no_host():
    cards = [card for card in load_model_cards().values() if card.kind == "openai_api"]
    assert len(cards) >= 3
    for shipped in cards:
        settings = card_settings(shipped, ApiSettings)
        assert settings.base_url is None
        assert settings.max_spend_usd
        assert settings.text_only == (shipped.family != "OpenAI")
