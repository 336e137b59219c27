import gguf
import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from aor_lib.storage import gguf_checkpoint

HEADS, KEY_HEADS, WIDTH, LAYERS = 4, 2, 32, 2


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_vocab_size(5)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_context_length(64)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e4)
    writer.add_token_list(["<end>", "<start>", "a", "b", "ab"])
    writer.add_token_types([3, 3, 1, 1, 1])
    writer.add_token_merges(["a b"])
    for add in (writer.add_bos_token_id, writer.add_unk_token_id):
        add(1)
    for add in (writer.add_eos_token_id, writer.add_pad_token_id):
        add(0)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    square, key = np.eye(WIDTH, dtype=np.float32), np.zeros((WIDTH // 2, WIDTH), dtype=np.float32)
    key += np.arange(len(key), dtype=np.float32)[:, None]
    shapes = dict.fromkeys(("attn_q", "attn_output", "ffn_gate", "ffn_up", "ffn_down"), square)
    shapes |= {"attn_k": key, "attn_v": key, "attn_norm": square[0], "ffn_norm": square[0]}
    for layer in range(LAYERS):
        for name, weight in shapes.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", weight)
    embedding = gguf.quants.quantize(square[:5], gguf.GGMLQuantizationType.Q8_0)
    q8 = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("token_embd.weight", embedding, raw_dtype=q8)
    writer.add_tensor("output_norm.weight", square[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_is_unpacked_once_into_a_folder_that_transformers_loads(
    packed, tmp_path, monkeypatch
):
    monkeypatch.setenv("AOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(gguf_checkpoint.assets, "revision", lambda asset: "1")
    monkeypatch.setattr(gguf_checkpoint.assets, "fetch", lambda asset: packed.parent)
    folder = gguf_checkpoint.unpacked("tiny")
    packed.unlink()
    assert gguf_checkpoint.unpacked("tiny") == folder
    network = LlamaForCausalLM.from_pretrained(folder)
    assert network.dtype == torch.float32
    assert network.get_input_embeddings().weight[1, 1].item() == pytest.approx(1, abs=1e-3)
    attention = network.get_decoder().layers[1].self_attn
    rows = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
    assert attention.k_proj.weight[:, 0].tolist() == rows
    assert attention.v_proj.weight[:, 0].tolist() == sorted(rows)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    assert tokenizer("abb<end>")["input_ids"] == [4, 3, 0]
    assert tokenizer.padding_side == "left"
    assert tokenizer.apply_chat_template([{"role": "user", "content": "b"}], tokenize=False) == "b"
