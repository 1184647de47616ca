# All dependencies, each only for the components that need it; Debian 12 packages all of them (see
# packages.txt).
if(PINFOLD_BUILD_topo OR PINFOLD_BUILD_decide)
  find_package(tl-expected REQUIRED)
  find_package(Boost 1.74 REQUIRED)
endif()
if(PINFOLD_BUILD_topo)
  find_package(fmt 9 REQUIRED)
  find_package(nlohmann_json 3.11 REQUIRED)
  find_package(yaml-cpp REQUIRED)
  # fmt's headers; pinfold_base has its compiled part.
  add_library(pinfold_fmt INTERFACE)
  get_target_property(PINFOLD_FMT_INCLUDES fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(pinfold_fmt SYSTEM INTERFACE ${PINFOLD_FMT_INCLUDES})
  # yaml-cpp's archive where there is one, so that it becomes part of a program.
  find_library(PINFOLD_YAML_ARCHIVE libyaml-cpp.a)
  add_library(pinfold_yaml INTERFACE)
  target_include_directories(pinfold_yaml SYSTEM INTERFACE
    $<TARGET_PROPERTY:yaml-cpp,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(pinfold_yaml INTERFACE
    $<IF:$<BOOL:${PINFOLD_YAML_ARCHIVE}>,${PINFOLD_YAML_ARCHIVE},yaml-cpp>)
endif()
# Only the headers of these three: the libraries are loaded when they are needed
# (docs/adr/0036-libraries-that-are-loaded.md).
if(PINFOLD_BUILD_discover OR PINFOLD_BUILD_enforce OR PINFOLD_TOOLS)
  find_package(PkgConfig REQUIRED)
endif()
if(PINFOLD_BUILD_discover)
  pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc>=2.9)
endif()
if(PINFOLD_BUILD_enforce)
  pkg_check_modules(numa REQUIRED IMPORTED_TARGET numa)
  find_path(PINFOLD_CGROUP_INCLUDE_DIR libcgroup.h REQUIRED)
endif()
if(PINFOLD_TOOLS)
  find_package(ZLIB REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(prometheus-cpp REQUIRED)
endif()
if(PINFOLD_DEVELOPER_MODE)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark REQUIRED)
  find_library(PINFOLD_RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
endif()
