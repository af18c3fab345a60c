"""Hugging Face transformers with SDPA: tokens per second of a SmolLM2-135M in fp32.

The sequences of --lengths go in both ways that transformers offers, as one packed row (position_ids
that start again at 0: it builds the block mask itself) and as a padded batch; the better one
counts. `forward` computes all logits, `backward` the loss of the next token and all gradients.
"""

import argparse
import statistics
import time

import peer

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--threads", type=int, default=2)
p.add_argument("--lengths", default="2048")
p.add_argument("--mode", choices=("forward", "backward"), default="forward")
p.add_argument("--seed", type=int, default=1)
p.add_argument("--repeats", type=int, default=peer.REPEATS)
p.add_argument("--sweep", action="store_true", help=argparse.SUPPRESS)
p.add_argument("--envs", type=int, default=1, help=argparse.SUPPRESS)
p.add_argument("--seconds", type=float, default=1, help=argparse.SUPPRESS)
args = peer.parse(p)
torch, transformers = peer.need("torch", "transformers")
torch.set_num_threads(args.threads)
torch.manual_seed(args.seed)
lengths = [int(n) for n in args.lengths.split(",")]
config = transformers.LlamaConfig(
    vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
    num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5,
    rope_parameters=dict(rope_type="default", rope_theta=1e5), tie_word_embeddings=True,
    bos_token_id=1, eos_token_id=2, attn_implementation="sdpa")
model = transformers.LlamaForCausalLM(config).eval()
rows = [torch.randint(0, config.vocab_size, (n,)) for n in lengths]


def packed():
    ids = torch.cat(rows)[None]
    positions = torch.cat([torch.arange(n) for n in lengths])[None]
    labels = torch.cat(rows)[None].clone()
    at = 0
    for n in lengths:
        labels[0, at] = -100
        at += n
    return dict(input_ids=ids, position_ids=positions), labels


def padded():
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(r) for r in rows], batch_first=True)
    return dict(input_ids=ids, attention_mask=mask), ids.masked_fill(mask == 0, -100)


def once(inputs, labels):
    if args.mode == "forward":
        with torch.inference_mode():
            model(**inputs, use_cache=False)
    else:
        model(**inputs, labels=labels, use_cache=False).loss.backward()
        model.zero_grad(set_to_none=True)


best = None
for name, form in (("packed", packed), ("padded", padded)):
    if name == "padded" and len(lengths) == 1:
        continue
    inputs, labels = form()
    once(inputs, labels)
    rates = []
    for _ in range(args.repeats):
        start = time.perf_counter()
        once(inputs, labels)
        rates.append(sum(lengths) / (time.perf_counter() - start))
        if best is not None and len(rates) == 2 and max(rates) < 0.8 * best[1]:
            break  # clearly the slower form
    peer.say(f"{name}: {statistics.median(rates):.0f} tokens/s")
    if best is None or statistics.median(rates) > best[1]:
        best = (name, statistics.median(rates), rates)

peer.emit("transformers", transformers.__version__, args.mode, "tokens/s",
          {"form": best[0], "threads": args.threads, "lengths": lengths, "attention": "sdpa"},
          best[2])
