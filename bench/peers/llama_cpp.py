"""llama.cpp (as PyPI llama-cpp-cffi ships it compiled, for AVX2): tokens per second of a model of
SmolLM2-135M's shape with random weights, at its best weight type of those asked for. No sampling: the
tokens fed are random, which only spares it work."""

import argparse
import ctypes
import importlib.metadata
import importlib.util
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import peer

LAYERS, WIDTH, INNER, HEADS, KV_HEADS, VOCAB = 30, 576, 1536, 9, 3, 49152

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--threads", type=int, default=2)
p.add_argument("--batch", type=int, default=1, help="sequences at once")
p.add_argument("--prompt", type=int, default=128)
p.add_argument("--new", type=int, default=128, help="0: measure the prompts instead")
p.add_argument("--types", default="bf16,f16,q8_0")
p.add_argument("--sweep", action="store_true", help=argparse.SUPPRESS)
p.add_argument("--envs", type=int, default=1, help=argparse.SUPPRESS)
p.add_argument("--seconds", type=float, default=1, help=argparse.SUPPRESS)
p.add_argument("--seed", type=int, default=1)
args = peer.parse(p)
np, gguf = peer.need("numpy", "gguf")


def native(folder):
    """The compiled module alone: the package around it wants more. It also asks for a function of a
    newer C++ run time than Debian 12's: what to call when an exception must not go on."""
    source, library = os.path.join(folder, "shim.c"), os.path.join(folder, "shim.so")
    with open(source, "w") as file:
        file.write("void __cxa_call_terminate(void* e) { (void)e; __builtin_trap(); }")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    for place in sys.path:
        for name in os.listdir(os.path.join(place, "llama")) if os.path.isdir(
                os.path.join(place, "llama")) else ():
            if name.startswith("_llama_cpp_cpu"):
                spec = importlib.util.spec_from_file_location(
                    "_llama_cpp_cpu", os.path.join(place, "llama", name))
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module.ffi, module.lib
    peer.need("llama._llama_cpp_cpu")


scratch = tempfile.TemporaryDirectory()
ffi, lib = native(scratch.name)
rng = np.random.default_rng(args.seed)
TYPES = {name: getattr(gguf.GGMLQuantizationType, name.upper()) for name in args.types.split(",")}
FILE_TYPES = {"bf16": gguf.LlamaFileType.MOSTLY_BF16, "f16": gguf.LlamaFileType.MOSTLY_F16,
              "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}


def write_model(path, kind):
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(8192)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_freq_base(1e5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(VOCAB)
    out.add_file_type(FILE_TYPES[kind])
    out.add_tokenizer_model("none")

    def matrix(name, rows, columns):
        values = (0.04 * rng.standard_normal((rows, columns), dtype=np.float32))
        out.add_tensor(name, gguf.quants.quantize(values, TYPES[kind]), raw_dtype=TYPES[kind])

    matrix("token_embd.weight", VOCAB, WIDTH)
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    kv = WIDTH // HEADS * KV_HEADS
    for i in range(LAYERS):
        for name, rows, columns in (("attn_q", WIDTH, WIDTH), ("attn_k", kv, WIDTH),
                                    ("attn_v", kv, WIDTH), ("attn_output", WIDTH, WIDTH),
                                    ("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH),
                                    ("ffn_down", WIDTH, INNER)):
            matrix(f"blk.{i}.{name}.weight", rows, columns)
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{i}.{name}.weight", np.ones(WIDTH, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


class Run:
    def __init__(self, path):
        lib.llama_backend_init()
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = lib.llama_model_load_from_file(path.encode(), params)
        if self.model == ffi.NULL:
            raise SystemExit("llama.cpp does not load the model")
        how = lib.llama_context_default_params()
        how.n_ctx = args.batch * (args.prompt + args.new + 8)
        how.n_batch = how.n_ubatch = 512
        how.n_seq_max = args.batch
        how.n_threads = how.n_threads_batch = args.threads
        how.no_perf = True
        self.context = lib.llama_init_from_model(self.model, how)
        self.room = 512
        self.batch = lib.llama_batch_init(self.room, 0, 1)

    def decode(self, rows):
        """Rows of (sequence, position, wants logits)."""
        for begin in range(0, len(rows), self.room):
            part = rows[begin:begin + self.room]
            self.batch.n_tokens = len(part)
            for i, (sequence, position, logits) in enumerate(part):
                self.batch.token[i] = random.randrange(VOCAB)
                self.batch.pos[i] = position
                self.batch.n_seq_id[i] = 1
                self.batch.seq_id[i][0] = sequence
                self.batch.logits[i] = logits
            if lib.llama_decode(self.context, self.batch) != 0:
                raise SystemExit("llama_decode failed")
        lib.llama_synchronize(self.context)

    def rate(self):
        lib.llama_kv_self_clear(self.context)
        start = time.perf_counter()
        self.decode([(s, t, t + 1 == args.prompt) for s in range(args.batch)
                     for t in range(args.prompt)])
        if args.new == 0:
            return args.batch * args.prompt / (time.perf_counter() - start)
        start = time.perf_counter()
        for t in range(args.prompt, args.prompt + args.new):
            self.decode([(s, t, True) for s in range(args.batch)])
        return args.batch * args.new / (time.perf_counter() - start)

    def close(self):
        lib.llama_batch_free(self.batch)
        lib.llama_free(self.context)
        lib.llama_model_free(self.model)


best = None
for kind in TYPES:
    path = os.path.join(scratch.name, kind + ".gguf")
    write_model(path, kind)
    run = Run(path)
    run.rate()  # warm-up
    rates = [run.rate() for _ in range(3)]
    run.close()
    os.remove(path)
    peer.say(f"{kind}: {statistics.median(rates):.1f} tokens/s")
    if best is None or statistics.median(rates) > statistics.median(best[1]):
        best = (kind, rates)

try:
    version = importlib.metadata.version("llama-cpp-cffi")
except importlib.metadata.PackageNotFoundError:
    version = "of llama-cpp-cffi"
peer.emit("llama.cpp", version, "decode" if args.new else "prefill", "tokens/s",
          {"type": best[0], "batch": args.batch, "threads": args.threads}, best[1])
