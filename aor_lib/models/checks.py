"""The checks of a model, in their order: what each asks, and what to do where it fails."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import soundfile

from aor_lib.config.records import Generation
from aor_lib.models.asked import GENERATION, NOTICEABLE, QUESTIONS, Asked, Failed, Skipped, distance
from aor_lib.models.base import Answer, Conversation, Failure, Turn, Waveform
from aor_lib.models.hf_architectures import ARCHITECTURES

_LONG = Generation(max_new_tokens=192)
"""Long enough for a short answer and some of a next turn."""
_SHORT = Generation(max_new_tokens=3)
"""Too short for most answers."""
_NEXT_TURN = re.compile(
    r"(user|human|assistant|model)|(human|user|assistant):.*|.*(<\|\w+\|>|<(start|end)_of_turn>).*",
    re.IGNORECASE,
)
"""A line that only a turn's end or beginning brings, with its special tokens left out or not."""

Check = Callable[[Asked], str]
CHECKS: list[tuple[str, str, Check]] = []
"""Name of each check, what to do where it fails, and the check itself."""


def _check(name: str, what_to_do: str) -> Callable[[Check], Check]:
    """Register a check, which returns what it saw, or raises ``Failed`` or ``Skipped``."""

    def register(check: Check) -> Check:
        CHECKS.append((name, what_to_do, check))
        return check

    return register


@_check(
    "answers",
    "Read the error; see that the card's source, architecture and settings fit the model.",
)
def _answers(asked: Asked) -> str:
    return f"{QUESTIONS[0]!r} brought {asked.alone[0][:60]!r}"


@_check(
    "is deterministic",
    "Decode greedily at temperature 0, with dropout off. Where a provider cannot, say so in the "
    "card's note: a repeated run will differ.",
)
def _is_deterministic(asked: Asked) -> str:
    if not asked.deterministic:
        raise Failed("the same question brought another answer")
    return f"{len(asked.alone)} questions brought the same answers twice"


@_check(
    "ends its turn",
    "Stop generating at every token that ends a turn: the chat template's, the tokenizer's, and "
    "those of the checkpoint's settings.",
)
def _ends_its_turn(asked: Asked) -> str:
    (answer,) = asked.answers(asked.questions[:1], _LONG)
    if any(_NEXT_TURN.fullmatch(line.strip()) for line in answer.text.splitlines()):
        raise Failed("the answer to a short question goes on with a next turn")
    if answer.finish_reason == "length" or answer.tokens >= _LONG.max_new_tokens:
        # A model with random weights does so, and one that talks a lot may.
        raise Skipped(f"a short question was answered up to the limit of {answer.tokens} tokens")
    return "the answer to a short question ends by itself"


@_check(
    "says where it was cut off",
    "Give every answer its finish_reason: length where the limit ended it, and otherwise stop.",
)
def _says_where_it_was_cut_off(asked: Asked) -> str:
    if asked.answer(asked.questions[0]).tokens <= _SHORT.max_new_tokens:
        raise Skipped("its answers are too short to be cut off")
    (answer,) = asked.answers(asked.questions[:1], _SHORT)
    if answer.finish_reason is None:
        raise Skipped("it does not say why its answers end")
    if answer.finish_reason != "length":
        raise Failed(f"{answer.finish_reason!r} is said to have ended an answer that was cut off")
    return f"an answer that the limit ends after {_SHORT.max_new_tokens} tokens says so"


@_check(
    "decodes greedily",
    "At temperature 0, leave out what the checkpoint's own settings add: penalties, beams, bans.",
)
def _decodes_greedily(asked: Asked) -> str:
    departures = getattr(asked.model, "departures", None)
    if departures is None:
        raise Skipped("it does not show how likely its tokens were")
    if count := sum(departures(question, GENERATION) for question in asked.questions):
        raise Failed(f"{count} tokens were written though others were likelier")
    return "every token that it writes is the likeliest one"


@_check("hears", "Pass Turn.audio on, and see that the prompt holds the model's audio token.")
def _hears(asked: Asked) -> str:
    _require(asked.model.capabilities.audio, "audio")
    return asked.require_change(asked.questions[0], asked.questions[1], "other words in the clip")


@_check("hears the background", "")
def _hears_the_background(asked: Asked) -> str:
    _require(asked.model.capabilities.audio, "audio")
    one, other = asked.over_scenes
    try:
        return asked.require_change(one, other, "another scene behind the same words")
    except Failed as reason:
        # No defect of an adapter: it is what the study asks of a model.
        raise Skipped(f"{reason}; it may hear words alone") from reason


@_check(
    "batch equals single",
    "Give results in the order of the conversations; pad on the left and pass on every attention "
    "mask, or set reach.batch_size to 1.",
)
def _batch_equals_single(asked: Asked) -> str:
    asked.require_determinism()
    # The longest stands between the others: an adapter that sorts is noticed, whichever way.
    order = (0, 2, 1)
    together = asked.answers([asked.questions[place] for place in order])
    if [answer.text for answer in together] != [asked.alone[place] for place in order]:
        raise Failed("questions of unlike length, asked together, bring other answers")
    return "questions of unlike length, asked together, bring the same answers"


@_check(
    "file equals waveform",
    "Take Turn.audio as a path and as a Waveform, and resample both in the same way.",
)
def _file_equals_waveform(asked: Asked) -> str:
    _require(asked.model.capabilities.audio, "audio")
    samples, sample_rate = soundfile.read(asked.clips[0], dtype="float32")
    in_memory = asked.answer((Turn("user", audio=Waveform(samples, sample_rate)),))
    asked.require_determinism()
    if in_memory.text != asked.alone[0]:
        raise Failed("the same sound brings another answer as a waveform than as a file")
    return "the same sound brings the same answer as a file and as a waveform"


@_check(
    "takes an instruction",
    "Where the chat template has no system turn, put its text at the start of the user's.",
)
def _takes_an_instruction(asked: Asked) -> str:
    asked.answer((Turn("system", text="Answer in one word."), *asked.questions[0]))
    return "a system turn before the question is taken"


@_check(
    "text only",
    "Mend it, or declare text_only=False: trials without audio are then not planned.",
)
def _text_only(asked: Asked) -> str:
    _require(asked.model.capabilities.text_only, "text_only")
    asked.answer((Turn("user", text=QUESTIONS[0]),))
    return "a written question is answered"


@_check(
    "multi-turn",
    "Pass on every turn, or declare multi_turn=False: such trials are then not planned.",
)
def _multi_turn(asked: Asked) -> str:
    _require(asked.model.capabilities.multi_turn, "multi_turn")
    first, second, last = asked.questions
    between = Turn("assistant", text="I would have to look that up.")
    conversation = (*first, between, *last)
    asked.answer(conversation)
    return asked.require_change(conversation, (*second, between, *last), "another first turn")


@_check(
    "decoder layers",
    "Let decoder_layers() name the language model's layers, not the audio encoder's, and "
    "logits(conversation) run them; or declare activations=False.",
)
def _decoder_layers(asked: Asked) -> str:
    _require(asked.model.capabilities.activations, "activations")
    opened: Any = asked.model
    layers = list(opened.decoder_layers())
    if not layers:
        raise Failed("decoder_layers() names none")
    # Layers of an audio encoder have nothing to do with a written question.
    written: Conversation = (Turn("user", text=QUESTIONS[0]),)
    question = written if asked.model.capabilities.text_only else asked.questions[0]
    before, ran = asked.logits(question), _that_run(asked, layers, question)
    if idle := [number for number, layer in enumerate(layers) if layer not in ran]:
        raise Failed(f"layers {idle} of {len(layers)} do not run when a question is read")
    with _hooks(layers[-1:], _silence):
        after = asked.logits(question)
    if not distance(before, after) > NOTICEABLE:
        raise Failed("with the last layer's output set to zero, the logits stay the same")
    return f"{len(layers)} layers run, and the logits follow the last one's output"


@_check(
    "its adapter hears",
    "Turn the adapter on where something is heard and off elsewhere, as the model's makers do.",
)
def _its_adapter_hears(asked: Asked) -> str:
    name: Any = asked.model.card.settings.get("architecture")
    architecture = ARCHITECTURES.get(name)
    _require(architecture is not None and architecture.adapter_hears, "an adapter for audio alone")
    opened: Any = asked.model
    layers = [
        module
        for layer in opened.decoder_layers()
        for name, module in layer.named_modules()
        if ".lora_A." in name
    ]
    if not layers:
        raise Skipped("no adapter was loaded")
    written: Conversation = (Turn("user", text=QUESTIONS[0]),)
    for question, kind, wanted in (asked.questions[0], "spoken", True), (written, "written", False):
        if (ran := bool(_that_run(asked, layers, question))) is not wanted:
            raise Failed(f"its adapter is {'on' if ran else 'off'} for a {kind} question")
    return "its adapter is on for a spoken question and off for a written one"


@_check(
    "failures are typed",
    "Catch what one conversation raises, and return a Failure in its place.",
)
def _failures_are_typed(asked: Asked) -> str:
    _require(asked.model.capabilities.audio, "audio")
    missing, broken = asked.folder / "missing.flac", asked.folder / "broken.flac"
    broken.write_bytes(b"not audio")
    turns = [Turn("user", audio=path) for path in (missing, broken)]
    good, *bad = asked.results([asked.questions[0], *((turn,) for turn in turns)])
    for what, result in zip(("missing", "broken"), bad, strict=True):
        if isinstance(result, Answer):
            raise Failed(f"a {what} sound file brought an answer: {result.text[:60]!r}")
    if isinstance(good, Failure):
        raise Failed(f"beside broken sound files, a good one failed: {good.error[:200]!r}")
    return "missing and broken sound files are failures; one beside them is answered"


def _require(claimed: bool, capability: str) -> None:
    if not claimed:
        raise Skipped(f"{capability} is not claimed")


def _that_run(asked: Asked, layers: list[Any], question: Conversation) -> set[Any]:
    """Those of the layers that run when a question is read."""
    ran: set[Any] = set()
    with _hooks(layers, lambda layer, _, __: ran.add(layer)):
        asked.logits(question)
    return ran


@contextlib.contextmanager
def _hooks(layers: list[Any], hook: Callable[[Any, Any, Any], Any]) -> Iterator[None]:
    with contextlib.ExitStack() as hooks:
        for layer in layers:
            hooks.enter_context(layer.register_forward_hook(hook))
        yield


def _silence(layer: Any, inputs: Any, output: Any) -> Any:
    if isinstance(output, tuple):
        return (output[0] * 0, *output[1:])
    return output * 0
