"""Writes tiny random models of every architecture with what `transformers` says about them.

    python models/transformer/testdata/make_golden.py

needs torch, transformers and safetensors. Per model: a folder with config.json and
model.safetensors as save_pretrained writes them, and golden.safetensors with
  ids, cu_seqlens   two sequences end to end
  logits            of each sequence by itself (eager attention, fp32)
  grad.NAME         gradient of the loss by checkpoint tensor NAME; the loss is the mean over all
                    tokens but each sequence's last of the cross entropy of the next one
                    (classifiers: half the sum over the logits of their square)
rope.json is a table of RoPE inverse frequencies and attention factors.
"""

import copy
import json
import os
import shutil

import torch
import transformers as tf
from safetensors.torch import save_file
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = (23, 14)
SMALL = dict(vocab_size=64, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
             bos_token_id=1, eos_token_id=2, pad_token_id=None)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=16)
EXPERTS = dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12)


def llama(**more):
    return tf.LlamaForCausalLM, tf.LlamaConfig(**{**SMALL, **more})


def rope(kind, **more):
    return llama(num_hidden_layers=1, vocab_size=32, max_position_embeddings=16,
                 rope_parameters=dict(rope_type=kind, rope_theta=10000.0, **more))


def models():
    yield "llama", *llama()
    yield "llama_one_kv_head", *llama(num_key_value_heads=1, head_dim=10, attention_bias=True,
                                      mlp_bias=True, tie_word_embeddings=True)
    yield "llama_classifier", tf.LlamaForSequenceClassification, tf.LlamaConfig(
        **{**SMALL, "num_hidden_layers": 1}, num_labels=3)
    yield "rope_linear", *rope("linear", factor=2.5)
    yield "rope_dynamic", *rope("dynamic", factor=2.0)
    yield "rope_llama3", *llama(num_hidden_layers=1, vocab_size=32, rope_parameters=LLAMA3)
    yield "rope_yarn", *rope("yarn", factor=4.0, original_max_position_embeddings=16)
    yield "mistral", tf.MistralForCausalLM, tf.MistralConfig(**SMALL, head_dim=8, sliding_window=8)
    yield "qwen2", tf.Qwen2ForCausalLM, tf.Qwen2Config(
        **SMALL, tie_word_embeddings=True, use_sliding_window=True, sliding_window=6,
        max_window_layers=1)
    yield "qwen3", tf.Qwen3ForCausalLM, tf.Qwen3Config(**SMALL, head_dim=8)
    yield "qwen3_moe", tf.Qwen3MoeForCausalLM, tf.Qwen3MoeConfig(
        **SMALL, **EXPERTS, head_dim=8, norm_topk_prob=True, mlp_only_layers=[0])
    yield "qwen3_moe_raw", tf.Qwen3MoeForCausalLM, tf.Qwen3MoeConfig(
        **SMALL, **EXPERTS, head_dim=8, norm_topk_prob=False, decoder_sparse_step=2)
    yield "mixtral", tf.MixtralForCausalLM, tf.MixtralConfig(
        **{**SMALL, "num_hidden_layers": 1}, num_local_experts=4, num_experts_per_tok=2,
        sliding_window=None)
    yield "smollm3", tf.SmolLM3ForCausalLM, tf.SmolLM3Config(
        **SMALL, no_rope_layers=[1, 0], use_sliding_window=True, sliding_window=9)
    yield "gemma2", tf.Gemma2ForCausalLM, tf.Gemma2Config(
        **SMALL, head_dim=8, sliding_window=7, query_pre_attn_scalar=12,
        attn_logit_softcapping=3.0, final_logit_softcapping=5.0)
    yield "gpt2", tf.GPT2LMHeadModel, tf.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=24, n_layer=2, n_head=3,
        scale_attn_by_inverse_layer_idx=True, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=1, eos_token_id=2)
    yield "qwen3_next", tf.Qwen3NextForCausalLM, tf.Qwen3NextConfig(
        **{**SMALL, "hidden_size": 16}, **EXPERTS | {"num_experts": 3},
        head_dim=8, partial_rotary_factor=0.5, shared_expert_intermediate_size=12,
        layer_types=["linear_attention", "full_attention"], linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5)


def scatter(model):
    """Weights far from their start, so that no bias, norm or switch goes unnoticed."""
    gen = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=gen)
            if p.dim() == 1:
                p.add_(noise * 0.2)
            else:
                p.copy_(noise * (0.3 if p.dim() == 2 else 0.25))


def split_experts(name, grad, mixtral):
    """Gradients under the names that save_pretrained uses: one tensor per expert and projection."""
    if ".experts." not in name:
        yield name, grad
        return
    base = name.rsplit(".", 1)[0]
    if mixtral:
        base = base.replace(".mlp.", ".block_sparse_moe.")
    gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    for e, g in enumerate(grad):
        if name.endswith("gate_up_proj"):
            half = g.shape[0] // 2
            yield f"{base}.{e}.{gate}.weight", g[:half]
            yield f"{base}.{e}.{up}.weight", g[half:]
        else:
            yield f"{base}.{e}.{down}.weight", g


def golden(name, cls, config):
    config._attn_implementation = "eager"
    torch.manual_seed(3)
    model = cls(config).eval()
    scatter(model)
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    if os.path.exists(os.path.join(folder, "generation_config.json")):
        os.remove(os.path.join(folder, "generation_config.json"))
    gen = torch.Generator().manual_seed(11)
    rows = [torch.randint(3, config.vocab_size, (n,), generator=gen) for n in LENGTHS]
    logits = [model(row[None]).logits[0] for row in rows]
    if "Classification" in cls.__name__:
        loss = 0.5 * sum(x.square().sum() for x in logits)
    else:
        loss = sum(torch.nn.functional.cross_entropy(x[:-1], row[1:], reduction="sum")
                   for x, row in zip(logits, rows)) / (sum(LENGTHS) - len(LENGTHS))
    loss.backward()
    out = {"ids": torch.cat(rows), "cu_seqlens": torch.tensor([0, LENGTHS[0], sum(LENGTHS)]),
           "logits": torch.stack(logits) if "Classification" in cls.__name__ else torch.cat(logits),
           "loss": loss.detach()}
    for parameter, p in model.named_parameters():
        for key, grad in split_experts(parameter, p.grad, name == "mixtral"):
            if name == "mixtral":
                key = key.replace(".mlp.", ".block_sparse_moe.")
            out["grad." + key] = grad
    save_file({k: v.detach().contiguous().clone() for k, v in out.items()},
              os.path.join(folder, "golden.safetensors"))


def rope_table():
    table = []
    for scaling, head, length in [
            (dict(rope_type="default", rope_theta=1e5), 64, 0),
            (dict(rope_type="linear", rope_theta=1e4, factor=4.0), 64, 0),
            (dict(rope_type="dynamic", rope_theta=1e4, factor=2.0), 32, 5000),
            (dict(rope_type="dynamic", rope_theta=1e4, factor=2.0), 32, 100),
            ({**LLAMA3, "rope_theta": 5e5, "original_max_position_embeddings": 8192}, 128, 0),
            ({**LLAMA3, "rope_theta": 5e5, "factor": 32.0,
              "original_max_position_embeddings": 8192}, 64, 0),
            (dict(rope_type="yarn", rope_theta=1e6, factor=4.0,
                  original_max_position_embeddings=32768), 128, 0),
            (dict(rope_type="yarn", rope_theta=1e4, factor=40.0, mscale=1.0, mscale_all_dim=0.5,
                  beta_fast=24, beta_slow=2, truncate=False,
                  original_max_position_embeddings=4096), 64, 0),
            (dict(rope_type="yarn", rope_theta=1e4, factor=8.0, attention_factor=1.25,
                  original_max_position_embeddings=4096), 64, 0)]:
        config = tf.LlamaConfig(hidden_size=head * 4, num_attention_heads=4, head_dim=head,
                                max_position_embeddings=2048,
                                rope_parameters=copy.deepcopy(scaling))
        kind = scaling["rope_type"]
        if kind == "default":
            freq, factor = tf.models.llama.modeling_llama.LlamaRotaryEmbedding \
                .compute_default_rope_parameters(config)
        else:
            freq, factor = ROPE_INIT_FUNCTIONS[kind](config, None, seq_len=length or None)
        table.append({"rope_parameters": scaling, "head_dim": head, "length": length,
                      "max_positions": 2048, "inv_freq": [float(x) for x in freq],
                      "attention_factor": float(factor)})
    with open(os.path.join(HERE, "rope.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(row) for row in table) + "\n]\n")


def defaults_table():
    """Configs with sizes only, and what transformers completes them to."""
    sizes = dict(vocab_size=64, hidden_size=64, intermediate_size=20, num_hidden_layers=5,
                 num_attention_heads=32)
    gpt2 = dict(vocab_size=64, n_embd=24, n_layer=2, n_head=3)
    moe = dict(EXPERTS)
    rows = []
    for architecture, config in [
            ("LlamaForCausalLM", sizes), ("MistralForCausalLM", sizes),
            ("MistralForCausalLM", {**sizes, "sliding_window": None}),
            ("SmolLM3ForCausalLM", {**sizes, "num_key_value_heads": None}),
            ("Qwen2ForCausalLM", sizes), ("Qwen2ForCausalLM", {**sizes, "use_sliding_window": True,
                                                               "max_window_layers": 3}),
            ("Qwen3ForCausalLM", sizes), ("Qwen3MoeForCausalLM", {**sizes, **moe}),
            ("MixtralForCausalLM", sizes), ("SmolLM3ForCausalLM", sizes),
            ("SmolLM3ForCausalLM", {**sizes, "use_sliding_window": True, "sliding_window": 7}),
            ("Gemma2ForCausalLM", sizes),
            ("Gemma2ForCausalLM", {**sizes, "final_logit_softcapping": None}),
            ("GPT2LMHeadModel", gpt2), ("Qwen3NextForCausalLM", {**sizes, **moe}),
            ("LlamaForCausalLM", {**sizes, "rope_scaling": {"type": "linear", "factor": 2.0},
                                  "rope_theta": 500.0}),
            ("LlamaForCausalLM", {**sizes, "rope_theta": 500.0,
                                  "rope_scaling": {"rope_type": "linear", "factor": 2.0},
                                  "rope_parameters": {"rope_type": "default", "rope_theta": 9.0}})]:
        cls = getattr(tf, architecture).config_class
        full = cls(**copy.deepcopy(config)).to_dict()
        rows.append({"brief": {"architectures": [architecture], **config},
                     "full": {**full, "architectures": [architecture]}})
    with open(os.path.join(HERE, "config_defaults.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    rope_table()
    defaults_table()
    for entry in models():
        golden(*entry)
        print(entry[0])
