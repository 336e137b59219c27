"""Throughput of the API adapter with 64 concurrent requests of 200 ms each, relative to the ideal.

A separate server process answers every request 200 ms after its last byte arrives; the ideal for 64
concurrent requests is thus 320 a second. As server and client share the machine's cores, no client
reaches the ideal; a bare client, which only sends the same text, shows what is attainable.
The workloads are text in one call; text in batches, as in a run of the study; batches in which
every second conversation has two steps; and batches of clips of 4 and of 12 s, where 320 requests
mean that 55 and 164 MB are read, encoded and sent each second.
Run it on an otherwise idle machine: python -m benchmarks.api
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import numpy as np
import soundfile

from aor_lib.config.params import ModelCard, card_settings
from aor_lib.config.records import Arm, Generation, Trial, content_hash
from aor_lib.inference.asking import ask
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Turn
from aor_lib.models.openai_api import OpenAIModel

CONCURRENCY, LATENCY_S = 64, 0.2
ROUNDS = 3
RATE, CLIPS_S = 24_000, (4, 12)
BODY = json.dumps(
    {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Of course."}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    BODY
)


class Server(asyncio.Protocol):
    """One connection; reads only the length of each request, to do as little work as possible."""

    def connection_made(self, transport):
        """Wait for the first request."""
        self.transport, self.head, self.left = transport, b"", 0

    def data_received(self, data):
        """Answer a request ``LATENCY_S`` seconds after its last byte."""
        if not self.left:
            self.head += data
            head, found, data = self.head.partition(b"\r\n\r\n")
            if not found:
                return
            self.head = b""
            self.left = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        self.left -= len(data)
        if not self.left:
            loop = asyncio.get_running_loop()
            loop.call_later(LATENCY_S, self.transport.write, RESPONSE + BODY)


async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def in_one_call(model, conversations):
    return model.answer(conversations, Generation())


def in_batches(model, conversations):
    """Query the model as the engine does, batch by batch from a queue."""
    arm = Arm(model.card.id, "1", "0" * 64, "none", None, Generation())
    batches = (
        {Trial(f"s{number}", content_hash(number), arm): conversation}
        for number, conversation in enumerate(conversations)
    )
    return [result for outcome in ask(model, batches) for result in outcome.results.values()]


def bare_client(model, conversations):
    """Send one request per conversation, all with the same prebuilt body."""
    message = {"role": "user", "content": conversations[0][0].text}
    body = json.dumps({"model": "none", "messages": [message]}).encode()
    address = f"{card_settings(model.card, ApiSettings).address('loopback')}/chat/completions"

    async def send(session):
        headers = {"content-type": "application/json"}
        async with session.post(address, data=body, headers=headers) as response:
            return Answer((await response.json())["choices"][0]["message"]["content"], 0)

    async def send_all():
        connector = aiohttp.TCPConnector(limit=CONCURRENCY)
        async with aiohttp.ClientSession(connector=connector) as session:
            return await asyncio.gather(*[send(session) for _ in conversations])

    return asyncio.run(send_all())


def measure(name, ask, model, conversations):
    """Print the ideal time divided by the measured time, and the client's CPU time."""
    requests = sum(map(len, conversations))  # one per user turn
    ratios, cpu_s = [], time.process_time()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        answers = ask(model, conversations)
        took_s = time.perf_counter() - started
        assert [type(answer) for answer in answers] == [Answer] * len(conversations), answers[0]
        ratios.append(requests / CONCURRENCY * LATENCY_S / took_s)
    cpu_ms = (time.process_time() - cpu_s) / (ROUNDS * requests) * 1e3
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(
        f"{name}, {requests} requests: {statistics.median(ratios):.3f} of the ideal "
        f"({shown}); {cpu_ms:.2f} ms of CPU a request"
    )


def loopback_model(port):
    reach = {
        "base_url": f"http://127.0.0.1:{port}/v1",
        "api_key_variable": "BENCHMARK_KEY",
        "concurrency": CONCURRENCY,
    }
    about = dict.fromkeys(("title", "family", "licence", "source"), "none") | {"id": "loopback"}
    return OpenAIModel(ModelCard(**about, kind="openai_api", reach=reach))


def main():
    os.environ |= {"NO_PROXY": "127.0.0.1", "BENCHMARK_KEY": "none"}
    text = (Turn("user", text="Where is the nearest bus stop?"),)
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE)
    with tempfile.TemporaryDirectory() as folder:
        try:
            model = loopback_model(int(server.stdout.readline()))
            # Enough requests that start and end weigh little, as in a study: the first requests
            # have to be built, and the last ones leave some of the 64 slots idle.
            texts = [text] * 80 * CONCURRENCY
            measure("bare client", bare_client, model, texts)
            measure("text in one call", in_one_call, model, texts)
            measure("text in batches", in_batches, model, texts)
            steps = [text, text * 2] * 40 * CONCURRENCY
            measure("one step or two, in batches", in_batches, model, steps)
            for clip_s in CLIPS_S:
                clip = Path(folder) / f"{clip_s}.flac"
                noise = 0.1 * np.random.default_rng(0).standard_normal(clip_s * RATE)
                soundfile.write(clip, noise, RATE)
                sound = (Turn("user", audio=clip),)
                measure(f"clips of {clip_s} s", in_batches, model, [sound] * 24 * CONCURRENCY)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    asyncio.run(serve()) if sys.argv[1:] == ["serve"] else main()
