#!/usr/bin/env python3
"""Checks that each folder includes only what the dependency order allows (CONTRIBUTING.md).

python3 scripts/check_layering.py [ROOT] prints one line per violation and exits 1 if there is one.
"""
import os
import re
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
FLOW = ("base", "types", "policy", "channel", "transport", "graph", "placement")


def dataflow(*names):
    return {"dataflow/" + name for name in names}


EVERY_DATAFLOW = dataflow(*FLOW, "wire", "weights", "sim") | {"dataflow"}
# Layer -> layers it may include besides itself. None: everything.
ALLOWED = {
    "dataflow/base": set(),
    "dataflow/types": dataflow("base"),
    "dataflow/wire": dataflow("base", "types"),
    "dataflow/policy": dataflow("base", "types"),
    "dataflow/channel": dataflow("base", "types", "policy"),
    "dataflow/transport": dataflow("base", "types", "policy", "channel", "wire"),
    "dataflow/weights": dataflow("base", "types", "policy", "channel", "transport", "wire"),
    "dataflow/graph": dataflow("base", "types", "policy", "channel", "transport", "wire",
                               "weights"),
    "dataflow/placement": EVERY_DATAFLOW | {"actors"},
    "dataflow/sim": EVERY_DATAFLOW,
    "dataflow": EVERY_DATAFLOW,
    "actors": dataflow("base", "wire"),
    "algorithms": dataflow("base"),
    "envs": dataflow("base"),
    "models": dataflow("base"),
    "inference": EVERY_DATAFLOW | {"models", "algorithms"},
    "trainer": EVERY_DATAFLOW | {"models", "algorithms"},
    "workers": EVERY_DATAFLOW | {"actors", "algorithms", "envs", "models", "inference", "trainer"},
    "apps": None,
    "bench": None,
    "examples": None,
    "tests": None,
}
# Include pattern, who may have it (layers, or one file), in words.
RESTRICTED = (
    (re.compile(r"^caf/"), ("actors", "tests/support/deterministic_actors.h"),
     "only actors/ includes CAF"),
    (re.compile(r"^zmq"), ("dataflow/transport",), "only dataflow/transport includes ZeroMQ"),
    (re.compile(r"^google/protobuf/|\.pb\.h$"), ("dataflow/wire", "actors"),
     "Protobuf stays in dataflow/wire and actors"),
    (re.compile(r"^torch/torch\.h$"), (), "torch/torch.h costs half a minute per file"),
    (re.compile(r"^spdlog/"), ("dataflow/base/log.cc",), "only dataflow/base/log.cc includes spdlog"),
)
OUTSIDE = re.compile(r"^(filesystem|fstream|netdb\.h|fcntl\.h|sys/(socket|un|stat|mman)\.h"
                     r"|netinet/.*|arpa/.*|dataflow/base/files\.h)$")


def layer(path):
    """The layer a file or an include belongs to, or None for third parties."""
    parts = path.split("/")
    if parts[0] == "dataflow":
        return "/".join(parts[:2]) if len(parts) > 2 else "dataflow"
    return parts[0] if parts[0] in ALLOWED and len(parts) > 1 else None


def problems(path, text):
    """What is wrong with the includes of one file."""
    mine = layer(path)
    if mine is None:
        return
    is_test = path.endswith("_test.cc")
    if mine not in ALLOWED:
        yield f"{path}: folder {mine} has no place in the dependency order"
        return
    for match in INCLUDE.finditer(text):
        quote, included = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        for pattern, owners, why in RESTRICTED:
            if pattern.search(included) and mine not in owners and path not in owners:
                yield f"{path}:{line}: includes {included}: {why}"
        if mine in ("algorithms", "envs") and not is_test and OUTSIDE.match(included):
            yield f"{path}:{line}: includes {included}: {mine} never sees sockets or files"
        if path.endswith(".h") and included.startswith("ATen/") and \
                included != "ATen/core/Tensor.h":
            yield f"{path}:{line}: includes {included}: headers include ATen/core/Tensor.h at most"
        theirs = layer(included)
        if quote != '"' or theirs is None or theirs == mine or ALLOWED[mine] is None:
            continue
        if is_test and included.startswith("tests/support/"):
            continue
        if theirs not in ALLOWED[mine]:
            yield f"{path}:{line}: {mine} may not include {included}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.getcwd()
    found = []
    for path in tree.files(root, (".h", ".cc", ".cu", ".cuh")):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            found += problems(path, file.read())
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
