# WITH_CUDA=AUTO|ON|OFF decides SLUICE_CUDA. The toolkit compiles the .cu files of trainer/cuda and
# inference/cuda into shared libraries, which are loaded at run time where a device is: nothing links
# them, so that the CPU build and machines without a driver never need them. sluice_cuda knows no
# LibTorch; sluice_inference_cuda links LibTorch's CUDA half (target torch::cuda).
set(SLUICE_CUDA OFF)
if(NOT WITH_CUDA STREQUAL OFF)
  find_program(SLUICE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(SLUICE_NVCC)
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER ${SLUICE_NVCC})
    endif()
    # nvcc accepts few host compilers; the distribution's g++ is one of them under every preset.
    if(NOT CMAKE_CUDA_HOST_COMPILER)
      set(CMAKE_CUDA_HOST_COMPILER g++)
    endif()
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90) # 90 also as PTX, for later devices
    endif()
    include(CheckLanguage)
    check_language(CUDA)
  endif()
  if(SLUICE_NVCC AND CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(SLUICE_CUDA ON)
  elseif(WITH_CUDA STREQUAL ON)
    message(FATAL_ERROR "WITH_CUDA=ON, but no working nvcc was found: install a CUDA toolkit or set CUDA_HOME")
  endif()
endif()
if(SLUICE_CUDA)
  # libtorch_cuda.so names libraries of wheels that only machines with a GPU have.
  add_library(torch::cuda INTERFACE IMPORTED)
  set_target_properties(torch::cuda PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}"
    INTERFACE_LINK_LIBRARIES "${_torch}/lib/libtorch_cuda.so;${_torch}/lib/libc10_cuda.so;${SLUICE_DEPS_DIR}/nvidia/cu13/lib/libcudart.so.13"
    INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined;LINKER:--no-as-needed")
endif()
message(STATUS "GPU libraries: ${SLUICE_CUDA} (WITH_CUDA=${WITH_CUDA})")
