# Installs BUILD into an empty prefix, then configures, builds and runs this example against it.
set(_prefix ${BUILD}/package_test/prefix)
set(_build ${BUILD}/package_test/build)
file(REMOVE_RECURSE ${BUILD}/package_test)
function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${_prefix})
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${_build} -G Ninja
  -DCMAKE_PREFIX_PATH=${_prefix} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
step(${CMAKE_COMMAND} --build ${_build})
step(${_build}/user)
