# The one file of pinned versions; sourced by the other scripts.
torch_version=2.11.0
cuda_runtime_version=13.0.96
cuda_cupti_version=13.0.85
clang_format_version=14
clang_version=19

# The wheels are the same on every machine, whatever Python runs pip: only their .so files and
# headers are used.
wheel_python=3.11
wheels=(
  "torch==$torch_version"
  "nvidia-cuda-runtime==$cuda_runtime_version"
  "nvidia-cuda-cupti==$cuda_cupti_version"
)
# What libtorch_cuda.so needs besides, at run time, where a GPU is (setup.sh --cuda).
cuda_wheels=(
  nvidia-cublas==13.1.0.3
  nvidia-cuda-nvrtc==13.0.88
  nvidia-cudnn-cu13==9.19.0.56
  nvidia-cufft==12.0.0.61
  nvidia-cufile==1.15.1.6
  nvidia-curand==10.4.0.35
  nvidia-cusolver==12.0.4.66
  nvidia-cusparse==12.6.3.3
  nvidia-cusparselt-cu13==0.8.0
  nvidia-nccl-cu13==2.28.9
  nvidia-nvjitlink==13.0.88
  nvidia-nvshmem-cu13==3.4.5
  nvidia-nvtx==13.0.85
)

# Debian 12 packages.
packages=(
  build-essential g++ cmake ninja-build ccache git ca-certificates python3 python3-pip
  libcaf-dev libgtest-dev libgmock-dev libbenchmark-dev prometheus-cpp-dev nlohmann-json3-dev
  libtoml11-dev libcli11-dev libspdlog-dev libfmt-dev libprotobuf-dev protobuf-compiler
  bubblewrap libgloo-dev libginac-dev libxxhash-dev zlib1g-dev libpcre2-dev libicu-dev libcpp-httplib-dev libssl-dev "clang-format-$clang_format_version"
)
# llvm: its symbolizer gives the sanitizers the names that their suppressions go by.
dev_packages=("clang-$clang_version" "libclang-rt-$clang_version-dev" "clang-tidy-$clang_version"
  "llvm-$clang_version")
