#!/usr/bin/env bash
# Makes the throw-away venvs of the benchmark peers: scripts/peers.sh [DIR], default .peers/ here.
#   DIR/torch           the tensor library, shared by both venvs
#   DIR/main            Stable-Baselines3, the CleanRL-style program, transformers; `--peer-python`
#   DIR/sample-factory  Sample Factory, found by its script as the neighbour of main
# Versions are pinned in bench/peers/requirements-*.txt. A second run with nothing to do is instant.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
pins=$root/bench/peers
case "${1:-}" in
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
dir=${1:-$root/.peers}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

say() { echo "peers: $*"; }
die() { echo "peers: $*" >&2; exit 1; }

command -v python3 >/dev/null || die "python3 is not on PATH"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "python3 must be 3.10 or newer"
python3 -c 'import venv, ensurepip' 2>/dev/null ||
  die "python3 cannot make venvs; on Debian: apt-get install python3-venv"

# What a part was made from; a stamp that says the same means there is nothing to do.
print_of() { { echo "$dir"; python3 -V; cat "$@"; } | sha256sum | cut -d' ' -f1; }
fresh() { [ "$(cat "$dir/$1/.made-from" 2>/dev/null)" = "$2" ]; }
stamp() { echo "$2" >"$dir/$1/.made-from"; }
install() { "$1" -m pip install --quiet --disable-pip-version-check --no-deps "${@:2}"; }

make_venv() {  # NAME: a venv that sees the shared torch after its own packages
  local mark
  mark=$(print_of "$pins/requirements-torch.txt" "$pins/requirements-$1.txt")
  if fresh "$1" "$mark"; then
    say "$1 is ready"
    return
  fi
  say "making $1"
  rm -rf "${dir:?}/$1"
  python3 -m venv "$dir/$1"
  local site
  site=$("$dir/$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  install "$dir/$1/bin/python" -r "$pins/requirements-$1.txt"
  echo "$dir/torch" >"$site/shared_torch.pth"
  stamp "$1" "$mark"
}

# Torch's own search path covers this folder, so nobody needs LD_LIBRARY_PATH.
link_toolkit() {
  local from=$1 to=$dir/torch/nvidia/cu13/lib name f
  for name in cublas cublasLt cufft curand cusolver cusparse nvJitLink nvrtc nccl cudnn cudnn_graph \
    cudnn_engines_runtime_compiled cudnn_engines_precompiled cudnn_heuristic cudnn_adv cudnn_cnn \
    cudnn_ops; do
    for f in "$from/lib$name".so.*; do
      if [ -e "$f" ]; then ln -sf "$f" "$to/"; fi
    done
  done
}

loads() { PYTHONPATH=$dir/torch "$dir/main/bin/python" -c 'import torch; torch.ones(2) @ torch.ones(2)'; }

make_torch() {
  local mark home
  mark=$(print_of "$pins/requirements-torch.txt" "$pins/requirements-cuda.txt")
  if fresh torch "$mark"; then
    say "torch is ready"
    return
  fi
  say "fetching torch (0.6 GB, unpacks to 1.6 GB)"
  rm -rf "$dir/torch"
  install "$dir/main/bin/python" --target "$dir/torch" -r "$pins/requirements-torch.txt"
  home=${CUDA_HOME:-/usr/local/cuda}
  if [ -d "$home/lib64" ]; then
    say "linking the CUDA libraries of $home"
    link_toolkit "$home/lib64"
  fi
  if ! loads 2>/dev/null; then
    say "no complete CUDA toolkit: fetching the libraries that torch's loader asks for (2 GB)"
    rm -rf "$dir/torch"
    install "$dir/main/bin/python" --target "$dir/torch" -r "$pins/requirements-torch.txt" \
      -r "$pins/requirements-cuda.txt"
    loads || die "torch does not load"
  fi
  stamp torch "$mark"
}

make_venv main
make_torch
make_venv sample-factory
say "ready; use --peer-python $dir/main/bin/python"
