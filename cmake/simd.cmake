# Flags of the source files that hold one variant of a kernel each. The rest of the build stays
# portable; the variant is chosen at run time (dataflow/base/cpu.h). No contraction: every variant
# rounds where the source says so.
function(sluice_simd_sources)
  cmake_parse_arguments(SIMD "" "" "PLAIN;AVX2;AVX512;AVX512_BF16;AMX" ${ARGN})
  set(common -O3 -ffp-contract=off -fno-math-errno)
  set_source_files_properties(${SIMD_PLAIN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${common}")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${SIMD_AVX2} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_OPTIONS "${common};-mavx2;-mfma")
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # g++ 12 warns about the undefined vectors in its own AVX-512 header (GCC bug 105593).
      list(APPEND common -Wno-maybe-uninitialized -Wno-uninitialized)
    endif()
    set(avx512 "${common};-mavx2;-mfma;-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mprefer-vector-width=512")
    set_source_files_properties(${SIMD_AVX512} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_OPTIONS "${avx512}")
    set_source_files_properties(${SIMD_AVX512_BF16} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_OPTIONS "${avx512};-mavx512bf16")
    set_source_files_properties(${SIMD_AMX} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_OPTIONS "${avx512};-mamx-tile;-mamx-bf16")
  endif()
endfunction()
