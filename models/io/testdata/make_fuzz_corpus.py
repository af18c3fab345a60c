"""Makes the corpora of the fuzz targets: small real files. Needs numpy, safetensors, gguf.

python3 models/io/testdata/make_fuzz_corpus.py (after make_tiny.py)
"""
import json
import os
import shutil

import gguf
import numpy as np
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def fresh(name):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def safetensors():
    folder = fresh("fuzz_safetensors")
    save_file({}, os.path.join(folder, "empty"))
    save_file({"s": np.array(1.5, np.float32)}, os.path.join(folder, "scalar"))
    save_file({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros((0, 4), np.int64),
               "c": np.ones(3, np.float16)}, os.path.join(folder, "three"), {"format": "pt"})


def write_gguf(path, model):
    out = gguf.GGUFWriter(path, "llama")
    out.add_block_count(1)
    out.add_context_length(16)
    out.add_embedding_length(4)
    out.add_feed_forward_length(4)
    out.add_head_count(2)
    out.add_head_count_kv(1)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_freq_base(10000.0)
    out.add_tokenizer_model(model)
    words = ["<unk>", "a", "b", "ab"]
    out.add_token_list(words)
    out.add_token_types([2, 1, 1, 1])
    if model == "gpt2":
        out.add_tokenizer_pre("smollm")
        out.add_token_merges(["a b"])
    else:
        out.add_token_scores([0.0, -2.0, -3.0, -1.0])
    out.add_bos_token_id(0)
    out.add_eos_token_id(1)
    out.add_chat_template("{{ messages }}")
    out.add_tensor("token_embd.weight", np.ones((4, 4), np.float32))
    out.add_tensor("blk.0.attn_q.weight", np.ones((4, 4), np.float16))
    out.add_tensor("blk.0.ffn_down.weight", np.ones((4, 4), np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def texts():
    folder = fresh("fuzz_json")
    with open(os.path.join(HERE, "tiny_llama", "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(folder, "config"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    tokenizer = {
        "added_tokens": [{"id": 3, "content": "<s>", "special": True}],
        "pre_tokenizer": {"type": "ByteLevel", "use_regex": True},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]},
        "model": {"type": "BPE", "byte_fallback": False, "vocab": {"a": 0, "b": 1, "ab": 2},
                  "merges": ["a b"]}, "chat_template": "x", "bos_token": "<s>"}
    with open(os.path.join(folder, "tokenizer"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file)
    tokenizer["model"].update(byte_fallback=True, merges=[["a", "b"]])
    with open(os.path.join(folder, "pieces"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file)


safetensors()
gguf_folder = fresh("fuzz_gguf")
write_gguf(os.path.join(gguf_folder, "bytes"), "gpt2")
write_gguf(os.path.join(gguf_folder, "pieces"), "llama")
texts()
