# LibTorch from the unpacked PyPI wheel in .deps (scripts/setup.sh). find_package(Torch) of a CUDA
# wheel insists on a CUDA toolkit, so the few targets we need are imported here.
set(SLUICE_DEPS_DIR ${PROJECT_SOURCE_DIR}/.deps CACHE PATH "Where scripts/setup.sh unpacked the wheels")
include(torch_targets)

# The one precompiled header. Modules made with TORCH reuse it; nothing includes torch/torch.h.
file(WRITE ${PROJECT_BINARY_DIR}/pch/pch.cc "// owner of the precompiled header\n")
add_library(sluice_pch STATIC ${PROJECT_BINARY_DIR}/pch/pch.cc)
target_link_libraries(sluice_pch PUBLIC torch::cpu)
target_include_directories(sluice_pch PUBLIC ${PROJECT_SOURCE_DIR})
target_precompile_headers(sluice_pch PRIVATE
  <ATen/ATen.h>
  <torch/csrc/autograd/autograd.h>
  <torch/csrc/autograd/custom_function.h>)
