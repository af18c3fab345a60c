#!/usr/bin/env bash
# Everything that needs a GPU, on a machine that has one: fetches the wheels of LibTorch's CUDA half,
# builds the GPU libraries and their tests (preset cuda), runs the tests labelled gpu. Arguments go to
# ctest: scripts/gpu_check.sh -R CudaKernels. Ends with 1 when a test failed or none could run.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"

if ! command -v nvidia-smi > /dev/null || ! nvidia-smi -L; then
  echo "gpu_check: no GPU here: nothing would be checked" >&2
  exit 1
fi
scripts/setup.sh --cuda
scripts/build.sh cuda sluice_cuda sluice_cuda_device_gpu_test \
  sluice_inference_cuda sluice_inference_device_gpu_test
log=build/cuda/gpu_check.log
status=0
ctest --preset cuda -L gpu -j 1 "$@" 2>&1 | tee "$log" || status=$?
if grep -q 'Skipped' "$log"; then
  echo "gpu_check: some tests skipped themselves; one says why:" >&2
  build/cuda/bin/sluice_inference_device_gpu_test --gtest_filter='CudaKernels.Store*' >&2 || true
  status=1
fi
exit "$status"
