"""Audio language models as Hugging Face checkpoints: on the hub, or in a local folder.

One path serves nine architectures: the processor's chat template with an audio item, then
``generate``. What differs between them is in the small tables below.

A checkpoint is loaded at the first question. One at a time is held in memory: the next model of a
study replaces it.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, model_validator

from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError, Turn
from aor_lib.params import ModelCard, card_settings
from aor_lib.records import Generation, content_hash
from aor_lib.typed_yaml import Params, ParamsError

CPU_GIB = 4
"""A model that needs more memory than this is not tried without a GPU."""

_GIB = 2**30
_COMMIT = re.compile(r"[0-9a-f]{40}")
# The outer classes of the omni models, which also speak, do not keep to max_new_tokens.
_CLASSES = {
    "audioflamingo3": "AutoModelForSeq2SeqLM",
    "qwen2_5_omni": "Qwen2_5OmniThinkerForConditionalGeneration",
    "qwen3_omni_moe": "Qwen3OmniMoeThinkerForConditionalGeneration",
}
# Their encoders attend to padded frames: a longer clip in a batch changes a shorter one's answer.
_ONE_AT_A_TIME = ("gemma3n", "phi4_multimodal", "granite_speech")
# Its tokenizer refuses a system turn beside audio: the instruction opens the user's turn instead.
_WITHOUT_SYSTEM_TURN = ("voxtral",)

_loaded: dict[HuggingFaceModel, tuple[Any, Any]] = {}


class Settings(Params):
    """Settings of a Hugging Face checkpoint in its model card."""

    architecture: Literal[
        "qwen2_audio",
        "qwen2_5_omni",
        "qwen3_omni_moe",
        "voxtral",
        "audioflamingo3",
        "gemma3n",
        "gemma4",
        "phi4_multimodal",
        "granite_speech",
    ]
    dtype: Literal["bfloat16", "float32"] | None = Field(
        default=None, description="None: bfloat16 on a GPU, float32 without one."
    )
    batch_size: Annotated[int, Field(ge=1)] = 1
    attention: Literal["eager", "sdpa", "flash_attention_2"] | None = None
    adapter: str | None = Field(
        default=None, description="Folder of the checkpoint with a LoRA adapter to put on it."
    )
    trust_remote_code: bool = False

    @model_validator(mode="after")
    def _batches_change_no_answer(self) -> Settings:
        if self.batch_size > 1 and self.architecture in _ONE_AT_A_TIME:
            raise ValueError(f"batch_size must be 1: padding changes what {self.architecture} says")
        return self


class HuggingFaceModel:
    """Answers with a checkpoint that transformers can load.

    ``revision`` is the commit that will be loaded (of a local folder: a hash of what is in it),
    asked of the hub where the card names a branch; if that fails, it is what the card says.
    """

    capabilities = Capabilities(activations=True)

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._settings = card_settings(card, Settings)
        if self._settings.trust_remote_code and not _COMMIT.fullmatch(card.revision):
            raise ParamsError(
                f"model {card.id}: revision: settings.trust_remote_code needs a commit "
                f"(40 hexadecimal digits), not {card.revision!r}"
            )
        _require_memory(card)
        self._folder = Path(card.source).expanduser()
        if self._folder.is_dir():
            self.revision = _folder_hash(self._folder)
        elif card.source.startswith(("/", ".", "~")):
            raise ModelError(f"{card.id} needs the folder {card.source}; there is none")
        else:
            self.revision = _commit(card)

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`.

        Greedy at temperature 0; above it, conversations are answered one at a time, each from the
        seed, so that no answer depends on what else was asked.
        """
        model, processor = self._load()
        results: dict[int, Answer | Failure] = {}
        size = self._settings.batch_size if generation.temperature == 0 else 1
        for batch in _batches(conversations, size):
            chosen = [conversations[index] for index in batch]
            answers = self._answer_batch(model, processor, chosen, generation)
            results.update(zip(batch, answers, strict=True))
        return [results[index] for index in range(len(conversations))]

    def _answer_batch(
        self, model: Any, processor: Any, batch: list[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """The answers to a batch; if it fails as a whole, each conversation is asked alone."""
        try:
            messages = [self._messages(conversation) for conversation in batch]
            return _generate(model, processor, messages, generation)
        except torch.AcceleratorError as error:
            # The process can use the GPU no more.
            raise ModelError(f"{self.card.id}: the GPU failed: {_one_line(error)}") from error
        except Exception as error:  # noqa: BLE001 - checkpoints and decoders raise anything
            if len(batch) == 1:
                return [Failure(f"{type(error).__name__}: {_one_line(error)}")]
        torch.cuda.empty_cache()
        return [
            answer
            for conversation in batch
            for answer in self._answer_batch(model, processor, [conversation], generation)
        ]

    def _messages(self, conversation: Conversation) -> list[dict[str, Any]]:
        if self._settings.architecture in _WITHOUT_SYSTEM_TURN:
            conversation = _without_system_turns(conversation)
        messages = []
        for turn in conversation:
            content = [{"type": "text", "text": turn.text}] if turn.text else []
            if turn.audio is not None:
                # The loader takes a string that is no file for encoded audio.
                if not turn.audio.is_file():
                    raise FileNotFoundError(f"no sound file {turn.audio}")
                content.append({"type": "audio", "path": str(turn.audio)})
            messages.append({"role": turn.role, "content": content})
        return messages

    def _load(self) -> tuple[Any, Any]:
        """The model and its processor; whatever other model was loaded is let go first."""
        if self not in _loaded:
            _loaded.clear()
            gc.collect()
            torch.cuda.empty_cache()
            try:
                _loaded[self] = self._read_checkpoint()
            except Exception as error:
                name = type(error).__name__
                raise ModelError(
                    f"{self.card.id} could not be loaded from {self.card.source}: "
                    f"{name}: {_one_line(error)}"
                ) from error
        return _loaded[self]

    def _read_checkpoint(self) -> tuple[Any, Any]:
        import transformers

        settings, auto = self._settings, "AutoModelForMultimodalLM"
        on_gpu = torch.cuda.is_available()
        source = self.card.source
        common: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code}
        if self._folder.is_dir():
            source = str(self._folder)
        else:
            common["revision"] = self.revision
        processors: Any = transformers.AutoProcessor
        processor = processors.from_pretrained(source, **common)
        model = getattr(transformers, _CLASSES.get(settings.architecture, auto)).from_pretrained(
            source,
            dtype=getattr(torch, settings.dtype or ("bfloat16" if on_gpu else "float32")),
            attn_implementation=settings.attention,
            device_map={"": 0 if on_gpu else "cpu"},
            **common,
        )
        if not str(model.config.model_type).startswith(settings.architecture):
            raise ValueError(
                f"settings.architecture is {settings.architecture}, "
                f"but the checkpoint is of {model.config.model_type}"
            )
        if settings.adapter is not None:
            adapter = {"subfolder": settings.adapter, "revision": common.get("revision")}
            model.load_adapter(source, adapter_kwargs=adapter)
        return model.eval(), processor


def _require_memory(card: ModelCard) -> None:
    needed = card.memory_gib
    if needed is None:
        return
    if torch.cuda.is_available():
        found = torch.cuda.get_device_properties(0).total_memory / _GIB
        if found < needed:
            raise ModelError(
                f"{card.id} needs a GPU with {needed:g} GiB of memory; "
                f"the one found here has {found:.0f} GiB"
            )
    elif needed > CPU_GIB:
        raise ModelError(
            f"{card.id} needs a GPU with {needed:g} GiB of memory; none was found here"
        )


def _commit(card: ModelCard) -> str:
    """The commit that a card's revision stands for: what is cached here, or else on the hub now."""
    if _COMMIT.fullmatch(card.revision):
        return card.revision
    import huggingface_hub

    cached = huggingface_hub.try_to_load_from_cache(
        card.source, "config.json", revision=card.revision
    )
    if isinstance(cached, str):
        return Path(cached).parent.name
    try:
        found = huggingface_hub.HfApi().model_info(card.source, revision=card.revision, timeout=10)
    except Exception:  # noqa: BLE001 - without the hub there is no better answer; loading says why
        return card.revision
    return found.sha or card.revision


def _folder_hash(folder: Path) -> str:
    """Of the settings, templates and tokenizers in a folder, and the sizes of its weights."""
    content: dict[str, str | int] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        settles = path.suffix in {".json", ".jinja", ".txt", ".model", ".py"}
        content[path.relative_to(folder).as_posix()] = (
            hashlib.sha256(path.read_bytes()).hexdigest() if settles else path.stat().st_size
        )
    return content_hash(content)


def _batches(conversations: Sequence[Conversation], size: int) -> Iterator[list[int]]:
    """Places of conversations to answer together: all with audio, or all without."""
    for with_audio in (True, False):
        alike = [
            index
            for index, conversation in enumerate(conversations)
            if any(turn.audio is not None for turn in conversation) is with_audio
        ]
        for start in range(0, len(alike), size):
            yield alike[start : start + size]


def _without_system_turns(conversation: Conversation) -> Conversation:
    """The same words, with those of the system at the start of the first other turn."""
    system = [turn.text for turn in conversation if turn.role == "system" and turn.text]
    first, *rest = [turn for turn in conversation if turn.role != "system"]
    text = "\n".join([*system, *([first.text] if first.text else [])])
    return (Turn(first.role, text or None, first.audio), *rest)


def _generate(
    model: Any, processor: Any, messages: list[list[dict[str, Any]]], generation: Generation
) -> list[Answer | Failure]:
    tokenizer = processor.tokenizer
    inputs = processor.apply_chat_template(
        messages,
        # Some processors lose their template when they are saved; the tokenizer has it too.
        chat_template=getattr(processor, "chat_template", None)
        or getattr(tokenizer, "chat_template", None),
        tokenize=True,
        add_generation_prompt=True,
        return_dict=True,
        return_tensors="pt",
        processor_kwargs={"text_kwargs": {"padding": True, "padding_side": "left"}},
    ).to(model.device, dtype=model.dtype)
    sampling: dict[str, Any] = {"do_sample": False}
    if generation.temperature > 0:
        sampling = {"do_sample": True, "temperature": generation.temperature}
        sampling |= {"top_p": 1.0, "top_k": 0}
        torch.manual_seed(generation.seed)
    if (padding := getattr(tokenizer, "pad_token_id", None)) is not None:
        sampling["pad_token_id"] = padding
    with torch.inference_mode():
        output = model.generate(**inputs, max_new_tokens=generation.max_new_tokens, **sampling)
    answers = output[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
    results: list[Answer | Failure] = []
    for text, tokens in zip(texts, answers.tolist(), strict=True):
        said = Answer(text.strip(), sum(token != padding for token in tokens))
        results.append(said if said.text else Failure("empty answer: no text was generated"))
    return results


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500]
