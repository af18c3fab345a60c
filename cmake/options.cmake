# Flags every target is built with. The build never uses -march=native: kernels choose at run time.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1" CACHE STRING "" FORCE)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic>")
if(SLUICE_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # CMake instantiates templates inside the precompiled header; without the time stamp ccache hits.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${SLUICE_CCACHE})
endif()
# mold 1.10, which Debian 12 has, can write programs that the loader refuses (a small .tbss before the
# read-only part) and can go on for ever on others: only later ones are used.
find_program(SLUICE_MOLD mold)
if(SLUICE_MOLD)
  execute_process(COMMAND ${SLUICE_MOLD} --version OUTPUT_VARIABLE mold_version ERROR_QUIET)
  if(mold_version MATCHES "mold ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 2)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
