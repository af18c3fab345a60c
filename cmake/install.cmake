# Installs the headers, the static libraries of all modules and the package files, so that
# find_package(Sluice) gives Sluice::sluice (all modules) and Sluice::<module>.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(_modules GLOBAL PROPERTY SLUICE_MODULES)
set(_installed)
foreach(_module IN LISTS _modules)
  get_target_property(_folder ${_module} SOURCE_DIR)
  file(RELATIVE_PATH _folder ${PROJECT_SOURCE_DIR} ${_folder})
  if(_folder MATCHES "^(tests|bench|apps/cli)(/|$)")
    continue()
  endif()
  string(REGEX REPLACE "^sluice_" "" _name ${_module})
  set_target_properties(${_module} PROPERTIES EXPORT_NAME ${_name})
  list(APPEND _installed ${_module})
endforeach()
add_library(sluice_all INTERFACE)
add_library(Sluice::sluice ALIAS sluice_all)
set_target_properties(sluice_all PROPERTIES EXPORT_NAME sluice)
target_link_libraries(sluice_all INTERFACE ${_installed})
target_compile_features(sluice_all INTERFACE cxx_std_20)

install(TARGETS sluice_all ${_installed} EXPORT SluiceTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET sluice)
  install(TARGETS sluice RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_target_properties(sluice PROPERTIES INSTALL_RPATH ${SLUICE_DEPS_DIR}/torch/lib)
endif()
if(SLUICE_CUDA)
  set_target_properties(sluice_inference_cuda PROPERTIES INSTALL_RPATH ${SLUICE_DEPS_DIR}/torch/lib)
  install(TARGETS sluice_cuda sluice_inference_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
foreach(_folder actors algorithms apps dataflow envs inference models trainer workers)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${_folder})
    install(DIRECTORY ${_folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice
      FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
configure_package_config_file(cmake/SluiceConfig.cmake.in ${PROJECT_BINARY_DIR}/SluiceConfig.cmake
  INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION ${_package})
install(FILES ${PROJECT_BINARY_DIR}/SluiceConfig.cmake ${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake
  cmake/FindCAF.cmake cmake/FindHttplib.cmake cmake/FindPCRE2.cmake cmake/FindGiNaC.cmake cmake/FindxxHash.cmake cmake/torch_targets.cmake DESTINATION ${_package})
