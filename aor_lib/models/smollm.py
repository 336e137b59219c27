"""The cascades' language model: its prompts and its answers.

A clip is read as audio tokens, one for the sounds of each segment and one for the speaker's
emotion, and then as its transcript. An audio token is the sum of the embeddings of the names of
the sounds or emotions, weighted by their probabilities.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

import torch
from torch.nn.functional import pad

from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTags
from aor_lib.config.records import Generation, content_hash
from aor_lib.models.base import Answer

AUDIO = "<file_sep>"  # placeholder of an audio token: a vocabulary token that no text needs
AUDIO_TOKENS = SEGMENTS + 1
AUDIO_MAP = "audio_map"
"""Name of the linear map through which a decoder layer reads the audio tokens again."""
_AUDIO_SCALE = 75.0  # scale of a middle layer's states relative to audio tokens
_BATCH = 64
# In tokens; at least one is padding, as attention without any sums in another order.
_PADDED_TO = 16


@dataclass(frozen=True)
class Prompt:
    """Text of a prompt in the chat format, and the sound tags of the clips in it."""

    text: str
    heard: tuple[SoundTags, ...] = ()


def format_clip(words: str) -> str:
    """Format a clip: placeholders of its audio tokens, then its transcript."""
    return f"{AUDIO * AUDIO_TOKENS}\n{plain(words)}"


def plain(words: str) -> str:
    """Remove the placeholder of audio tokens from a text."""
    return words.replace(AUDIO, "")


def audio_tokens(
    heard: Sequence[SoundTags], embedding: Callable[[str], torch.Tensor]
) -> torch.Tensor:
    """Audio tokens of clips, concatenated: float32, ``(AUDIO_TOKENS * clips, width)``.

    ``embedding`` returns the vector of a name, ``(width,)``.
    """
    rows = [tokens for clip in heard for tokens in (*clip.segments, clip.emotion)]
    names = {name: embedding(name) for name in {name for row in rows for name, _ in row}}
    nothing = torch.zeros_like(embedding("nothing"))
    return torch.stack([sum((p * names[name] for name, p in row), nothing) for row in rows])


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A tokenizer and a network of transformers."""

    tokenizer: Any
    network: Any

    def prompt(self, messages: Sequence[dict[str, str]], heard: Sequence[SoundTags] = ()) -> Prompt:
        """Format messages (``role`` and ``content``) as a prompt, with the tags of their clips."""
        text: str = self.tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True
        )
        return Prompt(text, tuple(heard))

    def answers(
        self, prompts: Sequence[Prompt], generation: Generation, *, steered: bool = False
    ) -> Iterator[dict[Prompt, Answer]]:
        """Yield the answers to prompts, batch by batch; sampled above temperature 0.

        Only prompts of equal padded length share a batch, so that no answer depends on others.
        What all prompts of a batch begin with is read once, unless layers may be ``steered``.
        """
        # In a fixed order: in a steered layer, the last bit of a sum depends on a batch's rows.
        ordered = sorted(prompts, key=lambda p: (len(self.tokens(p.text)), p.text, p.heard))
        for start in range(0, len(ordered), _BATCH):
            batch = ordered[start : start + _BATCH]
            for _, alike in groupby(batch, lambda p: _padded_length(len(self.tokens(p.text)))):
                yield self._answered(list(alike), generation, steered)

    def next_token_logits(self, prompt: Prompt) -> torch.Tensor:
        """Logits of the first token after a prompt: float32, ``(vocabulary,)``."""
        inputs = self._padded([prompt])
        positions = inputs["attention_mask"].cumsum(dim=1) - 1
        with torch.inference_mode(), self.hearing(prompt.heard):
            return self.network(**inputs, position_ids=positions, logits_to_keep=1).logits[0, -1]

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text, without added special tokens."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    @contextlib.contextmanager
    def hearing(self, heard: Sequence[SoundTags]) -> Iterator[None]:
        """Make the network read the audio tokens of a batch's clips, in this thread only."""
        if not heard:
            yield
            return
        embeddings = self.network.get_input_embeddings()
        audio = self.tokens(AUDIO)[0]
        thread = threading.get_ident()
        audio_places: list[torch.Tensor] = []  # in the batch that was embedded last

        def of_name(name: str) -> torch.Tensor:
            return embeddings.weight[self.tokens(f" {name}")].mean(dim=0)

        vectors = audio_tokens(heard, of_name).detach()

        def placed(layer: torch.nn.Module, given: Any, embedded: torch.Tensor) -> torch.Tensor:
            if threading.get_ident() != thread:
                return embedded
            audio_places.clear()
            places = (given[0] == audio)[..., None]
            # While an answer is generated, the prompt is not embedded again.
            if int(places.sum()) != len(vectors):
                return embedded
            audio_places.append(places)
            return embedded.masked_scatter(places, vectors)

        def read_again(layer: torch.nn.Module, given: tuple[Any, ...]) -> Any:
            if threading.get_ident() != thread or not audio_places:
                return None
            states, *rest = given
            read = getattr(layer, AUDIO_MAP)(_AUDIO_SCALE * vectors)
            return (states + torch.zeros_like(states).masked_scatter(audio_places[0], read), *rest)

        with contextlib.ExitStack() as hooks:
            hooks.enter_context(embeddings.register_forward_hook(placed))
            for layer in self.network.get_decoder().layers:
                if hasattr(layer, AUDIO_MAP):
                    hooks.enter_context(layer.register_forward_pre_hook(read_again))
            yield

    def _answered(
        self, prompts: Sequence[Prompt], generation: Generation, steered: bool
    ) -> dict[Prompt, Answer]:
        inputs = self._padded(prompts)
        heard = [clip for prompt in prompts for clip in prompt.heard]
        sampled = [Sampled(prompts, generation)] if generation.temperature else []
        most = generation.max_new_tokens
        with torch.inference_mode():
            if len(prompts) > 1 and not steered:
                inputs["past_key_values"] = self._read_once(inputs)
            with self.hearing(heard):
                output = self.network.generate(
                    **inputs, max_new_tokens=most, do_sample=False, logits_processor=sampled
                )
        written = output[:, inputs["input_ids"].shape[1] :]
        texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        lengths = (written != self.tokenizer.pad_token_id).sum(dim=1).tolist()
        answers = {}
        for prompt, text, length in zip(prompts, texts, lengths, strict=True):
            ended = "stop" if length < most else "length"
            answers[prompt] = Answer(text.strip(), length, finish_reason=ended)
        return answers

    def _read_once(self, inputs: dict[str, Any]) -> Any:
        """Keys and values of what all prompts of a batch begin with, up to the first clip."""
        from transformers import DynamicCache

        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        padding = (mask == 0).sum(dim=1).tolist()
        rows = [row[left:].tolist() for row, left in zip(ids, padding, strict=True)]
        clip = self.tokens(AUDIO)[0]
        places = zip(*rows, strict=False)
        alike = takewhile(lambda ids: ids[0] != clip and len({*ids}) == 1, places)
        width = min(padding) + sum(1 for _ in alike)
        # Attention reads 32 tokens at a time, and sums one to three of them in another order. It
        # also sums fewer tokens in another order, hence one whole prompt is read.
        width -= max(0, 3 - (ids.shape[1] - width - 1) % 32)
        read = self.network.get_decoder()(
            input_ids=ids[:1],
            attention_mask=mask[:1],
            position_ids=mask[:1].cumsum(dim=1) - 1,
            use_cache=True,
        )

        def of_all(states: torch.Tensor) -> torch.Tensor:
            counts = [max(0, width - left) for left in padding]
            known = states[0, :, padding[0] :]
            return torch.stack([pad(known[:, :n], (0, 0, width - n, 0)) for n in counts])

        layers = read.past_key_values.layers
        return DynamicCache([(of_all(layer.keys), of_all(layer.values)) for layer in layers])

    def _padded(self, prompts: Sequence[Prompt]) -> dict[str, Any]:
        tokens = [self.tokens(prompt.text) for prompt in prompts]
        length = _padded_length(max(map(len, tokens)))
        return self.tokenizer.pad(
            {"input_ids": tokens}, padding="max_length", max_length=length, return_tensors="pt"
        )


class Sampled:
    """Logits processor that makes the argmax a sample at a temperature: the Gumbel-max trick.

    Maddison, Tarlow and Minka (2014), A* Sampling, NeurIPS 27.
    """

    def __init__(self, prompts: Sequence[Prompt], generation: Generation) -> None:
        self._temperature = generation.temperature
        self._random = []
        for prompt in prompts:
            # One generator per prompt: with a shared one, rows would depend on their batch.
            heard = [{"segments": clip.segments, "mood": clip.emotion} for clip in prompt.heard]
            seed = content_hash([generation.seed, {"text": prompt.text, "heard": heard}])
            self._random.append(torch.Generator().manual_seed(int(seed[:15], 16)))

    def __call__(self, tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Divide scores by the temperature and add Gumbel noise, ``(prompts, vocabulary)``."""
        drawn = [torch.empty_like(scores[0]).exponential_(generator=g) for g in self._random]
        return scores / self._temperature - torch.stack(drawn).log()


def _padded_length(tokens: int) -> int:
    return (tokens // _PADDED_TO + 1) * _PADDED_TO
