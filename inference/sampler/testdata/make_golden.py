"""Writes processors.json beside this script: what the logits processors of Hugging Face transformers leave of a row.

usage: python make_golden.py

Each case has the parameters, the ids seen and the log-probs afterwards in fp64 (null: forbidden). Logits are fp32 numbers.
"""
import json
import os

import torch
from transformers import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper,
                          TopKLogitsWarper, TopPLogitsWarper)

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY = 160
CASES = [
    {"temperature": 0.6}, {"temperature": 1.7}, {"top_k": 5}, {"top_k": 100}, {"top_p": 0.9}, {"top_p": 0.3},
    {"top_p": 0.001}, {"min_p": 0.05}, {"min_p": 0.5}, {"repetition_penalty": 1.3}, {"repetition_penalty": 0.7},
    {"temperature": 0.6, "top_k": 50, "top_p": 0.9}, {"temperature": 1.5, "top_p": 0.95, "min_p": 0.02},
    {"temperature": 0.8, "top_k": 20, "top_p": 0.8, "min_p": 0.1, "repetition_penalty": 1.2},
    {"temperature": 3.0, "top_k": 150, "top_p": 0.99},
]


def processed(logits, seen, params):
    """The order is that of transformers' generate()."""
    scores = logits.double()[None]
    ids = torch.tensor([seen])
    if "repetition_penalty" in params:
        scores = RepetitionPenaltyLogitsProcessor(params["repetition_penalty"])(ids, scores)
    if "temperature" in params:
        scores = TemperatureLogitsWarper(params["temperature"])(ids, scores)
    if "top_k" in params:
        scores = TopKLogitsWarper(params["top_k"])(ids, scores)
    if "top_p" in params:
        scores = TopPLogitsWarper(params["top_p"])(ids, scores)
    if "min_p" in params:
        scores = MinPLogitsWarper(params["min_p"])(ids, scores)
    return torch.log_softmax(scores, -1)[0]


def main():
    generator = torch.Generator().manual_seed(5)
    rows, cases = [], []
    for scale in (0.5, 3.0):
        row = torch.randn(VOCABULARY, generator=generator) * scale
        rows.append([float(x) for x in row])
        for params in CASES:
            seen = torch.randint(VOCABULARY, (12,), generator=generator).tolist()
            after = processed(row, seen, params)
            cases.append({"row": len(rows) - 1, "seen": seen, "params": params,
                          "logprobs": [None if x == -float("inf") else round(float(x), 9) for x in after]})
    with open(os.path.join(HERE, "processors.json"), "w", encoding="utf-8") as file:
        json.dump({"rows": rows, "cases": cases}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
