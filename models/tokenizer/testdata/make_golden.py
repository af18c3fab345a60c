"""Writes the small golden files beside this script, or a large comparison.

usage: python make_golden.py                 golden/NAME.json (tokenizers) and golden/cases.json
       python make_golden.py DIR MEGABYTES   DIR/NAME.json, NAME.ids, NAME.text and chunks.bin for the oracle test

ids and text are those of Hugging Face tokenizers; bytes that are not UTF-8 go through decode(errors="replace") first.
chunks.bin and NAME.text: u32 length and bytes for each chunk; NAME.ids: u32 count and u32 ids for each chunk.
"""
import json
import os
import struct
import sys

from tokenizers import Tokenizer

import tokenizer_styles as styles

HERE = os.path.dirname(os.path.abspath(__file__))
EXTRA = ["", " ", "Hello world", "a  b\n\n c", "12345", "a  5", "->", "(x):\n", " hello", "hello ", "<s>hi</s> there",
         "<|im_start|>user\nHow are you?<|im_end|>\n", "<a><ab><abc>", "x <l> y <r> z", "word wordy aword a word.",
         "Norm norm NORM", "caf\u00e9!  e\u0301!", "▁▁a ▁b", "😀" * 3, "\n" * 5, " " * 40, "\t\tx"]


def dump(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))


def golden():
    folder = os.path.join(HERE, "golden")
    os.makedirs(folder, exist_ok=True)
    made = styles.styles(420)
    chunks = [t.encode() for t in EXTRA] + [t[:40].encode() for t in styles.PROSE] + [t[:48].encode() for t in styles.CODE]
    chunks += [c[:56] for c in styles.corpus(60_000, seed=3)][:12]
    cases = {"texts": [c.hex() for c in chunks], "tokenizers": {}}
    for name, content in made.items():
        dump(os.path.join(folder, name + ".json"), content)
        t = Tokenizer.from_str(json.dumps(content))
        texts = [c.decode(errors="replace") for c in chunks]
        with_special = [t.encode(x).ids for x in texts]
        cases["tokenizers"][name] = {
            "ids": with_special,
            "decoded": [t.decode(i) for i in with_special],
            "decoded_all": [t.decode(i, skip_special_tokens=False) for i in with_special[:22]]}
        t.encode_special_tokens = True
        cases["tokenizers"][name]["plain"] = [t.encode(x, add_special_tokens=False).ids for x in texts[:22]]
    dump(os.path.join(folder, "cases.json"), cases)


def compare(folder, megabytes):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    made = styles.styles(4000)
    for name, make in [("smollm2", styles.smollm2), ("precompiled", styles.precompiled)]:
        try:
            made[name] = make()
        except ImportError as e:
            print(f"without {name}: {e}", file=sys.stderr)
    chunks = styles.corpus(int(megabytes * 1e6))
    blob = lambda b: struct.pack("<I", len(b)) + b
    with open(os.path.join(folder, "chunks.bin"), "wb") as file:
        file.writelines(blob(c) for c in chunks)
    texts = [c.decode(errors="replace") for c in chunks]
    for name, content in made.items():
        dump(os.path.join(folder, name + ".json"), content)
        t = Tokenizer.from_str(json.dumps(content))
        with open(os.path.join(folder, name + ".ids"), "wb") as ids, \
                open(os.path.join(folder, name + ".text"), "wb") as text:
            for x in texts:
                found = t.encode(x).ids
                ids.write(struct.pack(f"<{len(found) + 1}I", len(found), *found))
                text.write(blob(t.decode(found).encode()))
    print(" ".join(made))


if len(sys.argv) == 3:
    compare(sys.argv[1], float(sys.argv[2]))
else:
    golden()
