# Functions that declare a library, a test and a fuzz target. A module's include path is only
# available through target_link_libraries, so an include against the arrows of docs/architecture.md
# does not compile.

# Flags of every target; INTERFACE, so that no global setting changes.
add_library(pinfold_flags INTERFACE)
target_compile_features(pinfold_flags INTERFACE cxx_std_20)
# <nlohmann/json.hpp> with a destructor that allocates nothing: cmake/json.
target_include_directories(pinfold_flags SYSTEM INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/cmake/json>)
if(PINFOLD_DEVELOPER_MODE)
  target_compile_options(pinfold_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    -Werror $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>)
endif()
# False positives of g++ 12 in optimised builds, about std::string's operator+ and Boost's
# small_vector.
target_compile_options(pinfold_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overread>)
if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  target_compile_options(pinfold_flags INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow>)
endif()
if(PINFOLD_GLIBCXX_ASSERTIONS)
  target_compile_definitions(pinfold_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(PINFOLD_SANITIZE)
  target_compile_options(pinfold_flags INTERFACE
    -fsanitize=${PINFOLD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(pinfold_flags INTERFACE -fsanitize=${PINFOLD_SANITIZE})
  # gcc 12 warns that the thread sanitizer does not support fences; the snapshot has one.
  if(PINFOLD_SANITIZE STREQUAL thread)
    target_compile_options(pinfold_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
  endif()
endif()
if(PINFOLD_LIBFUZZER)
  target_compile_options(pinfold_flags INTERFACE -fsanitize=fuzzer-no-link)  # guides the fuzzer
endif()
find_program(PINFOLD_MOLD mold)
if(PINFOLD_DEVELOPER_MODE AND PINFOLD_MOLD)
  target_link_options(pinfold_flags INTERFACE -fuse-ld=mold)  # for about 100 programs
endif()
if(PINFOLD_COVERAGE)
  # Without the headers of other projects, whose templates would be most of the data: writing it
  # takes seconds at each program's exit in a guest.
  target_compile_options(pinfold_flags INTERFACE --coverage -fprofile-abs-path
    -fprofile-exclude-files=/usr/.*)
  target_link_options(pinfold_flags INTERFACE --coverage)
endif()

# In archives for others each file is an object, so that a static link takes only what it uses.
function(pinfold_keep_objects_apart target)
  if(PINFOLD_INSTALL AND NOT PINFOLD_DEVELOPER_MODE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# pinfold_add_library(NAME SOURCES a.cpp ... [DEPENDS modules ...] [LIBS libraries ...]
#                     [PRIVATE_LIBS libraries ...] [YAML_SOURCES a.cpp ...])
# Declares pinfold_NAME (alias pinfold::NAME) from the current directory: its headers below
# include/, sources listed one by one. DEPENDS names other modules of Pinfold. YAML_SOURCES, which are
# also in SOURCES, read texts. They are objects of their own, so that a program that reads none does
# not need libyaml.
function(pinfold_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBS;PRIVATE_LIBS;YAML_SOURCES" ${ARGN})
  add_library(pinfold_${name} STATIC ${ARG_SOURCES})
  add_library(pinfold::${name} ALIAS pinfold_${name})
  set_property(GLOBAL APPEND PROPERTY PINFOLD_MODULES ${name})
  set_target_properties(pinfold_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  pinfold_keep_objects_apart(pinfold_${name})
  set_property(SOURCE ${ARG_YAML_SOURCES} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(pinfold_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(pinfold_${name} PUBLIC cxx_std_20)
  foreach(module IN LISTS ARG_DEPENDS)
    target_link_libraries(pinfold_${name} PUBLIC pinfold::${module})
  endforeach()
  target_link_libraries(pinfold_${name} PUBLIC ${ARG_LIBS}
    PRIVATE $<BUILD_INTERFACE:pinfold_flags> ${ARG_PRIVATE_LIBS})
  pinfold_precompile(pinfold_${name} library)
  pinfold_use_clang_tidy(pinfold_${name})
endfunction()

# pinfold_add_executable(NAME SOURCES a.cpp ... LIBS libraries ...)
function(pinfold_add_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pinfold_flags ${ARG_LIBS} pinfold::base)
  pinfold_precompile(${name} program)
  pinfold_use_clang_tidy(${name})
endfunction()

# Runs clang-tidy on the sources of a target and on the headers of the project that they include.
# Tests may be slow, use the environment, and have long cases (GoogleTest's macros count).
set(PINFOLD_TIDY_RELAXED -performance-*,-concurrency-mt-unsafe,-readability-function-cognitive-complexity)
string(APPEND PINFOLD_TIDY_RELAXED ,-clang-analyzer-deadcode.DeadStores,-clang-analyzer-optin.performance.Padding)
function(pinfold_use_clang_tidy target)
  cmake_parse_arguments(ARG "RELAXED" "" "" ${ARGN})
  if(PINFOLD_CLANG_TIDY)
    find_program(PINFOLD_CLANG_TIDY_PROGRAM NAMES clang-tidy-14 clang-tidy REQUIRED)
    set(command ${PINFOLD_CLANG_TIDY_PROGRAM} --quiet --header-filter=^${PROJECT_SOURCE_DIR}/.*[.][ch]pp$)
    set(checks pinfold-own-declarations)
    if(ARG_RELAXED)
      string(APPEND checks ,${PINFOLD_TIDY_RELAXED})
    endif()
    list(APPEND command --load=${PINFOLD_TIDY_PLUGIN} --checks=${checks})
    add_dependencies(${target} own_declarations)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${command}")
  endif()
endfunction()

# pinfold_add_test(NAME SOURCES a.cpp ... LIBS libraries ... [LABELS l ...] [TIMEOUT s])
# Declares a GoogleTest program and registers each of its cases with CTest. The time limit is that
# without sanitizers, with which a program takes several times as long.
# Where tests with `checked_documents` put the JSON that commands have printed: tests/support/documents.cpp.
set(PINFOLD_DOCUMENTS ${CMAKE_BINARY_DIR}/documents)

function(pinfold_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(PINFOLD_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pinfold_flags ${ARG_LIBS} pinfold::base GTest::gtest_main GTest::gmock)
  pinfold_precompile(${name} test)
  pinfold_use_clang_tidy(${name} RELAXED)
  if("checked_documents" IN_LIST ARG_LIBS)
    set(documents ENVIRONMENT "PINFOLD_DOCUMENTS=${PINFOLD_DOCUMENTS}" FIXTURES_REQUIRED json_documents)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" ${documents})
endfunction()

add_custom_target(fuzzers)  # all fuzz targets

# pinfold_add_fuzzer(NAME SOURCE f.cpp LIBS libraries ... CORPUS dir)
# Declares a libFuzzer entry point. With PINFOLD_LIBFUZZER it becomes a fuzzer, otherwise a program
# that replays the corpus, so that it stays tested; CTest runs both.
function(pinfold_add_fuzzer name)
  cmake_parse_arguments(ARG "" "SOURCE;CORPUS" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCE})
  target_link_libraries(${name} PRIVATE pinfold_flags ${ARG_LIBS})
  add_dependencies(fuzzers ${name})
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.corpus CONTENT ${ARG_CORPUS})
  pinfold_use_clang_tidy(${name} RELAXED)
  if(PINFOLD_LIBFUZZER)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME Fuzz.${name} COMMAND ${name} -runs=0 ${ARG_CORPUS})
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    pinfold_precompile(${name} program)
    add_test(NAME Fuzz.${name} COMMAND ${name} ${ARG_CORPUS})
  endif()
  set_tests_properties(Fuzz.${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
endfunction()
