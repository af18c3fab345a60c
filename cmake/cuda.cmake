# WITH_CUDA=AUTO|ON|OFF decides SLUICE_CUDA. The toolkit compiles the .cu files of inference/cuda and
# trainer/cuda into one shared library, sluice_cuda, which is loaded at run time where a device is:
# nothing links it, so that the CPU build and machines without a driver never need it.
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
message(STATUS "GPU library sluice_cuda: ${SLUICE_CUDA} (WITH_CUDA=${WITH_CUDA})")
