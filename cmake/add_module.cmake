# add_module(NAME SOURCES a.cc .. [TESTS a_test.cc ..] [INTEGRATION_TESTS ..] [LEARNING_TESTS ..]
#            [MULTIPROC_TESTS ..] [GPU_TESTS ..] [DEPS targets ..] [TEST_DEPS targets ..] [TORCH]
#            [ALONE x.cc ..])
# Makes the library sluice_NAME and, from its tests, one binary per label with one CTest entry per
# test. TORCH: the sources use ATen and share the precompiled header. ALONE: files whose local names
# are also a neighbour's, so that a unity build (presets release and ci) compiles them by themselves.
include(GoogleTest)

function(sluice_use_torch target)
  # A precompiled header serves one code model only, so programs are compiled as the libraries are.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM sluice_pch)
  target_link_libraries(${target} PUBLIC torch::cpu)
endfunction()

function(sluice_add_tests module label timeout)
  if(NOT ARGN)
    return()
  endif()
  set(target sluice_${module}_${label}_test)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE sluice_${module} ${MODULE_TEST_DEPS} GTest::gmock GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               SLUICE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(MODULE_TORCH)
    sluice_use_torch(${target})
  endif()
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${label} TIMEOUT ${timeout})
endfunction()

function(add_module name)
  cmake_parse_arguments(MODULE "TORCH" ""
    "SOURCES;TESTS;INTEGRATION_TESTS;MULTIPROC_TESTS;LEARNING_TESTS;GPU_TESTS;DEPS;TEST_DEPS;ALONE"
    ${ARGN})
  set_source_files_properties(${MODULE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(sluice_${name} STATIC ${MODULE_SOURCES})
  add_library(Sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/sluice>)
  target_link_libraries(sluice_${name} PUBLIC ${MODULE_DEPS})
  if(MODULE_TORCH)
    sluice_use_torch(sluice_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY SLUICE_MODULES sluice_${name})
  sluice_add_tests(${name} unit 60 ${MODULE_TESTS})
  sluice_add_tests(${name} integration 120 ${MODULE_INTEGRATION_TESTS})
  sluice_add_tests(${name} multiproc 120 ${MODULE_MULTIPROC_TESTS})
  sluice_add_tests(${name} learning 300 ${MODULE_LEARNING_TESTS})
  sluice_add_tests(${name} gpu 120 ${MODULE_GPU_TESTS})
endfunction()
