"""What `transformers` says about a GGUF model: python model_logits.py MODEL.gguf OUT.safetensors

Writes ids and cu_seqlens of two sequences, their logits in fp32 and in fp64 (`exact`: also the
norms, the softmax and the rotation, which transformers computes in fp32 whatever the weights are),
and a greedy continuation of the first. Run by oracle_test.cc.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM
from transformers.models.llama import modeling_llama

path, out = sys.argv[1:]
torch.set_num_threads(1)
model = AutoModelForCausalLM.from_pretrained(os.path.dirname(path), gguf_file=os.path.basename(path),
                                             dtype=torch.float32, attn_implementation="eager").eval()
vocab = model.config.vocab_size
rows = [torch.tensor([504, 3575, 282, 4649, 314]) % vocab,  # SmolLM2: "The capital of France is"
        (torch.arange(40) * 977 + 13) % vocab]
with torch.inference_mode():
    logits = torch.cat([model(row[None]).logits[0] for row in rows])
    row = rows[0]
    for _ in range(8):
        row = torch.cat([row, model(row[None]).logits[0, -1].argmax()[None]])


def norm(self, x):
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def rotation(self, x, position_ids):
    angles = position_ids[0, :, None].double() * self.inv_freq.double()[None]
    angles = torch.cat([angles, angles], -1)[None]
    return angles.cos(), angles.sin()


modeling_llama.LlamaRMSNorm.forward = norm
modeling_llama.LlamaRotaryEmbedding.forward = rotation
model.config._attn_implementation = "sdpa"  # its softmax is in the type of its input
model.double()
with torch.inference_mode():
    exact = torch.cat([model(row[None]).logits[0] for row in rows])
save_file({"ids": torch.cat(rows), "cu_seqlens": torch.tensor([0, 5, 45]), "logits": logits,
           "exact": exact.float(),
           "continuation": row[5:].clone()}, out)
