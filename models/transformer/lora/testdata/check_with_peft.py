"""Loads adapter folders with PEFT onto the toy models of golden.json's cases and prints, as JSON, what
each computes for its case's input. Arguments: FOLDER CASE, any number of pairs. peft_test.cc runs it.
"""

import json
import pathlib
import sys

import torch
from peft import PeftModel

from make_lora_golden import Toy

golden = json.loads((pathlib.Path(__file__).parent / "golden.json").read_text())
outputs = []
for folder, case in zip(sys.argv[1::2], sys.argv[2::2]):
    toy = Toy()
    toy.load_state_dict({key: torch.tensor(value) for key, value in golden[case]["base"].items()})
    model = PeftModel.from_pretrained(toy, folder).eval()
    outputs.append(model(torch.tensor(golden[case]["x"])).tolist())
print(json.dumps(outputs))
