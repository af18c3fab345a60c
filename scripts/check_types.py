"""Two headers that define different types of one name break the one-definition rule: the linker
keeps one of their members for both. python3 scripts/check_types.py [ROOT] lists such names.
"""
import collections
import os
import re
import sys

import tree

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{|^\}  // namespace ([\w:]+)", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class) (?:SLUICE_\w+(?:\([^)\n]*\))? )?(\w+)"
                  r"(?: final)?(?: ?:(?!:)[^{;]*)?\s*\{", re.M)


def types(text):
    """(namespace, name) of each type that a header defines outside of other types."""
    marks = list(NAMESPACE.finditer(text))
    for match in TYPE.finditer(text):
        inside = []
        for mark in marks:
            if mark.start() > match.start():
                break
            if mark[1]:
                inside.append(mark[1])
            elif inside:
                inside.pop()
        yield "::".join(inside), match[1]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.getcwd()
    found = collections.defaultdict(set)
    for path in tree.files(root, (".h", ".cuh")):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for name in types(file.read()):
                found[name].add(path)
    clashes = {name: paths for name, paths in found.items() if len(paths) > 1}
    for (namespace, name), paths in sorted(clashes.items()):
        print(f"{namespace}::{name} is defined in {' and in '.join(sorted(paths))}")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main())
