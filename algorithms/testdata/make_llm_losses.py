#!/usr/bin/env python3
"""Writes llm_losses.json: what verl's and TRL's own functions give on small random batches.

  pip download --no-deps verl==0.9.1 trl==1.16.0, unpack both wheels, then
  python make_llm_losses.py UNPACKED_VERL UNPACKED_TRL llm_losses.json

Needs torch and numpy only: the functions are taken out of their files by name, so that nothing else
of the two packages is imported. Everything is computed in double.
"""
import ast
import collections
import enum
import json
import sys
import types
import typing

import numpy
import torch
import torch.nn.functional


def take(path, names, scope):
    """Runs the named functions and methods of a file, without decorators, in `scope`."""
    for node in ast.walk(ast.parse(open(path).read())):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []
            node.returns = None
            for arg in node.args.args:
                arg.annotation = None
            exec(compile(ast.Module([node], []), path, "exec"), scope)
    return scope


class Config(dict):
    __getattr__ = dict.get

    def __init__(self, **values):
        super().__init__(global_batch_info={}, **values)


def scope(**more):
    return dict(torch=torch, np=numpy, F=torch.nn.functional, defaultdict=collections.defaultdict, Any=typing.Any,
                Optional=typing.Optional, AlgoConfig=enum.Enum, ActorConfig=Config, nn=torch.nn, **more)


def verl_functions(root):
    tools = take(f"{root}/verl/utils/torch_functional.py",
                 {"masked_sum", "masked_mean", "masked_var", "masked_whiten", "clip_by_value"}, scope())
    core = f"{root}/verl/trainer/ppo/core_algos.py"
    names = {n.name for n in ast.parse(open(core).read()).body if isinstance(n, ast.FunctionDef)}
    return take(core, names, scope(verl_F=types.SimpleNamespace(**tools)))


def batch():
    torch.manual_seed(11)
    rows, width = 6, 7
    lengths = torch.tensor([7, 3, 5, 1, 6, 4])
    mask = (torch.arange(width) < lengths[:, None]).double()
    mask[0, 2] = mask[4, 1] = 0  # tool output inside a response
    old = -2 * torch.rand(rows, width, dtype=torch.double)
    return dict(mask=mask, old=old, logprob=old + .4 * torch.randn_like(old), reference=old + .5 * torch.randn_like(old),
                advantage=torch.randn(rows, 1, dtype=torch.double) * mask, value=torch.randn_like(old),
                old_value=torch.randn_like(old), returns=torch.randn_like(old),
                group=torch.tensor([0, 0, 0, 1, 1, 1]), reward=torch.tensor([1., 0., .5, 0., 0., 2.]).double(),
                greedy=torch.tensor([.5, .5, .5, 0., 0., 0.]).double())


def graded(inputs, function):
    x = inputs.clone().requires_grad_(True)
    loss = function(x)
    loss.backward()
    return {"loss": loss.item(), "gradient": x.grad.flatten().tolist()}


def verl_cases(root, b):
    v = verl_functions(root)
    out = {}
    losses = {"clip": ("vanilla", dict(clip_ratio_c=1e9)), "dual-clip": ("vanilla", dict(clip_ratio_c=1.5)),
              "gspo": ("gspo", {}), "sapo": ("sapo", dict(tau_pos=1., tau_neg=1.05)), "gmpo": ("geo_mean", {}),
              "cispo": ("cispo", {}), "dppo": ("dppo_tv", dict(clip_ratio_c=20.)), "reinforce": ("gpg", {}),
              "dro": ("dro", dict(policy_loss=types.SimpleNamespace(dro_beta=.1)))}
    for name, (function, more) in losses.items():
        config = Config(clip_ratio=.2, clip_ratio_low=.2, clip_ratio_high=.28, **more)
        for mode in ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]:
            if function in ("sapo", "geo_mean") and mode != "seq-mean-token-mean":
                continue  # verl has one aggregation for them
            run = v[f"compute_policy_loss_{function}"]
            out[f"{name}/{mode}"] = graded(b["logprob"], lambda x: run(
                old_log_prob=b["old"], log_prob=x, advantages=b["advantage"], response_mask=b["mask"],
                loss_agg_mode=mode, config=config)[0])
    for kind in ["k1", "abs", "k2", "k3", "k1+", "k3+"]:
        out[f"kl/{kind}"] = graded(b["logprob"], lambda x: v["agg_loss"](
            v["kl_penalty"](x, b["reference"], kind), b["mask"], "token-mean"))
    out["value"] = graded(b["value"], lambda x: v["compute_value_loss"](
        x, b["returns"], b["old_value"], b["mask"], .5)[0])
    group = b["group"].numpy()
    last = b["mask"].cumsum(-1).argmax(-1)
    tokens = torch.zeros_like(b["mask"]).scatter_(1, last[:, None], b["reward"][:, None])
    kl = .1 * (b["old"] - b["reference"]) * b["mask"]

    def advantage(function, rewards=tokens, **more):
        result = v[f"compute_{function}_advantage"](rewards.clone(), response_mask=b["mask"], **more)
        return (result[0] * b["mask"]).flatten().tolist()
    config = Config(gamma=.9, norm_adv_by_std_in_grpo=True)
    out["advantage/grpo"] = advantage("grpo_outcome", index=group)
    out["advantage/drgrpo"] = advantage("grpo_outcome", index=group, norm_adv_by_std_in_grpo=False)
    out["advantage/rloo"] = advantage("rloo_outcome", index=group)
    out["advantage/opo"] = advantage("opo_outcome", index=group)
    out["advantage/gpg"] = advantage("gpg_outcome", index=group)
    out["advantage/pass@k"] = advantage("grpo_passk_outcome", index=group, config=config)
    out["advantage/reinforce++-baseline"] = advantage("reinforce_plus_plus_baseline_outcome", index=group)
    out["advantage/reinforce++"] = advantage("reinforce_plus_plus_outcome", rewards=tokens - kl, config=config)
    out["advantage/remax"] = advantage("remax_outcome", reward_baselines=b["greedy"])
    gae = v["compute_gae_advantage_return"](tokens, b["value"], b["mask"], .9, .8)[0] * b["mask"]
    out["advantage/gae"] = gae.flatten().tolist()
    return out


def trl_cases(root):
    torch.manual_seed(5)
    out = {}
    orpo = take(f"{root}/trl/experimental/orpo/orpo_trainer.py", {"odds_ratio_loss", "log1mexp"}, scope())
    chosen, rejected = -torch.rand(4).double() * 2 - .05, -torch.rand(4).double() * 3 - .05
    trainer = types.SimpleNamespace(beta=.1, accelerator=types.SimpleNamespace(device="cpu"))
    ratio = orpo["odds_ratio_loss"](trainer, chosen, rejected)[0]
    out["orpo"] = {"chosen": chosen.tolist(), "rejected": rejected.tolist(),
                   "loss": (-chosen - ratio).mean().item()}
    gkd = take(f"{root}/trl/experimental/gkd/gkd_trainer.py", {"generalized_jsd_loss"}, scope())
    student, teacher = torch.randn(3, 5).double(), torch.randn(3, 5).double()
    out["jsd"] = {"student": student.flatten().tolist(), "teacher": teacher.flatten().tolist()}
    for beta in [0, .3, 1]:
        out["jsd"][str(beta)] = graded(student, lambda x: gkd["generalized_jsd_loss"](
            x[None], teacher[None], beta=beta, temperature=.7, reduction="sum"))
    return out


def main():
    verl, trl, path = sys.argv[1:]
    torch.set_default_dtype(torch.double)
    b = batch()
    result = {"shape": list(b["mask"].shape), "batch": {k: x.flatten().tolist() for k, x in b.items()},
              "verl": verl_cases(verl, b), "trl": trl_cases(trl)}
    with open(path, "w") as f:
        f.write(json.dumps(json.loads(json.dumps(result), parse_float=lambda x: round(float(x), 10)),
                           separators=(",", ":")) + "\n")


main()
