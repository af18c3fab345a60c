#!/usr/bin/env bash
# Installs what the build needs: Debian packages by name, LibTorch's wheel into .deps/.
# Asks nothing, may be killed and repeated, and is instant when there is nothing to do.
#   scripts/setup.sh [--dev] [--cuda] [--check]
# --dev: also clang, its sanitizers and clang-tidy (presets dev, asan, tsan). --cuda: also the wheels
# the GPU library needs. --check: installs nothing; names what is missing, one a line, and exits 1.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
source "$root/scripts/versions.sh"

say() { echo "setup: $*" >&2; }

want_packages=("${packages[@]}")
want_wheels=("${wheels[@]}")
check=0
for argument in "$@"; do
  case $argument in
    --dev) want_packages+=("${dev_packages[@]}") ;;
    --cuda) want_wheels+=("${cuda_wheels[@]}") ;;
    --check) check=1 ;;
    *) say "unknown argument '$argument'; usage: scripts/setup.sh [--dev] [--cuda] [--check]"; exit 2 ;;
  esac
done

refuse_packages() {
  say "these Debian packages are missing: $*"
  say "install them, then run this again:"
  say "  apt-get update && apt-get install --no-install-recommends -y $*"
  exit 1
}

# Prints the packages that are not installed, one a line.
missing_packages() {
  local package status
  local -A installed=()
  while read -r package status; do
    if [[ $status == installed ]]; then installed[$package]=1; fi
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${want_packages[@]}" 2> /dev/null || true)
  for package in "${want_packages[@]}"; do
    if [[ -z ${installed[$package]:-} ]]; then echo "$package"; fi
  done
}

install_packages() {
  local missing=() as_root=()
  if ! command -v dpkg-query > /dev/null; then
    say "this is no Debian system; it needs the equivalents of: ${want_packages[*]}"
    exit 1
  fi
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then return; fi
  if [[ $(id -u) != 0 ]]; then
    if ! command -v sudo > /dev/null || ! sudo -n true 2> /dev/null; then
      refuse_packages "${missing[@]}"
    fi
    as_root=(sudo -n)
  fi
  say "installing Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  retry "${as_root[@]}" apt-get update -qq > "$log" 2>&1 || true
  if ! retry "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --no-install-recommends -y -qq "${missing[@]}" > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    refuse_packages "${missing[@]}"
  fi
  rm -f "$log"
}

# Runs a command up to three times: networks fail.
retry() {
  local try
  for try in 1 2 3; do
    if "$@"; then return 0; fi
    if ((try < 3)); then
      say "that failed; trying again in $((try * 5)) s"
      sleep $((try * 5))
    fi
  done
  return 1
}

# True when .deps holds exactly what is pinned, whoever unpacked it.
wheels_present() {
  local wheel name
  for wheel in "${want_wheels[@]}"; do
    name=${wheel%%==*}
    if [[ ! -d $deps/${name//-/_}-${wheel##*==}.dist-info ]]; then return 1; fi
  done
  [[ -e $deps/torch/lib/libtorch_cpu.so && ! -e $deps/torch/include/google \
    && ! -e $deps/torch/include/fmt ]]
}

install_wheels() {
  if [[ $(uname -m) != x86_64 ]]; then
    say "LibTorch's wheel is pinned for x86_64; this machine is $(uname -m)"
    exit 1
  fi
  local python=python3 candidate
  for candidate in /usr/bin/python3 python3; do
    if "$candidate" -m pip --version > /dev/null 2>&1; then python=$candidate; break; fi
  done
  # pip takes a platform literally: older ones that the pinned one includes are named too.
  local glibc platforms=(--platform manylinux2014_x86_64)
  for glibc in {28..17}; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
  # Everything happens beside .deps, and one rename ends it: a killed setup leaves no half of it.
  work=$deps.tmp-$$
  local fresh=$work/wheels
  trap 'rm -rf "$work"' EXIT
  say "downloading ${want_wheels[*]} into .deps (about 1 GB)"
  fetch() {
    rm -rf "$work"
    mkdir -p "$work/pip"
    TMPDIR=$work/pip "$python" -m pip install --quiet --no-deps --no-compile --target "$fresh" \
      --disable-pip-version-check --no-warn-script-location --root-user-action=ignore \
      --python-version "$wheel_python" --only-binary=:all: \
      "${platforms[@]}" \
      "${want_wheels[@]}" >&2
  }
  if ! retry fetch; then
    say "the wheels could not be downloaded; check the network and pip's settings (pip config list)"
    exit 1
  fi
  # These shadow Debian's protobuf and fmt; the rest of the wheel's Python side is not used.
  rm -rf "$fresh"/torch/include/{google,fmt} "$fresh"/{bin,functorch,torchgen} "$fresh"/torch/bin
  find "$fresh/torch" -name '*.py' -delete -o -name '*.pyi' -delete
  stamp > "$fresh/.stamp"
  if [[ -e $deps ]]; then mv "$deps" "$deps.old-$$"; fi
  mv "$fresh" "$deps"
  rm -rf "$deps".old-*
}

stamp() { echo "${want_wheels[*]}" | sha256sum | cut -d' ' -f1; }

deps=$(readlink -m "$root/.deps")
if ((check)); then
  missing=()
  if command -v dpkg-query > /dev/null; then mapfile -t missing < <(missing_packages); fi
  if ! wheels_present; then missing+=("LibTorch $torch_version in .deps"); fi
  if ((${#missing[@]} == 0)); then exit 0; fi
  printf '%s\n' "${missing[@]}"
  exit 1
fi

# One setup at a time; a second one waits, then finds the work done.
exec 9< "$root/scripts/versions.sh"
if command -v flock > /dev/null; then flock 9; fi

install_packages
# What a run without --cuda wants is also there after one with --cuda.
if [[ -e $deps/.stamp ]] && { [[ $(< "$deps/.stamp") == "$(stamp)" ]] || wheels_present; }; then
  exit 0
fi
rm -rf "$deps".tmp-* # left behind by a killed setup
if wheels_present; then
  stamp > "$deps/.stamp"
else
  install_wheels
  say "done"
fi
