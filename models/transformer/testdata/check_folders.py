"""Checks with `transformers` the folders that folder_oracle_test.cc writes: check_folders.py ROOT

ROOT/NAME is a model, and ROOT/NAME/said.safetensors what our forward says: ids, cu_seqlens, logits.
Prints the largest difference of each; ends with code 1 when one is above 1e-4 or when a weight is
missing or left over.
"""

import json
import os
import sys

import torch
import transformers
from safetensors.torch import load_file

root = sys.argv[1]
torch.set_num_threads(1)
failed = not os.listdir(root)
for name in sorted(os.listdir(root)):
    folder = os.path.join(root, name)
    said = load_file(os.path.join(folder, "said.safetensors"))
    with open(os.path.join(folder, "config.json")) as f:
        cls = getattr(transformers, json.load(f)["architectures"][0])
    model, info = cls.from_pretrained(folder, dtype=torch.float32, output_loading_info=True,
                                      attn_implementation="eager")
    model.eval()
    left = {key: sorted(info[key]) for key in ("missing_keys", "unexpected_keys",
                                               "mismatched_keys") if info[key]}
    bounds = said["cu_seqlens"].tolist()
    with torch.inference_mode():
        rows = [model(said["ids"][a:b][None]).logits[0] for a, b in zip(bounds, bounds[1:])]
    logits = torch.stack(rows) if "Classification" in cls.__name__ else torch.cat(rows)
    difference = (logits - said["logits"]).abs().max().item()
    print(name, difference, left, flush=True)
    failed |= bool(left) or not difference <= 1e-4
sys.exit(failed)
