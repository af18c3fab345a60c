# Imported LibTorch targets from SLUICE_DEPS_DIR; used by the build and by the installed package.
set(_torch ${SLUICE_DEPS_DIR}/torch)
if(NOT EXISTS ${_torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch is missing in ${SLUICE_DEPS_DIR}: run scripts/setup.sh, or set SLUICE_DEPS_DIR")
endif()
if(EXISTS ${_torch}/include/google OR EXISTS ${_torch}/include/fmt)
  message(FATAL_ERROR "${_torch}/include shadows Debian's protobuf or fmt headers: run scripts/setup.sh")
endif()
if(NOT TARGET torch::cpu)
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
endif()
