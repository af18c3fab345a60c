# LibTorch from the unpacked PyPI wheel in .deps (scripts/setup.sh). find_package(Torch) of a CUDA
# wheel insists on a CUDA toolkit, so the few targets we need are imported here.
set(SLUICE_DEPS_DIR ${PROJECT_SOURCE_DIR}/.deps CACHE PATH "Where scripts/setup.sh unpacked the wheels")
set(_torch ${SLUICE_DEPS_DIR}/torch)
if(NOT EXISTS ${_torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch is missing in ${SLUICE_DEPS_DIR}: run scripts/setup.sh")
endif()
if(EXISTS ${_torch}/include/google OR EXISTS ${_torch}/include/fmt)
  message(FATAL_ERROR "${_torch}/include shadows Debian's protobuf or fmt headers: run scripts/setup.sh")
endif()

add_library(torch::c10 SHARED IMPORTED)
set_target_properties(torch::c10 PROPERTIES
  IMPORTED_LOCATION ${_torch}/lib/libc10.so
  INTERFACE_INCLUDE_DIRECTORIES "${_torch}/include;${_torch}/include/torch/csrc/api/include")
add_library(torch::cpu SHARED IMPORTED)
set_target_properties(torch::cpu PROPERTIES
  IMPORTED_LOCATION ${_torch}/lib/libtorch_cpu.so
  IMPORTED_LINK_DEPENDENT_LIBRARIES torch::c10
  INTERFACE_LINK_LIBRARIES torch::c10
  INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO")

# The one precompiled header. Modules made with TORCH reuse it; nothing includes torch/torch.h.
file(WRITE ${PROJECT_BINARY_DIR}/pch/pch.cc "// owner of the precompiled header\n")
add_library(sluice_pch STATIC ${PROJECT_BINARY_DIR}/pch/pch.cc)
target_link_libraries(sluice_pch PUBLIC torch::cpu)
target_include_directories(sluice_pch PUBLIC ${PROJECT_SOURCE_DIR})
target_precompile_headers(sluice_pch PRIVATE
  <ATen/ATen.h>
  <torch/csrc/autograd/autograd.h>
  <torch/csrc/autograd/custom_function.h>)
