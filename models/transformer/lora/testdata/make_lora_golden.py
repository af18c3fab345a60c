"""Writes the folders beside it: adapters as PEFT saves them, and golden.json with what they compute.

Run with a Python that has torch and peft 0.21: python make_lora_golden.py
"""

import json
import pathlib
import warnings

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

HERE = pathlib.Path(__file__).parent
WIDTH, INNER, VOCABULARY, ROWS = 6, 8, 11, 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, INNER, bias=True)
        self.o_proj = nn.Linear(INNER, WIDTH, bias=False)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up_proj = nn.Linear(WIDTH, INNER, bias=False)
        self.down_proj = nn.Linear(INNER, WIDTH, bias=False)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = Attention()
        self.mlp = Mlp()


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])


class Toy(nn.Module):
    """Two layers of four projections and a head; lora_test.cc runs the same."""

    def __init__(self):
        super().__init__()
        self.model = Inner()
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        for layer in self.model.layers:
            x = x + layer.self_attn.o_proj(torch.tanh(layer.self_attn.q_proj(x)))
            x = x + layer.mlp.down_proj(torch.tanh(layer.mlp.up_proj(x)))
        return self.lm_head(x)


CASES = {
    "plain": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "down_proj"]),
    "patterns": LoraConfig(
        r=2,
        lora_alpha=6,
        use_rslora=True,
        target_modules=r"model\.layers\.\d+\.(self_attn|mlp)\.(q_proj|up_proj)",
        rank_pattern={"0.self_attn.q_proj": 3, "up_.*": 1},
        alpha_pattern={"model.layers.1.mlp.up_proj": 5.5},
    ),
    "saved": LoraConfig(
        r=2,
        lora_alpha=2,
        lora_dropout=0.1,
        target_modules=["o_proj", "up_proj", "model.layers.0.self_attn.q_proj"],
        exclude_modules=["model.layers.1.mlp.up_proj"],
        layers_to_transform=[0],
        modules_to_save=["lm_head"],
    ),
}


def main():
    golden = {}
    for seed, (name, config) in enumerate(CASES.items()):
        torch.manual_seed(seed)
        toy = Toy()
        base = {key: value.tolist() for key, value in toy.state_dict().items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = get_peft_model(toy, config).eval()
        for key, value in model.named_parameters():
            if "lora_B" in key or "modules_to_save" in key:
                with torch.no_grad():
                    value.add_(torch.randn_like(value) * 0.5)
        folder = HERE / name
        model.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        x = torch.randn(ROWS, WIDTH)
        y = model(x)
        gradient = torch.randn_like(y)
        y.backward(gradient)
        gradients = {
            key.replace(".default.weight", ".weight").replace(".modules_to_save", ""): value.grad.tolist()
            for key, value in model.named_parameters()
            if value.grad is not None
        }
        merged = model.merge_and_unload().state_dict()
        golden[name] = {
            "base": base,
            "x": x.tolist(),
            "y": y.tolist(),
            "gradient": gradient.tolist(),
            "gradients": gradients,
            "merged": {key: value.tolist() for key, value in merged.items()},
        }
    (HERE / "golden.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
