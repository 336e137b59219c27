"""Audio language models as Hugging Face checkpoints: on the hub, or in a local folder."""

import gc
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import torch
import transformers
from pydantic import PositiveInt, field_validator

from aor_lib.config.params import CardSettings, ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import did_you_mean, one_line
from aor_lib.models import base, hf_checkpoint
from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError, Result
from aor_lib.models.hf_architectures import ARCHITECTURES, load_network, load_processor
from aor_lib.models.hf_batches import Batches, Places, is_dead_gpu
from aor_lib.models.hf_inputs import clips, end_of_turn, model_inputs, with_waveforms

_CPU_GIB = 4  # a model that needs more memory is not tried without a GPU
_loaded: dict[str, tuple[Any, Any]] = {}  # at most one, by card and revision


class HuggingFaceSettings(CardSettings):
    """Settings of a Hugging Face checkpoint in its model card."""

    # Batches shrink to fit a machine's memory, so a card cannot determine them.
    REACH: ClassVar = frozenset({"batch_size"})

    architecture: str
    # None: bfloat16 on a GPU, float32 without one.
    dtype: Literal["bfloat16", "float16", "float32"] | None = None
    # auto: spread over all GPUs; None: the first GPU, or the CPU.
    device_map: Literal["auto", "cpu"] | None = None
    # Conversations per batch, halved if they do not fit into memory. In half precision, rounding
    # may make an answer depend on its batch; in float32, or with batch size 1, it does not.
    batch_size: PositiveInt = 16
    adapter: str | None = None  # folder in the checkpoint with a LoRA adapter to load

    @field_validator("architecture")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in ARCHITECTURES:
            raise ValueError(f"no architecture {name!r}{did_you_mean(name, ARCHITECTURES)}")
        return name


class HuggingFaceModel(base.GradualModel):
    """A model whose checkpoint transformers can load."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.capabilities = self.capabilities_of(card)
        self._settings = card_settings(card, HuggingFaceSettings)
        self._architecture = ARCHITECTURES[self._settings.architecture]
        _require_memory(card, self._settings.device_map)
        self.revision = hf_checkpoint.revision(card)
        self._batches = Batches(self._settings.batch_size)

    @staticmethod
    def capabilities_of(card: ModelCard) -> Capabilities:
        """See :func:`aor_lib.models.registry.claimed_capabilities`."""
        hears = card_settings(card, HuggingFaceSettings).architecture != "text"
        return Capabilities(audio=hears, activations=True)

    def results(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> Iterator[dict[int, Result]]:
        """See :class:`aor_lib.models.base.GradualModel`; sampled answers are not batched."""
        network, processor = self.load()

        def prepare(batch: Places) -> Any:
            ready = [self._ready(processor, conversations[place]) for place in batch]
            return model_inputs(processor, self._settings.architecture, ready)

        def answer(batch: Places, inputs: Any) -> list[Result]:
            self._switch_adapter(network, conversations[batch[0]])
            return _answers(network, processor.tokenizer, inputs, generation)

        def in_common(place: int) -> Hashable:
            if generation.temperature > 0:
                return place
            if self._architecture.multiple_of_s is None:
                return base.has_audio(conversations[place])
            try:
                return tuple(map(len, clips(self._ready(processor, conversations[place]))))
            except Exception:  # noqa: BLE001 - decoders raise anything
                return place  # runs alone, and fails by itself

        alike = {place: in_common(place) for place in range(len(conversations))}
        try:
            yield from self._batches.results(alike, prepare, answer)
        except Exception as error:
            if not is_dead_gpu(error):
                raise
            why = "the GPU failed, and this process can no longer use it; run again to resume"
            raise ModelError(f"{self.card.id}: {why}: {one_line(error, 500)}") from error

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Logits of the first token of the answer: float32 on the CPU, ``(vocabulary,)``."""
        network, inputs = self._asked(conversation)
        # With generate, as for answers: some models prepare their inputs or adapters there.
        with torch.inference_mode():
            output = network.generate(
                **inputs.to(network.device, dtype=network.dtype),
                max_new_tokens=1,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
        return output.logits[0][0].float().cpu()

    def decoder_layers(self) -> torch.nn.ModuleList:
        """Decoder layers of the language model (not of an audio encoder), for hooks."""
        return self.load()[0].get_decoder().layers

    def load(self) -> tuple[Any, Any]:
        """Load the model and its processor, after unloading any other model."""
        settings = self._settings
        identity = f"{self.card.model_dump_json()}@{self.revision}"
        if identity not in _loaded:
            _loaded.clear()
            gc.collect()
            try:
                torch.cuda.empty_cache()
                device = settings.device_map or ("cuda:0" if torch.cuda.is_available() else "cpu")
                dtype = settings.dtype or ("float32" if device == "cpu" else "bfloat16")
                folder = hf_checkpoint.folder(self.card, self.revision)
                placed = device if device == "auto" else {"": device}
                options = {"dtype": getattr(torch, dtype), "device_map": placed}
                network = load_network(settings.architecture, folder, settings.adapter, **options)
                processor = load_processor(settings.architecture, folder)
                _set_plain_decoding(network, processor)
                _loaded[identity] = network, processor
            except Exception as error:
                problem = f"could not be loaded from {self.card.source}: {Failure.of(error).error}"
                raise ModelError(f"{self.card.id} {problem}") from error
        return _loaded[identity]

    def _asked(self, conversation: Conversation) -> tuple[Any, Any]:
        network, processor = self.load()
        self._switch_adapter(network, conversation)
        ready = self._ready(processor, conversation)
        return network, model_inputs(processor, self._settings.architecture, [ready])

    def _ready(self, processor: Any, conversation: Conversation) -> Conversation:
        return with_waveforms(processor, self._settings.architecture, conversation)

    def _switch_adapter(self, network: Any, conversation: Conversation) -> None:
        # No batch mixes conversations with and without audio.
        if self._settings.adapter and self._architecture.adapter_hears:
            heard = base.has_audio(conversation)
            switch = network.enable_adapters if heard else network.disable_adapters
            switch()


def _require_memory(card: ModelCard, device_map: str | None) -> None:
    if card.memory_gib is None or device_map == "cpu":
        return
    needs = f"{card.id} needs a GPU with {card.memory_gib:g} GiB of memory"
    if not torch.cuda.is_available():
        if card.memory_gib > _CPU_GIB:
            raise ModelError(f"{needs}; none was found here")
        return
    gpus = range(torch.cuda.device_count() if device_map == "auto" else 1)
    available = sum(torch.cuda.get_device_properties(gpu).total_memory for gpu in gpus) / 2**30
    if available < card.memory_gib:
        raise ModelError(f"{needs}; found here: {available:.0f} GiB")


def _set_plain_decoding(network: Any, processor: Any) -> None:
    """Remove a checkpoint's penalties, beams and top-k or top-p; stop at any end-of-turn token.

    The configurations of the omni models' thinkers lack the end-of-turn token.
    """
    own, tokenizer = network.generation_config, processor.tokenizer
    configs = (own, network.config, network.config.get_text_config(), tokenizer)
    ends = {end_of_turn(processor)}
    for stated in (getattr(config, "eos_token_id", None) for config in configs):
        ends.update(stated if isinstance(stated, list) else [stated])
    paddings = (tokenizer.pad_token_id, own.pad_token_id, tokenizer.eos_token_id)
    network.generation_config = transformers.GenerationConfig(
        bos_token_id=own.bos_token_id,
        eos_token_id=sorted(token for token in ends if token is not None),
        pad_token_id=next((token for token in paddings if token is not None), None),
        suppress_tokens=own.suppress_tokens,
    )


def _answers(network: Any, tokenizer: Any, inputs: Any, generation: Generation) -> list[Result]:
    """Answer each row of the inputs: greedily, or sampled from the seed above temperature 0."""
    sampling: dict[str, Any] = {"do_sample": False}
    if generation.temperature > 0:
        sampling = dict(do_sample=True, temperature=generation.temperature, top_p=1.0, top_k=0)
        torch.manual_seed(generation.seed)
    inputs = inputs.to(network.device, dtype=network.dtype)
    with torch.inference_mode():
        output = network.generate(**inputs, max_new_tokens=generation.max_new_tokens, **sampling)
    written = output[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    padding, ends = (getattr(network.generation_config, f"{n}_token_id") for n in ("pad", "eos"))
    results: list[Result] = []
    for text, tokens in zip(texts, written.tolist(), strict=True):
        ended = "length" if set(tokens).isdisjoint(ends) else "stop"
        length = sum(token != padding for token in tokens)
        answer = Answer(text.strip(), length, finish_reason=ended)
        results.append(answer if answer.text else Failure("empty answer: no text was generated"))
    return results
