#!/usr/bin/env bash
# scripts/build.sh PRESET [TARGET..]: setup, configure and build. Everything it says goes to stderr,
# and it says nothing when there is nothing to do.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
preset=${1:?usage: scripts/build.sh PRESET [TARGET..]}
shift
build=$root/build/$preset
exec >&2

setup_flags=()
if [[ $preset =~ ^(dev|asan|tsan|fuzz)$ ]]; then setup_flags+=(--dev); fi
"$root/scripts/setup.sh" "${setup_flags[@]}"

# One build at a time in a folder.
mkdir -p "$build"
exec 9> "$build/.lock"
flock 9

# At most two jobs per 4 GB free, and as many as there are processors.
free_mb=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
if [[ -r /sys/fs/cgroup/memory.max && $(< /sys/fs/cgroup/memory.max) != max ]]; then
  limit_mb=$(($(< /sys/fs/cgroup/memory.max) / 1048576))
  free_mb=$((limit_mb < free_mb ? limit_mb : free_mb))
fi
jobs=$((free_mb / 2048))
jobs=$((jobs > $(nproc) ? $(nproc) : jobs))
jobs=$((jobs < 1 ? 1 : jobs))

configured=$build/.configured
log=$build/build.log
if [[ ! -e $build/build.ninja || $root/CMakePresets.json -nt $configured \
  || $root/scripts/versions.sh -nt $configured ]]; then
  echo "build: configuring preset $preset"
  rm -f "$configured"
  if ! (cd "$root" && cmake --preset "$preset") > "$log" 2>&1 9>&-; then
    tail -n 40 "$log"
    echo "build: configuring failed; the whole output is in $log"
    exit 1
  fi
  touch "$configured"
fi

# Ninja's lines become one progress line per tenth of the work.
progress() {
  local line tenth=0
  while read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && ((BASH_REMATCH[2] > 1)) \
      && ((10 * BASH_REMATCH[1] / BASH_REMATCH[2] > tenth)); then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      echo "build: $preset ${BASH_REMATCH[1]}/${BASH_REMATCH[2]}"
    fi
  done
}
if ! NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$jobs" "$@" 9>&- 2>&1 | tee "$log" | progress; then
  grep -v '^\[[0-9]*/[0-9]*\]' "$log" | head -n 80 || true
  echo "build: failed; the whole output is in $log"
  exit 1
fi
