"""Hugging Face tokenizers: MB/s of encoding or decoding, one thread, one call for each chunk."""

import argparse
import os
import struct
import time

import peer

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--tokenizer", required=True, help="tokenizer.json")
p.add_argument("--chunks", required=True, help="file of u32 lengths, each followed by UTF-8 text")
p.add_argument("--what", choices=("encode", "decode"), default="encode")
args = p.parse_args()
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
tokenizers, = peer.need("tokenizers")


def read_chunks(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        yield data[at + 4:at + 4 + size].decode()
        at += 4 + size


tokenizer = tokenizers.Tokenizer.from_file(args.tokenizer)
texts = list(read_chunks(args.chunks))
size = sum(len(t.encode()) for t in texts)
ids = [tokenizer.encode(t).ids for t in texts]  # also the warm-up
rates = []
for _ in range(peer.REPEATS):
    begin = time.perf_counter()
    if args.what == "encode":
        for text in texts:
            tokenizer.encode(text)
    else:
        for chunk in ids:
            tokenizer.decode(chunk, skip_special_tokens=False)
    rates.append(size / 1e6 / (time.perf_counter() - begin))
peer.emit("tokenizers", tokenizers.__version__, args.what + "_rate", "MB/s",
          {"threads": 1, "chunks": len(texts)}, rates)
