# add_fuzz_target(NAME SOURCE f.cc CORPUS dir [DEPS targets ..] [RUNS n] [TORCH])
# SOURCE defines LLVMFuzzerTestOneInput. Under clang the program is libFuzzer's: run it with a folder
# to fuzz for real. Under other compilers a small driver replays the corpus and then RUNS mutations of
# it. Preset fuzz builds the target `fuzz` (all of them) so that libFuzzer is guided by the code under
# test, with AddressSanitizer and UndefinedBehaviorSanitizer.
# Either way a CTest entry (label unit) replays the corpus and does RUNS inputs from a fixed seed.
include(CheckCXXSourceCompiles)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles(
    "#include <cstddef>\n#include <cstdint>\nextern \"C\" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }"
    SLUICE_LIBFUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

add_custom_target(fuzz)

function(add_fuzz_target name)
  cmake_parse_arguments(FUZZ "TORCH" "SOURCE;CORPUS;RUNS" "DEPS" ${ARGN})
  if(NOT FUZZ_RUNS)
    set(FUZZ_RUNS 2000)
  endif()
  set(target sluice_${name}_fuzz)
  get_filename_component(corpus ${FUZZ_CORPUS} ABSOLUTE)
  if(SLUICE_LIBFUZZER)
    add_executable(${target} ${FUZZ_SOURCE})
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    # New inputs go to a folder of the build; the corpus in the tree is only read.
    set(new_inputs ${PROJECT_BINARY_DIR}/fuzz/${name})
    file(MAKE_DIRECTORY ${new_inputs})
    set(arguments -runs=${FUZZ_RUNS} -seed=1 -max_len=65536 -timeout=10 -rss_limit_mb=1024
      -artifact_prefix=${new_inputs}/ ${new_inputs} ${corpus})
  else()
    add_executable(${target} ${FUZZ_SOURCE} ${PROJECT_SOURCE_DIR}/tests/support/fuzz_driver.cc)
    set(arguments ${FUZZ_RUNS} ${corpus})
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${FUZZ_DEPS})
  if(FUZZ_TORCH)
    target_link_libraries(${target} PRIVATE torch::cpu)
  endif()
  add_dependencies(fuzz ${target})
  add_test(NAME Fuzz.${name} COMMAND ${target} ${arguments})
  set_tests_properties(Fuzz.${name} PROPERTIES LABELS unit TIMEOUT 60)
endfunction()
