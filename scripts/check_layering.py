#!/usr/bin/env python3
"""Checks that each folder includes only what the dependency order allows (CONTRIBUTING.md).

python3 scripts/check_layering.py [ROOT] prints one line per violation and exits 1 if there is one.
"""
import os
import re
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)  # both kinds of quotes
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
# What algorithms and envs reach files, sockets and processes with.
OUTSIDE = re.compile(r"^(filesystem|fstream|cstdio|stdio\.h|unistd\.h|dirent\.h|fcntl\.h|glob\.h"
                     r"|ftw\.h|poll\.h|netdb\.h|ifaddrs\.h|spawn\.h|dlfcn\.h|aio\.h|mqueue\.h"
                     r"|(sys|net|netinet|arpa|linux|asm)/.*|dataflow/base/files\.h)$")
# Locks belong to channels and actors; everything else is one thread's own, or travels by message.
LOCKS = re.compile(r"\bstd::((recursive_|shared_)?(timed_)?mutex|condition_variable(_any)?|call_once)\b"
                   r"|\bpthread_(mutex|rwlock|cond|spin)_\w+"
                   r"|#\s*include\s*<(mutex|shared_mutex|condition_variable|pthread\.h)>")
OUR_LOCK = re.compile(r"\b(Mutex|MutexLock|CondVar)\b|#\s*include\s*\"dataflow/base/mutex\.h\"")
LOCK_OWNERS = ("dataflow", "actors")
THE_LOCK = "dataflow/base/mutex.h"
COMMENT = re.compile(r"//.*")


def layer(path):
    """The layer a file is in: its top-level folder, or its folder of dataflow."""
    parts = path.split("/")
    if parts[0] == "dataflow":
        return "/".join(parts[:2]) if len(parts) > 2 else "dataflow"
    return parts[0] if len(parts) > 1 else "."


def layer_of_include(included):
    """The layer an include belongs to, or None for third parties."""
    theirs = layer(included)
    return theirs if theirs.split("/")[0] in ALLOWED else None


def locks(path, text):
    """Locks outside dataflow/ and actors/, and locks that Clang cannot check. Tests may have theirs."""
    if path == THE_LOCK or path.split("/")[0] == "tests" or path.endswith("_test.cc"):
        return
    owner = path.split("/")[0] in LOCK_OWNERS
    for number, line in enumerate(text.splitlines(), 1):
        line = COMMENT.sub("", line)
        found = LOCKS.search(line) or (None if owner else OUR_LOCK.search(line))
        if found and owner and "<pthread.h>" not in found[0]:  # which has threads too
            yield f"{path}:{number}: {found[0]}: {THE_LOCK} has the locks that are checked"
        elif found and not owner:
            yield f"{path}:{number}: {found[0]}: mutexes only inside dataflow/ and actors/"


def problems(path, text):
    """What is wrong with one file."""
    mine = layer(path)
    is_test = path.endswith("_test.cc")
    if mine not in ALLOWED:
        yield f"{path}: folder {mine} has no place in the dependency order"
        return
    yield from locks(path, text)
    for match in INCLUDE.finditer(text):
        included = match[2]
        line = text.count("\n", 0, match.start(2)) + 1
        for pattern, owners, why in RESTRICTED:
            if pattern.search(included) and mine not in owners and path not in owners:
                yield f"{path}:{line}: includes {included}: {why}"
        if mine in ("algorithms", "envs") and not is_test and OUTSIDE.match(included):
            yield f"{path}:{line}: includes {included}: {mine} never sees sockets or files"
        if path.endswith(".h") and included.startswith("ATen/") and \
                included != "ATen/core/Tensor.h":
            yield f"{path}:{line}: includes {included}: headers include ATen/core/Tensor.h at most"
        if ".." in included.split("/"):
            yield f"{path}:{line}: includes {included}: paths begin at the root of the tree"
        theirs = layer_of_include(included)
        if theirs is None or theirs == mine or ALLOWED[mine] is None:
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
