"""Writes logprobs_golden.json: log-probs, entropies and gradients of PyTorch in fp64.

Run with any Python that has torch: python make_logprobs_golden.py
"""

import json
import pathlib

import torch

ROWS, WIDTH, VOCABULARY = 6, 5, 13


def case(temperature, softcap, bias, scale):
    hidden = (torch.randn(ROWS, WIDTH, dtype=torch.float64) * scale).requires_grad_()
    weight = torch.randn(VOCABULARY, WIDTH, dtype=torch.float64, requires_grad=True)
    b = torch.randn(VOCABULARY, dtype=torch.float64, requires_grad=True) if bias else None
    targets = torch.randint(0, VOCABULARY, (ROWS,))
    targets[2] = -100
    g = torch.randn(ROWS, dtype=torch.float64)
    q = torch.randn(ROWS, dtype=torch.float64)
    logits = torch.nn.functional.linear(hidden, weight, b)
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    scaled = logits / temperature
    keep = targets != -100
    logprob = -torch.nn.functional.cross_entropy(scaled, targets, reduction="none")
    entropy = torch.distributions.Categorical(logits=scaled).entropy() * keep
    ((logprob * g).sum() + (entropy * q).sum()).backward()
    out = {
        "temperature": temperature,
        "softcap": softcap,
        "hidden": hidden.tolist(),
        "weight": weight.tolist(),
        "bias": b.tolist() if bias else [],
        "targets": targets.tolist(),
        "g": g.tolist(),
        "q": q.tolist(),
        "logprob": logprob.tolist(),
        "entropy": entropy.tolist(),
        "d_hidden": hidden.grad.tolist(),
        "d_weight": weight.grad.tolist(),
        "d_bias": b.grad.tolist() if bias else [],
    }
    return out


torch.manual_seed(20)
cases = [case(1.0, 0.0, False, 1.0), case(0.3, 0.0, True, 3.0), case(2.0, 5.0, True, 4.0)]
path = pathlib.Path(__file__).with_name("logprobs_golden.json")
path.write_text(json.dumps(cases) + "\n")
