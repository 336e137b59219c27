"""The API adapter, through the real SDK, against a server on this machine."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from aor_lib.models.base import Answer, Conversation, Failure, ModelError, Turn
from aor_lib.models.openai_api import OpenAIModel, Settings
from aor_lib.params import ModelCard, load_model_cards
from aor_lib.records import Generation
from aor_lib.typed_yaml import ParamsError

KEY = "sk-not-a-real-key-0123456789"
GENERATION = Generation(max_new_tokens=7, temperature=0.5, seed=11)
Reply = tuple[int, dict[str, str], bytes] | None
"""Status, headers and body; None hangs up."""


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


def error(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    body = {"error": {"message": message, "type": "x", "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps(body).encode()


class Server(ThreadingHTTPServer):
    """Answers each request with what ``reply`` makes of its body; keeps the bodies."""

    daemon_threads = True
    reply: Callable[[dict[str, Any]], Reply]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.authorizations: set[str | None] = set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that give up are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(request)
        self.server.authorizations.add(self.headers["authorization"])
        reply = self.server.reply(request)
        if reply is None:
            self.close_connection = True
            return
        status, headers, body = reply
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep the tests' output clean."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("TEST_KEY", KEY)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def card(server: Server | None = None, **settings: Any) -> ModelCard:
    if server is not None:
        settings["base_url"] = f"http://127.0.0.1:{server.server_port}/v1"
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


def answer_to(server: Server, reply: Reply, **settings: Any) -> Answer | Failure:
    """What becomes of one question to a server that always replies the same."""
    server.reply = lambda _: reply
    [result] = OpenAIModel(card(server, **settings)).answer([said("Hello")], GENERATION)
    return result


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


def test_a_request_holds_the_sound_and_the_settings(server: Server, tmp_path: Path) -> None:
    samples = np.random.default_rng(0).integers(-9000, 9000, 2400).astype(np.int16)
    soundfile.write(tmp_path / "clip.flac", samples, 24_000)
    server.reply = lambda _: completion("Fine.")
    model = OpenAIModel(card(server, extra={"reasoning_effort": "none"}))
    conversation = (
        Turn("system", text="Think first."),
        Turn("user", audio=tmp_path / "clip.flac"),
    )
    assert model.answer([conversation], GENERATION) == [Answer("Fine.", 5)]
    [request] = server.requests
    system, user = request.pop("messages")
    assert request == {
        "model": "tiny",
        "max_completion_tokens": 7,
        "temperature": 0.5,
        "seed": 11,
        "reasoning_effort": "none",
    }
    assert system == {"role": "system", "content": [{"type": "text", "text": "Think first."}]}
    [part] = user["content"]
    assert part["type"] == "input_audio"
    assert part["input_audio"]["format"] == "wav"
    wav = io.BytesIO(base64.b64decode(part["input_audio"]["data"]))
    sent, rate = soundfile.read(wav, dtype="int16")
    assert rate == 24_000
    np.testing.assert_array_equal(sent, samples)
    assert server.authorizations == {f"Bearer {KEY}"}


def test_the_seed_is_left_out_where_it_is_refused(server: Server) -> None:
    answer_to(server, completion("Fine."), send_seed=False)
    assert "seed" not in server.requests[0]


@pytest.mark.parametrize(
    "first",
    [
        error(500, "boom", retry_after_ms="1"),
        error(429, "slow down", retry_after="0"),
        None,
    ],
    ids=["500", "429", "hangs up"],
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
        (error(500, "boom", retry_after_ms="1"), "InternalServerError: .*boom"),
        (error(429, "slow down", retry_after_ms="1"), "RateLimitError: .*slow down"),
        (error(400, f"what is {KEY}?"), r"BadRequestError: .*what is \[key\]\?"),
        (error(400, "no", code="content_filter"), "content filter: "),
        (completion("Half an ans", "content_filter"), "content filter: the provider withheld"),
        (completion(""), r"empty answer: no text \(finish_reason stop\)"),
        (completion(None, "length"), r"empty answer: no text \(finish_reason length\)"),
        ((200, {}, b'{"choices": [{"index"'), r"\w+Error: "),
        ((200, {}, b'{"choices": [{"index": 0}]}'), "malformed response"),
        ((200, {}, b'{"choices": ["no"]}'), "malformed response"),
        ((200, {}, b'{"choices": []}'), "malformed response"),
        ((200, {}, b'{"choices": null}'), "malformed response"),
        ((200, {}, b"[]"), "malformed response"),
        ((200, {"content-type": "text/html"}, b"<p>Log in"), "malformed response"),
        (None, "APIConnectionError: "),
    ],
)
def test_what_is_no_answer_is_a_failure(server: Server, reply: Reply, expected: str) -> None:
    retried = reply is not None and reply[0] >= 429
    result = answer_to(server, reply, max_retries=2 if retried else 0)
    assert isinstance(result, Failure)
    assert re.match(expected, result.error), result.error
    assert KEY not in result.error
    assert len(server.requests) == (3 if retried else 1)


def test_a_server_that_is_too_slow_is_a_failure(server: Server) -> None:
    answered = threading.Event()

    def wait(_: dict[str, Any]) -> Reply:
        answered.wait(timeout=10)
        return completion("Too late.")

    server.reply = wait
    model = OpenAIModel(card(server, timeout_s=0.05, max_retries=0))
    result = model.answer([said("Hello")], GENERATION)
    answered.set()
    assert result == [Failure("APITimeoutError: Request timed out.")]


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


def test_a_refusal_in_its_own_field_is_an_answer(server: Server) -> None:
    assert answer_to(server, completion(None, refusal="I can't.")) == Answer("I can't.", 5)


def test_a_refused_key_ends_the_run_and_is_not_shown(server: Server) -> None:
    with pytest.raises(ModelError) as refused:
        answer_to(server, error(401, f"Incorrect API key provided: {KEY[:8]}****{KEY[-4:]}"))
    assert str(refused.value) == "tiny-api: the API refuses the key in $TEST_KEY"
    assert len(server.requests) == 1


def test_a_model_does_not_show_its_key(server: Server) -> None:
    model = OpenAIModel(card(server))
    assert KEY not in f"{model!r} {model.card!r} {model.revision}"


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


def test_the_address_can_come_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_URL", f"http://127.0.0.1:{server.server_port}/v1")
    server.reply = lambda _: completion("Fine.")
    model = OpenAIModel(card(base_url_variable="TEST_URL"))
    assert model.answer([said("Hello")], GENERATION) == [Answer("Fine.", 5)]


def test_the_studys_cards_have_settings_that_fit_and_name_no_host() -> None:
    cards = [card for card in load_model_cards().values() if card.kind == "openai_api"]
    assert len(cards) >= 3
    for shipped in cards:
        assert Settings.model_validate(shipped.settings).base_url is None


def test_it_answers_where_an_event_loop_runs_as_in_a_notebook(server: Server) -> None:
    server.reply = lambda _: completion("Fine.")
    model = OpenAIModel(card(server))

    async def cell() -> list[Answer | Failure]:
        return model.answer([said("Hello?")], GENERATION)

    # In a thread of its own, whatever loop other tests have left running in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, cell()).result() == [Answer("Fine.", 5)]
