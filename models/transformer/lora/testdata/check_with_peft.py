"""Loads the adapter folder argv[1] with PEFT onto the toy model of golden.json's case argv[2] and
prints, as JSON, what it computes for the case's input. peft_test.cc runs it.
"""

import json
import pathlib
import sys

import torch
from peft import PeftModel

from make_lora_golden import Toy

golden = json.loads((pathlib.Path(__file__).parent / "golden.json").read_text())[sys.argv[2]]
toy = Toy()
toy.load_state_dict({key: torch.tensor(value) for key, value in golden["base"].items()})
model = PeftModel.from_pretrained(toy, sys.argv[1]).eval()
print(json.dumps(model(torch.tensor(golden["x"])).tolist()))
