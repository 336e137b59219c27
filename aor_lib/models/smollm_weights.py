"""Weights of the cascades' language model: unpack, adapt, and quantize them to integers.

https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct
"""

import functools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import torch
from filelock import FileLock
from onnx import TensorProto, helper, numpy_helper

from aor_lib.models.base import ModelError
from aor_lib.models.smollm import AUDIO_MAP, LanguageModel
from aor_lib.storage import assets
from aor_lib.storage.atomic_write import atomic_folder

ASSET = "smollm2-135m-instruct"
_LARGEST_INPUT, _LARGEST_WEIGHT = 127, 63
_ZERO = 128  # zero point of unsigned integers
_TINY = np.finfo(np.float32).tiny

Floats = npt.NDArray[np.float32]


@functools.lru_cache(maxsize=1)
def language_model(adapter: Path | None = None) -> LanguageModel:
    """Load the model with integer weights, into which a LoRA adapter is merged if given."""
    model = load()
    network = model.network if adapter is None else merge_adapter(model.network, adapter)
    for name, module in list(network.named_modules()):
        if isinstance(module, torch.nn.Linear):
            network.set_submodule(name, IntegerLinear(module))
    return LanguageModel(model.tokenizer, network)


def load() -> LanguageModel:
    """Load a new copy of the model, in float32 and without an adapter."""
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = _unpacked()
    network: Any = LlamaForCausalLM.from_pretrained(folder)
    tokenizer: Any = PreTrainedTokenizerFast.from_pretrained(folder)
    return LanguageModel(tokenizer, network.eval())


def add_audio_map(layer: torch.nn.Module) -> None:
    """Add to a decoder layer a zero linear map through which it reads audio tokens again."""
    (width,) = layer.get_parameter("input_layernorm.weight").shape
    linear = torch.nn.Linear(width, width, bias=False).requires_grad_(False)
    torch.nn.init.zeros_(linear.weight)
    layer.add_module(AUDIO_MAP, linear)


def merge_adapter(network: Any, adapter: Path) -> Any:
    """Merge the LoRA adapter in a folder; ModelError if invalid or for another base model."""
    from peft import PeftConfig, PeftModel
    from safetensors import SafetensorError

    try:
        config: Any = PeftConfig.from_pretrained(str(adapter))
        if config.revision != (own := assets.revision(ASSET)):
            raise ModelError(f"{adapter}: is for {config.revision}, and this is {own}: retrain it")
        if AUDIO_MAP in config.target_modules:
            add_audio_map(network.get_decoder().layers[min(config.layers_to_transform)])
        with warnings.catch_warnings():
            # peft uses an attribute that transformers is about to rename.
            warnings.simplefilter("ignore", FutureWarning)
            adapted: Any = PeftModel.from_pretrained(network, adapter)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{adapter}: is not an adapter: {error}") from error
    return adapted.merge_and_unload()


class IntegerLinear(torch.nn.Module):
    """A linear layer without a bias that computes with integers, in half the time of floats.

    Every row of the input, and the weights of every output, have their own scale, so that no row
    depends on its batch. Weights have seven bits, because some processors add pairs of products in
    16 bits, which eight-bit weights would overflow. Dettmers et al. (2022), LLM.int8(), NeurIPS,
    https://arxiv.org/abs/2208.07339, section 2.
    """

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        weight, scale = _integers(linear.weight.detach().numpy(), _LARGEST_WEIGHT)
        self._scale = scale.T
        self._product = _product(weight.T.astype(np.int8))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The layer's output, float32, ``(..., out_features)``; without gradients."""
        # In numpy, whose calls cost less: a single token needs thousands.
        rows, scale = _integers(inputs.flatten(0, -2).numpy(), _LARGEST_INPUT)
        rows += _ZERO
        (sums,) = self._product.run(None, {"rows": rows.astype(np.uint8)})
        outputs = sums.astype(np.float32)
        outputs *= scale
        outputs *= self._scale
        return torch.from_numpy(outputs).view(*inputs.shape[:-1], -1)


def _product(weight: npt.NDArray[np.int8]) -> onnxruntime.InferenceSession:
    """Session that multiplies integer rows by a weight, ``(in, out)``; torch's product is slow.

    The rows are unsigned, because only then is the product fast on every processor.
    """
    rows = helper.make_tensor_value_info("rows", TensorProto.UINT8, [None, len(weight)])
    sums = helper.make_tensor_value_info("sums", TensorProto.INT32, [None, weight.shape[1]])
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(weight), "weight"),
        numpy_helper.from_array(np.array(_ZERO, np.uint8), "zero"),
    ]
    node = helper.make_node("MatMulInteger", ["rows", "weight", "zero"], ["sums"])
    graph = helper.make_graph([node], "product", [rows], [sums], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # else every layer's session would keep an arena
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def _integers(rows: Floats, largest: int) -> tuple[Floats, Floats]:
    """Round rows to integers up to ``largest``; also return the scale of each, ``(rows, 1)``."""
    scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), _TINY) / np.float32(largest)
    integers = rows / scale
    return np.rint(integers, out=integers), scale


def _unpacked() -> Path:
    # Folder of the unpacked GGUF file, which transformers is slow to read.
    from transformers import AutoTokenizer, LlamaForCausalLM

    folder = assets.cache_folder() / "language" / assets.revision(ASSET)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent.with_suffix(".lock")):
        if not folder.is_dir():
            (gguf,) = assets.fetch(ASSET).glob("*.gguf")
            file: Any = {"gguf_file": gguf.name}
            network: Any = LlamaForCausalLM.from_pretrained(gguf.parent, **file)
            network.hf_quantizer = None  # the weights are floats now and can be saved
            tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, padding_side="left", **file)
            with atomic_folder(folder) as scratch:
                network.save_pretrained(scratch)
                tokenizer.save_pretrained(scratch)
    return folder
