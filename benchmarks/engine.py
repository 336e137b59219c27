"""Time of the engine relative to a hand-written loop, and the time to open a large store.

    python -m benchmarks.engine loop build/smoke   # a study's folder, with its stimuli
    python -m benchmarks.engine batched
    python -m benchmarks.engine open

``loop`` runs a local reference model on the same 200 trials twice: through the engine, and in a
hand-written loop that does only what is necessary (chat template, batches of prompts of similar
length, greedy decoding, one JSON line per answer). Both start with the weights in memory and the
clips transcribed, and use one core. They alternate; the ratios of their median wall-clock and CPU
times are printed, and their answers are compared.

``batched`` does the same with 96 clips and a tiny checkpoint in the hub's format: the hand-written
loop extracts the features of a batch, generates, decodes and writes, in sequence; the engine
extracts the next batch's features while the model generates.

``open`` times a resumed run from a cold start to its first request, for stores in which four
fifths of the trials are answered.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from aor_lib.config.params import PARAMS, ModelCard, load_model_cards, load_study
from aor_lib.config.records import Response, Status, Stimulus, content_hash
from aor_lib.inference.engine import Run
from aor_lib.inference.planning import AbsentModel, plan_trials, trials_of
from aor_lib.inference.store import Store
from aor_lib.models.base import Capabilities
from aor_lib.stimuli.manifest import load_stimuli

TRIALS, TURNS, BATCH = 200, 5, 64
CLIPS, CLIPS_AT_ONCE = 96, 8
MODELS, SIZES = 12, (90_000, 180_000, 360_000)


def loop(build):
    import torch

    from aor_lib.models import cascade, smollm_weights

    stimuli = [s for s in load_stimuli(build) if s.history == "[]"][:TRIALS]
    torch.set_num_threads(1)  # the engine would gain more from further threads than the loop
    model = cascade.Cascade(load_model_cards()["ref-permissive"])
    language_model = smollm_weights.language_model()
    tokenizer, network = language_model.tokenizer, language_model.network

    def by_hand(folder, new_tokens):
        return ask_by_hand(tokenizer, network, stimuli, build, new_tokens, folder)

    take_turns(model, stimuli, build, by_hand)


def batched(folder):
    import numpy as np
    import soundfile

    from tests.models import checkpoints

    source = checkpoints.build("qwen2_audio", folder / "tiny")
    model = checkpoints.load("qwen2_audio", source, batch_size=CLIPS_AT_ONCE)
    for number in range(CLIPS):
        noise = np.random.default_rng(number).normal(0, 0.1, 24_000 * 6)
        soundfile.write(folder / f"{number}.flac", noise, 24_000)
    stimuli = [
        text_stimulus(number).model_copy(update={"path": f"{number}.flac"})
        for number in range(CLIPS)
    ]

    def by_hand(results, new_tokens):
        return hear_by_hand(*model.load(), stimuli, folder, new_tokens, results)

    take_turns(model, stimuli, folder, by_hand)


def plain_study():
    """The smoke study without mitigations."""
    study = load_study(PARAMS / "smoke.yaml")
    return study.model_copy(update={"mitigations": study.mitigations[:1]})


def hear_by_hand(network, processor, stimuli, build, new_tokens, folder):
    """A hand-written script for one checkpoint."""
    import soundfile
    import soxr
    import torch

    tokenizer, answers = processor.tokenizer, []
    message = [{"role": "user", "content": [{"type": "audio"}]}]
    template = processor.chat_template
    prompt = processor.apply_chat_template(
        message, chat_template=template, tokenize=False, add_generation_prompt=True
    )
    with open(folder / "answers.jsonl", "w") as lines:
        for start in range(0, len(stimuli), CLIPS_AT_ONCE):
            batch = stimuli[start : start + CLIPS_AT_ONCE]
            files = [soundfile.read(build / stimulus.path, dtype="float32") for stimulus in batch]
            inputs = processor(
                text=[prompt] * len(batch),
                audio=[soxr.resample(samples, rate, 16_000) for samples, rate in files],
                sampling_rate=16_000,
                return_tensors="pt",
                text_kwargs={"padding": True, "padding_side": "left"},
            )
            with torch.inference_mode():
                output = network.generate(**inputs, max_new_tokens=new_tokens, do_sample=False)
            texts = tokenizer.batch_decode(
                output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True
            )
            for stimulus, text in zip(batch, texts, strict=True):
                answers.append(text.strip())
                lines.write(json.dumps({"id": stimulus.stimulus_id, "answer": text}) + "\n")
    return answers


def take_turns(model, stimuli, build, ask_by_hand):
    """Time the engine and a hand-written loop alternately; print the ratios of their times."""
    study = plain_study()
    trials = trials_of(model, study.mitigations[0], stimuli, study.profile.generation)

    def through_engine(folder):
        with Store(folder / "results.sqlite") as store:
            store.set_plan(trials)
            Run(trials, [model], stimuli, build, store).answer(lambda progress: None)
            return store.frame("rules")["response"].tolist()

    def by_hand(folder):
        return ask_by_hand(folder, study.profile.generation.max_new_tokens)

    clocks = (time.perf_counter, time.process_time)
    times = {through_engine: [], by_hand: []}
    for turn in range(TURNS + 1):
        answers = {}
        for way in (through_engine, by_hand) if turn % 2 else (by_hand, through_engine):
            with tempfile.TemporaryDirectory() as folder:
                started = [clock() for clock in clocks]
                answers[way] = way(Path(folder))
                taken = [clock() - start for clock, start in zip(clocks, started, strict=True)]
            if turn:  # the first turn loads the weights and the clips
                times[way].append(taken)
                print(f"{way.__name__:15} {taken[0]:7.3f} s", flush=True)
        assert answers[through_engine] == answers[by_hand], "the answers differ"
    for number, kind in enumerate(("time", "processor time")):
        engine, hand = (
            statistics.median(taken[number] for taken in times[way])
            for way in (through_engine, by_hand)
        )
        print(f"{len(trials)} trials, {kind}: {engine:.3f} s / {hand:.3f} s = {engine / hand:.3f}")


def ask_by_hand(tokenizer, model, stimuli, build, new_tokens, folder):
    """Lower bound: a hand-written script for this one model."""
    import torch

    from aor_lib.audio.hearing.transcription import transcribe

    prompts = {}
    for place, stimulus in enumerate(stimuli):
        text = stimulus.presented_text
        if stimulus.path is not None:
            text = transcribe((build / stimulus.path).read_bytes()).transcript
        message = [{"role": "user", "content": text}]
        prompt = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        prompts.setdefault(prompt, []).append(place)
    answers = [None] * len(stimuli)
    alike = {}  # prompts by padded length, as the model pads them, so that answers agree
    for prompt in prompts:
        tokens = len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
        alike.setdefault((tokens // 16 + 1) * 16, []).append(prompt)
    batches = [
        (length, its[start : start + BATCH])
        for length, its in alike.items()
        for start in range(0, len(its), BATCH)
    ]
    with open(folder / "answers.jsonl", "w") as lines:
        for length, batch in batches:
            inputs = tokenizer(
                batch,
                return_tensors="pt",
                padding="max_length",
                max_length=length,
                add_special_tokens=False,
            )
            with torch.inference_mode():
                output = model.generate(**inputs, max_new_tokens=new_tokens, do_sample=False)
            texts = tokenizer.batch_decode(
                output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True
            )
            for prompt, text in zip(batch, texts, strict=True):
                for place in prompts[prompt]:
                    answers[place] = text.strip()
                    line = {"id": stimuli[place].stimulus_id, "answer": answers[place]}
                    lines.write(json.dumps(line) + "\n")
    return answers


class Opened(Exception):  # noqa: N818
    """Raised when the run has found the remaining trials."""


def open_stores():
    study = plain_study()
    about = dict.fromkeys(("title", "family", "licence", "source"), "")
    cards = [ModelCard(id=f"m{number}", kind="hf", **about) for number in range(MODELS)]
    models = [AbsentModel(card, "0" * 40, Capabilities()) for card in cards]
    for size in SIZES:
        stimuli = [text_stimulus(number) for number in range(size // MODELS)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.sqlite"
            fill(path, plan_trials(study, stimuli, models))
            times = [time_to_open(path, study, stimuli, models) for _ in range(3)]
        taken = statistics.median(times)
        print(f"{size:7} trials: {taken:.2f} s, {taken / size * 1e6:.1f} us a trial", flush=True)


def time_to_open(path, study, stimuli, models):
    updates = []

    def first(progress):
        updates.append(progress)
        raise Opened

    started = time.perf_counter()
    with Store(path) as store:
        trials = plan_trials(study, stimuli, models)
        try:
            store.set_plan(trials)
            Run(trials, models, stimuli, path.parent, store).answer(first)
        except Opened:
            taken = time.perf_counter() - started
    assert updates[0].done == len(trials) * 4 // 5
    return taken


def fill(path, trials):
    """Fill a store with the trials, four fifths of them answered."""
    with Store(path) as store:
        store.set_plan(trials)
        answered = [trial for number, trial in enumerate(trials) if number % 5]
        for start in range(0, len(answered), 10_000):
            store.record(
                Response(
                    trial_key=trial.key,
                    status=Status.OK,
                    text="A sentence of an answer, as long as such a sentence tends to be. " * 4,
                    error=None,
                    latency_s=1.0,
                    tokens=64,
                    created="2026-01-01T00:00:00.000000+00:00",
                )
                for trial in answered[start : start + 10_000]
            )


def text_stimulus(number):
    empty = dict.fromkeys(Stimulus.model_fields)
    return Stimulus.model_validate(
        empty
        | {"stimulus_id": f"s{number}", "utterance_id": f"u{number}", "scenario": "kitchen"}
        | {"intent": "benign", "text": "text", "presented_text": f"text {number}", "seed": 0}
        | {"block": "core", "condition": "text_only", "sha256": content_hash(number)}
        | {"events": "[]", "history": "[]", "split": "test"}
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["loop", folder]:
            loop(Path(folder))
        case ["batched"]:
            with tempfile.TemporaryDirectory() as scratch:
                batched(Path(scratch))
        case ["open"]:
            open_stores()
        case _:
            sys.exit(__doc__)
