# Speeds up cold builds (docs/adr/0009-cold-builds.md).
#
# Precompiled headers: one for each way to compile C++ (libraries are position independent, programs
# are not, tests also use GoogleTest). pinfold_precompile(TARGET KIND) makes a target use one,
# without additions to its include path.
option(PINFOLD_PRECOMPILE "Parse the headers of other projects once" ON)

# pinfold_precompiled_header(KIND header [LIBS libraries...])
function(pinfold_precompiled_header kind header)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_library(pinfold_precompiled_${kind} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled/anchor.cpp)
  target_link_libraries(pinfold_precompiled_${kind} PRIVATE
    pinfold_flags pinfold_fmt nlohmann_json::nlohmann_json tl::expected ${ARG_LIBS})
  target_precompile_headers(pinfold_precompiled_${kind} PRIVATE
    ${PROJECT_SOURCE_DIR}/cmake/precompiled/${header})
endfunction()

if(PINFOLD_PRECOMPILE AND PINFOLD_BUILD_topo)
  pinfold_precompiled_header(library headers.hpp)
  set_target_properties(pinfold_precompiled_library PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(PINFOLD_TOOLS)
    pinfold_precompiled_header(program headers.hpp)
  endif()
  if(PINFOLD_DEVELOPER_MODE)
    pinfold_precompiled_header(test test_headers.hpp LIBS GTest::gtest GTest::gmock)
  endif()
endif()

# KIND: library, program or test.
function(pinfold_precompile target kind)
  if(PINFOLD_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM pinfold_precompiled_${kind})
  endif()
endfunction()
