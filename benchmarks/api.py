"""Throughput of the API adapter with 64 requests at once that each take 200 ms, against the ideal.

The server is a process of its own that answers every request 200 ms after it has arrived whole;
ideal is what 64 such requests at once allow, 320 a second. Asked are text alone, in one call and
batch by batch as a run of the study does, there also every second conversation in two steps, and
clips of 12 s, where 320 a second are 246 MB that are read, encoded and sent. Run it on a machine
with nothing else to do, for it shares its cores with the server (or, as root, with ``chrt --rr 20``
in front): python benchmarks/api.py
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

import numpy as np
import soundfile

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.inference.executors import Batch, in_process
from aor_lib.models.base import Answer, Turn
from aor_lib.models.openai_api import OpenAIModel

CONCURRENCY, LATENCY_S = 64, 0.2
ROUNDS = 3
RATE, CLIP_S = 24_000, 12
BODY = json.dumps(
    {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Of course."}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    BODY
)


async def respond(reader, writer):
    """Answer the requests of one connection; what they hold is counted, not read."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            [length] = [
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            ]
            while length:
                length -= len(await reader.read(min(length, 2**20)))
            await asyncio.sleep(LATENCY_S)
            writer.write(RESPONSE + BODY)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve():
    server = await asyncio.start_server(respond, "127.0.0.1", 0, limit=2**20, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def in_one_call(model, conversations):
    return model.answer(conversations, Generation())


def in_batches(model, conversations):
    """Ask as the engine does, batch by batch from a queue."""
    size = model.capabilities.at_once
    cut = [conversations[i : i + size] for i in range(0, len(conversations), size)]
    queue = (Batch(batch, batch, Generation()) for batch in cut)
    return [result for _, outcome in in_process([(model, queue)]) for result in outcome.results]


def measure(name, ask, model, conversations):
    """Print ideal time over the time it took, and the client's CPU time."""
    requests = sum(map(len, conversations))  # one for each turn of the user
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
        clip = Path(folder) / "clip.flac"
        noise = 0.1 * np.random.default_rng(0).standard_normal(CLIP_S * RATE)
        soundfile.write(clip, noise, RATE)
        try:
            model = loopback_model(int(server.stdout.readline()))
            measure("text in one call", in_one_call, model, [text] * 40 * CONCURRENCY)
            measure("text in batches", in_batches, model, [text] * 40 * CONCURRENCY)
            # So many that the end weighs little, as in a study: there the slots run empty, since no
            # second step can be asked before its first one.
            steps = [text, text * 2] * 40 * CONCURRENCY
            measure("one step or two, in batches", in_batches, model, steps)
            sound = (Turn("user", audio=clip),)
            measure(f"clips of {CLIP_S} s", in_one_call, model, [sound] * 8 * CONCURRENCY)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    asyncio.run(serve()) if sys.argv[1:] == ["serve"] else main()
