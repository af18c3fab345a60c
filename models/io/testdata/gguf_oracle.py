"""GGUF files that we write, read by gguf-py, the reader of llama.cpp's project. By oracle_test.cc:

    gguf_oracle.py make ROOT    tiny models of every architecture, as folders ROOT/NAME
    gguf_oracle.py check ROOT   compares ROOT/NAME/TYPE.gguf with each folder

Tensors are compared by the names that gguf-py has for them and with what llama.cpp's converter does
to them, both worked out here without a look at our tables. Ends with code 1 after a difference.
"""

import json
import os
import sys

import gguf
import numpy as np
import torch
from safetensors.torch import load_file

SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
             bos_token_id=1, eos_token_id=2, pad_token_id=None)
EXPERTS = dict(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=32)


def models():
    import transformers as tf
    yield "llama", tf.LlamaForCausalLM(tf.LlamaConfig(**SMALL))
    yield "mistral", tf.MistralForCausalLM(tf.MistralConfig(**SMALL, head_dim=8, sliding_window=7))
    yield "qwen2", tf.Qwen2ForCausalLM(tf.Qwen2Config(**SMALL, tie_word_embeddings=True))
    yield "qwen3", tf.Qwen3ForCausalLM(tf.Qwen3Config(**SMALL, head_dim=16))
    yield "qwen3_moe", tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(
        **SMALL, **EXPERTS, head_dim=8, norm_topk_prob=True))
    yield "mixtral", tf.MixtralForCausalLM(tf.MixtralConfig(
        **SMALL, num_local_experts=3, num_experts_per_tok=2))
    yield "gemma2", tf.Gemma2ForCausalLM(tf.Gemma2Config(
        **SMALL, head_dim=8, sliding_window=7, query_pre_attn_scalar=8))
    yield "gpt2", tf.GPT2LMHeadModel(tf.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=1,
        eos_token_id=2))


def make(root):
    torch.manual_seed(5)
    for name, model in models():
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn(p.shape) * 0.1)
        model.save_pretrained(os.path.join(root, name))


ARCH = dict(mistral="llama", mixtral="llama", qwen3_moe="qwen3moe")


def permuted(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).transpose(1, 2).reshape(w.shape)


def expected(folder, config):
    """GGUF name -> tensor, from the folder's weights."""
    kind = config["model_type"]
    arch = next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == ARCH.get(kind, kind))
    names = gguf.get_tensor_name_map(arch, config.get("num_hidden_layers", config.get("n_layer")))
    out, stacks = {}, {}
    for key, w in load_file(os.path.join(folder, "model.safetensors")).items():
        if ".experts." in key:
            head, tail = key.split(".experts.")
            number, part = tail.split(".")[:2]
            part = dict(w1="gate", w2="down", w3="up").get(part, part.removesuffix("_proj"))
            layer = head.split(".")[2]
            stacks.setdefault(f"blk.{layer}.ffn_{part}_exps.weight", {})[int(number)] = w
            continue
        if kind == "gpt2" and w.dim() == 2 and ("c_attn" in key or "c_proj" in key or "c_fc" in key):
            w = w.t()
        if kind == "gemma2" and "norm" in key:
            w = w + 1
        if ARCH.get(kind, kind) == "llama" and "q_proj" in key:
            w = permuted(w, config["num_attention_heads"])
        if ARCH.get(kind, kind) == "llama" and "k_proj" in key:
            w = permuted(w, config["num_key_value_heads"])
        name = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert name, key
        out[name] = w
    for name, parts in stacks.items():
        out[name] = torch.stack([parts[i] for i in range(len(parts))])
    return out


def check_tensors(file, reader, wanted):
    found = {t.name: t for t in reader.tensors}
    assert set(found) == set(wanted), set(found) ^ set(wanted)
    plain = os.path.basename(file)[:-5]
    for name, w in wanted.items():
        t = found[name]
        assert [int(n) for n in reversed(t.shape)] == list(w.shape), (name, t.shape, w.shape)
        kind = gguf.GGMLQuantizationType
        want_kind = kind.F32 if w.dim() < 2 else kind[plain.upper()]
        assert t.tensor_type == want_kind, (name, t.tensor_type)
        w = np.ascontiguousarray(w.float().numpy())
        if want_kind != kind.F32:
            w = gguf.dequantize(gguf.quantize(w, want_kind), want_kind)
        got = gguf.dequantize(t.data, t.tensor_type).reshape(w.shape)
        assert np.array_equal(got, w), (name, np.abs(got - w).max())


def check_metadata(reader, config):
    kind = config["model_type"]
    arch = ARCH.get(kind, kind)
    rope = config.get("rope_parameters") or {}
    get = config.get
    wanted = {"general.architecture": arch,
              f"{arch}.block_count": get("num_hidden_layers", get("n_layer")),
              f"{arch}.context_length": get("max_position_embeddings", get("n_positions")),
              f"{arch}.embedding_length": get("hidden_size", get("n_embd")),
              f"{arch}.feed_forward_length": get("intermediate_size", 4 * get("n_embd", 0)),
              f"{arch}.attention.head_count": get("num_attention_heads", get("n_head"))}
    if kind == "gpt2":
        wanted["gpt2.attention.layer_norm_epsilon"] = config["layer_norm_epsilon"]
    else:
        wanted[f"{arch}.attention.head_count_kv"] = config["num_key_value_heads"]
        wanted[f"{arch}.attention.key_length"] = get("head_dim") or 8
        wanted[f"{arch}.attention.value_length"] = get("head_dim") or 8
        wanted[f"{arch}.attention.layer_norm_rms_epsilon"] = config["rms_norm_eps"]
        wanted[f"{arch}.rope.freq_base"] = rope["rope_theta"]
    if kind in ("mistral", "gemma2"):
        wanted[f"{arch}.attention.sliding_window"] = config["sliding_window"]
    if kind == "gemma2":
        for key in ("attn_logit_softcapping", "final_logit_softcapping"):
            wanted[f"gemma2.{key}"] = config[key]
    if kind in ("mixtral", "qwen3_moe"):
        wanted[f"{arch}.expert_count"] = 3
        wanted[f"{arch}.expert_used_count"] = 2
    if kind == "qwen3_moe":
        wanted["qwen3moe.expert_feed_forward_length"] = config["moe_intermediate_size"]
    for key, value in wanted.items():
        got = reader.get_field(key).contents()
        assert got == value or abs(got - value) <= 1e-6 * abs(value), (key, got, value)


def check_tokenizer(reader, folder):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as f:
        tokenizer = json.load(f)
    ids = dict(tokenizer["model"]["vocab"])
    ids.update({t["content"]: t["id"] for t in tokenizer["added_tokens"]})
    tokens = reader.get_field("tokenizer.ggml.tokens").contents()
    assert {t: i for i, t in enumerate(tokens)} == ids
    merges = [m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]]
    assert reader.get_field("tokenizer.ggml.merges").contents() == merges
    special = {t["content"] for t in tokenizer["added_tokens"] if t["special"]}
    kinds = reader.get_field("tokenizer.ggml.token_type").contents()
    assert {t for t, k in zip(tokens, kinds) if k == gguf.TokenType.CONTROL} == special
    with open(os.path.join(folder, "chat_template.jinja"), encoding="utf-8") as f:
        assert reader.get_field("tokenizer.chat_template").contents() == f.read()
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    for key in ("bos", "eos"):
        assert reader.get_field(f"tokenizer.ggml.{key}_token_id").contents() == \
            config[f"{key}_token_id"]


def check(root):
    files = 0
    for name in sorted(os.listdir(root)):
        folder = os.path.join(root, name)
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        wanted = expected(folder, config)
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".gguf"):
                continue
            reader = gguf.GGUFReader(os.path.join(folder, file))
            print(name, file, len(reader.tensors), flush=True)
            check_tensors(file, reader, wanted)
            check_metadata(reader, config)
            if os.path.exists(os.path.join(folder, "tokenizer.json")):
                check_tokenizer(reader, folder)
            files += 1
    assert files >= 36, files


dict(make=make, check=check)[sys.argv[1]](sys.argv[2])
