#!/usr/bin/env python3
"""Checks of plain text: no machine paths, no registry hosts, no huge files, #pragma once.

python3 scripts/check_text.py [ROOT] prints one line per violation and exits 1 if there is one.
"""
import os
import re
import sys

import tree

MAX_LINES = 600
SOURCES = (".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".cmake")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(home/\w+|Users/\w+|root|work|workspace)/")
REGISTRY = re.compile(r"\b(pypi\.org|pythonhosted\.org|deb\.debian\.org|docker\.io|ghcr\.io"
                      r"|registry\.\w+\.\w+|artifactor[y])|--(extra-)?index-url\b")


def problems(path, text):
    """What is wrong with the text of one file."""
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield f"{path}:{number}: a path of one machine: {line.strip()}"
        if REGISTRY.search(line):
            yield f"{path}:{number}: a registry's host: leave that to the machine's settings"
    if path.endswith(SOURCES) and text.count("\n") > MAX_LINES:
        yield f"{path}: {text.count(chr(10))} lines; split it ({MAX_LINES} at most)"
    if path.endswith((".h", ".cuh")) and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield f"{path}: no #pragma once"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.getcwd()
    found = []
    for path in tree.files(root):
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        if b"\0" in data[:4096]:
            continue
        found += problems(path, data.decode("utf-8", errors="replace"))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
