# cmake -DCOMPILER=.. -DROOT=.. -P check.cmake: wrong wiring must not compile and must name both types.
function(expect macro regex)
  execute_process(
    COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${ROOT} -D${macro} ${ROOT}/dataflow/graph/compile_fail/wiring.cc
    RESULT_VARIABLE code ERROR_VARIABLE text)
  if(regex STREQUAL "")
    if(NOT code EQUAL 0)
      message(FATAL_ERROR "the right program does not compile:\n${text}")
    endif()
  elseif(code EQUAL 0 OR NOT text MATCHES "${regex}")
    message(FATAL_ERROR "${macro}: expected an error that matches '${regex}', got:\n${text}")
  endif()
endfunction()
expect(RIGHT "")
expect(WRONG_VERB "ChannelDoesNotFit<.*Given<.*Latest<.*Params.*Expected<.*Many<.*Stream<.*Traj")
expect(WRONG_PAYLOAD "ChannelDoesNotFit<.*Given<.*Stream<.*Obs.*Expected<.*Many<.*Stream<.*Traj")
