#!/usr/bin/env bash
# Checks of the tree: format, layering, one type of a name, text rules, pages that match the sources, and
# that every header compiles alone.
#   scripts/check.sh [--text] [--root DIR]
# --text leaves out the headers (no build). --root checks another tree (used by the self-test).
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
source "$root/scripts/versions.sh"
tree=$root
headers=1
while (($#)); do
  case $1 in
    --text) headers=0 ;;
    --root) tree=$(cd "$2" && pwd); headers=0; shift ;;
    *) echo "check: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift
done

failed=()

# Exactly one version formats, so that two machines never disagree.
check_format() {
  local tool=clang-format-$clang_format_version
  if ! "$tool" --version | grep -q "version $clang_format_version\."; then
    echo "check: $tool is missing: run scripts/setup.sh"
    return 1
  fi
  (cd "$tree" && python3 "$root/scripts/tree.py" -0 .h .cc .cu .cuh \
    | xargs -0 -r -P 2 -n 16 "$tool" --dry-run --Werror)
}

run() {
  local name=$1
  shift
  if "$@"; then echo "check: $name ok"; else failed+=("$name"); fi
}

run format check_format
run layering python3 "$root/scripts/check_layering.py" "$tree"
run types python3 "$root/scripts/check_types.py" "$tree"
run text python3 "$root/scripts/check_text.py" "$tree"
run docs python3 "$root/scripts/check_docs.py" "$tree"
if ((headers)); then
  run headers "$root/scripts/build.sh" "${SLUICE_PRESET:-release}" check_headers
fi
if ((${#failed[@]})); then
  echo "check: failed: ${failed[*]}"
  exit 1
fi
