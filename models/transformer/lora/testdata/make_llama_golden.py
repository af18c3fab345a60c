"""Writes llama/ and qwen2/ beside it: an adapter as PEFT saves it on the tiny models of
../../testdata, and golden.json with the logits of the model's golden token ids.

Run with a Python that has torch, transformers and peft 0.21: python make_llama_golden.py
"""

import json
import pathlib
import warnings

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent.parent / "testdata"
CASES = {
    "llama": LoraConfig(
        task_type="CAUSAL_LM", r=3, lora_alpha=5, target_modules="all-linear", modules_to_save=["lm_head"]
    ),
    "qwen2": LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=["q_proj", "v_proj", "gate_proj"]),
}


def main():
    for seed, (name, config) in enumerate(CASES.items()):
        torch.manual_seed(seed)
        base = AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=torch.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = get_peft_model(base, config).eval()
        for key, value in model.named_parameters():
            if "lora_B" in key or "modules_to_save" in key:
                with torch.no_grad():
                    value.add_(torch.randn_like(value) * 0.3)
        folder = HERE / name
        model.save_pretrained(folder)
        config_path = folder / "adapter_config.json"
        written = json.loads(config_path.read_text())
        written["base_model_name_or_path"] = None  # it was a path of this machine
        config_path.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")
        (folder / "README.md").unlink(missing_ok=True)
        (folder / "adapter_model.safetensors").chmod(0o644)
        golden = load_file(MODELS / name / "golden.safetensors")
        bounds = golden["cu_seqlens"].tolist()
        rows = [model(golden["ids"][a:b][None]).logits[0] for a, b in zip(bounds, bounds[1:])]
        logits = torch.cat(rows)
        (folder / "golden.json").write_text(json.dumps({"logits": logits.tolist()}) + "\n")


if __name__ == "__main__":
    main()
