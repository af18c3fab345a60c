#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy; any finding is an error.
#   scripts/tidy.sh [--all | FILE..]
# Without arguments: the sources changed against main. A header is checked through its source or,
# when it has none, its test. Configures preset dev, but builds nothing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/versions.sh"
here=$PWD
cd "$root"

case ${1:-} in
  --all) mapfile -t files < <(python3 scripts/tree.py .cc) ;;
  '')
    base=$(git merge-base HEAD main 2> /dev/null || git merge-base HEAD origin/main)
    mapfile -t files < <(git diff --name-only --diff-filter=d "$base"
      git ls-files --others --exclude-standard)
    ;;
  *) mapfile -t files < <(cd "$here" && realpath --relative-to="$root" "$@") ;;
esac

declare -A wanted=()
for file in "${files[@]}"; do
  case $file in
    *.cc) wanted[$file]=1 ;;
    *.h)
      for source in "${file%.h}.cc" "${file%.h}_test.cc"; do
        if [[ -e $source ]]; then wanted[$source]=1; break; fi
      done
      ;;
  esac
done

"$root/scripts/setup.sh" --dev
cmake --preset dev > /dev/null
# Only what the build compiles, and without the precompiled header: clang-tidy would walk through
# all of ATen for every file.
mkdir -p build/tidy
mapfile -t sources < <(python3 - "${!wanted[@]}" << 'EOF'
import json
import os
import re
import sys

with open("build/dev/compile_commands.json") as source:
    commands = json.load(source)
for entry in commands:
    entry["command"] = re.sub(
        r" (-Winvalid-pch|-Xclang -fno-pch-timestamp|-Xclang -include(-pch)? -Xclang \S+)", "",
        entry["command"])
with open("build/tidy/compile_commands.json", "w") as target:
    json.dump(commands, target)
built = {os.path.relpath(entry["file"]) for entry in commands}
for name in sorted(built.intersection(sys.argv[1:])):
    print(name)
EOF
)
if ((${#sources[@]} == 0)); then
  echo "tidy: no sources to check" >&2
  exit 0
fi
printf '%s\0' "${sources[@]}" \
  | xargs -0 -n 1 -P "$(nproc)" "clang-tidy-$clang_version" --quiet -p build/tidy
echo "tidy: ${#sources[@]} sources ok" >&2
