"""The checkpoint of the cascades' language model, unpacked from a GGUF file.

https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct
"""

from __future__ import annotations

import contextlib
import functools
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from filelock import FileLock

from aor_lib.storage import assets
from aor_lib.storage.assets import cache_folder

_ASSET = "smollm2-135m-instruct"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def revision() -> str:
    """Revision of the weights without an adapter."""
    return assets.revision(_ASSET)


def checkpoint() -> Path:
    """Folder of the checkpoint in float32, made once: unpacking the GGUF file takes a while."""
    folder = cache_folder() / "language" / revision()
    with FileLock(cache_folder() / "language.lock"):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=cache_folder()) as unpacked:
                _unpack(Path(unpacked))
                folder.parent.mkdir(exist_ok=True)
                Path(unpacked).rename(folder)
    return folder


@contextlib.contextmanager
def without_progress_bars() -> Iterator[None]:
    """Have transformers show none in the block."""
    import transformers

    logging: Any = transformers.utils.logging  # untyped
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _unpack(folder: Path) -> None:
    import gguf
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    packed = str(assets.fetch(_ASSET))
    # transformers opens the file four times, which takes seconds, and asks for the names of the
    # tensors once for each.
    reader = functools.cache(gguf.GGUFReader)
    names = functools.cache(gguf.get_tensor_name_map)
    # Unpacking has progress bars of its own that cannot be turned off.
    with (
        mock.patch.multiple(gguf, GGUFReader=reader, get_tensor_name_map=names),
        without_progress_bars(),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        tokenizer = AutoTokenizer.from_pretrained(packed, gguf_file=_GGUF, padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(packed, gguf_file=_GGUF, dtype=torch.float32)
        # What came from a GGUF file counts as quantized, and is not saved.
        settings = model.config.to_dict()
        del settings["quantization_config"]
        config = LlamaConfig.from_dict(settings)
        unpacked = LlamaForCausalLM.from_pretrained(
            None, config=config, state_dict=model.state_dict()
        )
        tokenizer.save_pretrained(folder)
        unpacked.save_pretrained(folder)
