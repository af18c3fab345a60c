"""Checks with the reference that a folder written from a GGUF file is right; prints "ok".

python3 check_folder.py FOLDER FILE.gguf; needs torch, transformers, gguf. The folder must hold the
file's weights in float32.
"""
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = ["The capital of France is", "a  5", "x = [1, 22, 333]\n\n  y\t", "naïve café – 東京 🙂", ""]


def main(folder, file):
    ours = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    directory, name = os.path.split(os.path.abspath(file))
    theirs = AutoModelForCausalLM.from_pretrained(directory, gguf_file=name, dtype=torch.float32)
    wanted = theirs.state_dict()
    found = ours.state_dict()
    assert set(wanted) == set(found), set(wanted) ^ set(found)
    for key, value in wanted.items():
        assert torch.equal(value, found[key]), key
    # The reference keeps the float's digits: 9.99999974e-06.
    assert abs(ours.config.rms_norm_eps / theirs.config.rms_norm_eps - 1) < 1e-6
    for key in ("rope_parameters", "head_dim", "num_key_value_heads",
                "tie_word_embeddings", "bos_token_id", "eos_token_id", "pad_token_id"):
        assert getattr(ours.config, key) == getattr(theirs.config, key), key
    ids = torch.tensor([[1, 5, 7, 9, 11]])
    with torch.no_grad():
        assert torch.equal(ours(ids).logits, theirs(ids).logits)
    mine = AutoTokenizer.from_pretrained(folder)
    other = AutoTokenizer.from_pretrained(directory, gguf_file=name)
    for text in TEXTS:
        encoded = mine.encode(text, add_special_tokens=False)
        # The reference drops the stage that splits digits: its ids count where there are none.
        if not any(c.isdigit() for c in text):
            assert encoded == other.encode(text, add_special_tokens=False), text
        assert mine.decode(encoded, skip_special_tokens=True) == text, text
    if len(mine) > 40000:
        assert mine.encode("a  5", add_special_tokens=False) == [81, 256, 37]
    assert mine.eos_token == other.eos_token and mine.bos_token == other.bos_token
    talk = [{"role": "user", "content": "Hi"}]
    assert mine.apply_chat_template(talk, tokenize=False) == other.apply_chat_template(
        talk, tokenize=False)
    print("ok")


main(sys.argv[1], sys.argv[2])
