#!/usr/bin/env python3
"""Checks that the pages say what the sources say.

python3 scripts/check_docs.py [--fix] [ROOT] prints one line per fault and exits 1 if there is one.
- Code in a page is pulled from a source that is compiled: `<!-- snippet: FILE NAME -->` before a
  fenced block names the lines between `// [NAME]` and `// [/NAME]` in FILE (`#` instead of `//`
  works too); without NAME, the whole file. --fix writes the source's lines into the page.
- docs/metrics.md lists exactly the metrics that the sources register, with their types, and every
  number the workers report. Some test names each of them.
- docs/benchmarks.md names the benchmarks in bench/registry.cc, and no others.
- Links between pages lead to files that exist.
"""
import os
import re
import sys

import tree

SNIPPET = re.compile(r"^<!-- snippet: (?P<file>\S+)(?: (?P<name>\w+))? -->\n"
                     r"(?P<open>```\w*\n)(?P<code>.*?)(?P<close>^```$)", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"\s*(//|#) \[/?\w+\]$")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(?:#[^)]*)?\)")
REGISTERED = re.compile(r'\b(?:double_)?(counter|gauge|histogram)\(\s*"(sluice_\w+)"')
REPORTED = re.compile(r'\breport\(\s*"(\w+)"')
COMMENT = re.compile(r"//.*")
DOCUMENTED = re.compile(r"^\| `(sluice_\w+)` \| (\w+) \|", re.MULTILINE)
METRICS_PAGE = "docs/metrics.md"
BENCH_PAGE = "docs/benchmarks.md"
BENCH_TABLE = "bench/registry.cc"


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def marked(text, name):
    """The lines between the markers of that name, without markers and common indent; or None."""
    lines = text.splitlines()
    if name:
        marks = [i for i, line in enumerate(lines)
                 if re.fullmatch(rf"\s*(//|#) \[/?{name}\]", line)]
        if len(marks) != 2 or "[/" not in lines[marks[1]]:
            return None
        lines = lines[marks[0] + 1:marks[1]]
    lines = [line for line in lines if not MARKER.fullmatch(line)]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "".join(line[indent:] + "\n" for line in lines)


def check_snippets(root, page, text, found):
    """The page as it should be; faults are added to `found`."""
    def pulled(match):
        path, name = match["file"], match["name"]
        what = f"{page}: snippet {path} {name or ''}".rstrip()
        if not os.path.isfile(os.path.join(root, path)):
            found.append(f"{what}: there is no such file")
            return match[0]
        code = marked(read(root, path), name)
        if code is None:
            found.append(f"{what}: the file has no such pair of markers")
            return match[0]
        if code != match["code"]:
            found.append(f"{what}: differs from the source; run scripts/check_docs.py --fix")
        head = match[0][:match.start("code") - match.start()]
        return head + code + match["close"]

    fixed = SNIPPET.sub(pulled, text)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("<!-- snippet") and f"{line}\n```" not in text:
            found.append(f"{page}:{number}: no fenced block follows this line")
    return fixed


def check_links(root, page, text, found):
    folder = os.path.dirname(page)
    for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if not os.path.exists(os.path.join(root, folder, target)):
            found.append(f"{page}: the link to {target} leads nowhere")


def tested(name, tests):
    """Whether a test names a metric: whole, or as of_stream("depth"), a helper of the contract."""
    kind, rest = name.split("_", 2)[1:] if name.count("_") > 1 else (name, "")
    return f'"{name}"' in tests or f'of_{kind}("{rest}")' in tests


def check_metrics(root, sources, found):
    registered, reported, tests = {}, set(), ""
    for path in sources:
        if path.endswith(("_test.cc", "_contract.h")) or path.startswith("tests/"):
            tests += read(root, path)
            continue
        text = read(root, path)
        registered.update({name: (kind, path) for kind, name in REGISTERED.findall(text)})
        reported.update((name, path) for name in REPORTED.findall(COMMENT.sub("", text)))
    exists = os.path.isfile(os.path.join(root, METRICS_PAGE))
    page = read(root, METRICS_PAGE) if exists else ""
    documented = dict(DOCUMENTED.findall(page))
    for name, (kind, path) in sorted(registered.items()):
        if not tested(name, tests):
            found.append(f"{path}: no test looks at {name}")
        if name not in documented:
            found.append(f"{METRICS_PAGE}: {name} ({kind}, {path}) is missing")
        elif documented[name] != kind:
            found.append(f"{METRICS_PAGE}: {name} is a {kind}, not a {documented[name]}")
    for name in sorted(documented.keys() - registered.keys()):
        found.append(f"{METRICS_PAGE}: no source registers {name}")
    for name, path in sorted(reported):
        if f'"{name}"' not in tests:
            found.append(f"{path}: no test looks at the reported number {name}")
        if f"`{name}`" not in page:
            found.append(f"{METRICS_PAGE}: the reported number {name} ({path}) is missing")


def check_benches(root, found):
    if not os.path.isfile(os.path.join(root, BENCH_TABLE)):
        return
    page = read(root, BENCH_PAGE) if os.path.isfile(os.path.join(root, BENCH_PAGE)) else ""
    there = set(re.findall(r'\{"([\w-]+)",\s*"[^"]*",\s*run_\w+\}', read(root, BENCH_TABLE)))
    named = set(re.findall(r"^\| `sluice bench ([\w-]+)", page, re.MULTILINE))
    for name in sorted(there - named):
        found.append(f"{BENCH_PAGE}: benchmark {name} is missing")
    for name in sorted(named - there):
        found.append(f"{BENCH_PAGE}: there is no benchmark {name}")


def main():
    arguments = sys.argv[1:]
    fix = "--fix" in arguments
    roots = [a for a in arguments if a != "--fix"]
    root = roots[0] if roots else os.getcwd()
    found = []
    for page in tree.files(root, [".md"]):
        text = read(root, page)
        fixed = check_snippets(root, page, text, found)
        if fix and fixed != text:
            with open(os.path.join(root, page), "w", encoding="utf-8") as file:
                file.write(fixed)
            print(f"{page}: updated")
        check_links(root, page, text, found)
    check_benches(root, found)
    check_metrics(root, tree.files(root, [".cc", ".h"]), found)
    if fix:
        found = [fault for fault in found if "differs from the source" not in fault]
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
