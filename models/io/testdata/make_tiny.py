"""Makes the small files of this folder; needs torch, transformers, tokenizers, safetensors, gguf.

python3 models/io/testdata/make_tiny.py
tiny_llama/            a random Llama as transformers writes it (bf16)
tiny_llama.gguf        the same weights as llama.cpp's converter lays them out (F32; q and k permuted)
quants.gguf            two rows of every block format
quants.safetensors     what gguf's own reference makes of them
"""
import os
import shutil

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Q
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
CHAT = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=288, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    made.train_from_iterator(["the cat sat on the mat and then the hat sat on the cat"] * 4, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<|im_start|>", eos_token="<|im_end|>",
        pad_token="<|im_end|>", unk_token="<|endoftext|>", chat_template=CHAT)


def model(vocab):
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=vocab, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        rms_norm_eps=1e-5, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=2)
    made = LlamaForCausalLM(config).to(torch.bfloat16)
    made.generation_config.bos_token_id = 1
    return made


def permute(weight, heads):
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def write_gguf(path, made, tokens):
    config = made.config
    out = gguf.GGUFWriter(path, "llama")
    out.add_block_count(config.num_hidden_layers)
    out.add_context_length(config.max_position_embeddings)
    out.add_embedding_length(config.hidden_size)
    out.add_feed_forward_length(config.intermediate_size)
    out.add_head_count(config.num_attention_heads)
    out.add_head_count_kv(config.num_key_value_heads)
    out.add_rope_freq_base(10000.0)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_vocab_size(config.vocab_size)
    out.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    vocab = tokens.get_vocab()
    words = sorted(vocab, key=vocab.get)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("smollm")
    out.add_token_list(words)
    out.add_token_types([3 if w.startswith("<|") else 1 for w in words])
    import json
    merges = json.loads(tokens.backend_tokenizer.to_str())["model"]["merges"]
    out.add_token_merges([" ".join(m) if isinstance(m, list) else m for m in merges])
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_pad_token_id(2)
    out.add_add_bos_token(False)
    out.add_chat_template(CHAT)
    for name, value in made.state_dict().items():
        if name == "lm_head.weight":
            continue
        array = value.float().numpy()
        if "q_proj" in name:
            array = permute(array, config.num_attention_heads)
        if "k_proj" in name:
            array = permute(array, config.num_key_value_heads)
        stem = name.removesuffix(".weight")
        if stem.startswith("model.layers."):
            number, part = stem.removeprefix("model.layers.").split(".", 1)
            stem = f"blk.{number}.{NAMES[part]}"
        else:
            stem = NAMES[stem]
        out.add_tensor(stem + ".weight", np.ascontiguousarray(array))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def write_quants():
    random = np.random.default_rng(1)
    out = gguf.GGUFWriter(os.path.join(HERE, "quants.gguf"), "quants")
    wanted = {}
    for kind in (Q.F16, Q.BF16, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0, Q.Q4_K, Q.Q5_K, Q.Q6_K):
        values = random.standard_normal((2, 512)).astype(np.float32)
        name = kind.name
        if kind in (Q.Q4_K, Q.Q5_K, Q.Q6_K):
            block, size = gguf.GGML_QUANT_SIZES[kind]
            packed = random.integers(0, 256, (2, 512 // block, size), dtype=np.uint8)
            scale = random.uniform(0.001, 0.1, (2, 512 // block, 2)).astype(np.float16).view(np.uint8)
            if kind == Q.Q6_K:
                packed[..., -2:] = scale[..., :2]
            else:
                packed[..., :4] = scale
            packed = packed.reshape(2, -1)
        else:
            packed = gguf.quants.quantize(values, kind)
        wanted[name] = np.ascontiguousarray(gguf.quants.dequantize(packed, kind).astype(np.float32).reshape(2, 512))
        out.add_tensor(name, packed, raw_dtype=kind)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    save_file(wanted, os.path.join(HERE, "quants.safetensors"))


def main():
    tokens = tokenizer()
    made = model(len(tokens))
    folder = os.path.join(HERE, "tiny_llama")
    shutil.rmtree(folder, ignore_errors=True)
    made.save_pretrained(folder)
    tokens.save_pretrained(folder)
    write_gguf(os.path.join(HERE, "tiny_llama.gguf"), made, tokens)
    write_quants()
    again = AutoModelForCausalLM.from_pretrained(HERE, gguf_file="tiny_llama.gguf")
    for name, value in made.state_dict().items():
        assert torch.equal(again.state_dict()[name], value.float()), name


main()
