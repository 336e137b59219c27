"""Llama checkpoints in GGUF files, unpacked once into folders that transformers loads."""

from pathlib import Path
from typing import Any

from filelock import FileLock

from aor_lib.storage import assets
from aor_lib.storage.atomic_write import atomic_folder

_MODULES = {"token_embd": "embed_tokens", "output_norm": "norm"}
_LAYER_MODULES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_SPECIAL = 3  # type of the tokens that stand for no text


def unpacked(asset_id: str) -> Path:
    """Folder of the float32 checkpoint that an asset holds as a GGUF file, unpacked if need be."""
    folder = assets.cache_folder() / "language" / assets.revision(asset_id)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent.with_suffix(".lock")):
        if not folder.is_dir():
            (packed,) = assets.fetch(asset_id).glob("*.gguf")
            with atomic_folder(folder) as scratch:
                _unpack(packed, scratch)
    return folder


def _unpack(packed: Path, folder: Path) -> None:
    import gguf
    from safetensors.numpy import save_file
    from transformers import LlamaConfig

    reader = gguf.GGUFReader(packed)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    heads = {
        "attn_q": fields["llama.attention.head_count"],
        "attn_k": fields["llama.attention.head_count_kv"],
    }
    LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=fields["llama.vocab_size"],
        hidden_size=fields["llama.embedding_length"],
        intermediate_size=fields["llama.feed_forward_length"],
        num_hidden_layers=fields["llama.block_count"],
        num_attention_heads=heads["attn_q"],
        num_key_value_heads=heads["attn_k"],
        max_position_embeddings=fields["llama.context_length"],
        rms_norm_eps=fields["llama.attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
        bos_token_id=fields["tokenizer.ggml.bos_token_id"],
        eos_token_id=fields["tokenizer.ggml.eos_token_id"],
        pad_token_id=fields["tokenizer.ggml.padding_token_id"],
        tie_word_embeddings=True,
        dtype="float32",
    ).save_pretrained(folder)
    weights = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        *layer, module, _ = tensor.name.split(".")
        if module in heads:
            # GGUF turns neighbours in a head's space together, transformers its two halves.
            pairs = values.reshape(heads[module], -1, 2, values.shape[1])
            values = pairs.swapaxes(1, 2).reshape(values.shape)
        name = f"layers.{layer[1]}.{_LAYER_MODULES[module]}" if layer else _MODULES[module]
        weights[f"model.{name}.weight"] = values
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(fields).save_pretrained(folder)


def _tokenizer(fields: dict[str, Any]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens, types = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: n for n, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == _SPECIAL]
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    ids = {"unk": "unknown", "bos": "bos", "eos": "eos", "pad": "padding"}
    named = {f"{k}_token": tokens[fields[f"tokenizer.ggml.{v}_token_id"]] for k, v in ids.items()}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=fields["tokenizer.chat_template"],
        padding_side="left",
        **named,
    )
