# Installs what programs that link Pinfold need, by the components of the Debian packages:
# libpinfold0 (the shared library) and libpinfold-dev (everything that a build needs). The third,
# pinfold, is in tools/pinfold. Libraries that were not built are left out (OPTIONAL).
option(PINFOLD_INSTALL "Install the libraries and headers" ${PROJECT_IS_TOP_LEVEL})
if(NOT PINFOLD_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

# Every module declared so far; tools and harness are declared later.
get_property(libraries GLOBAL PROPERTY PINFOLD_MODULES)
list(TRANSFORM libraries PREPEND pinfold_)
list(APPEND libraries pinfold_topo)
set(pinfold_archives)
foreach(library IN LISTS libraries)
  string(REPLACE pinfold_ "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  get_target_property(type ${library} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    list(APPEND pinfold_archives lib${library}.a)
  endif()
endforeach()
install(TARGETS ${libraries} EXPORT pinfold-cpp
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpinfold-dev OPTIONAL
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libpinfold-dev)
install(TARGETS pinfold_capi EXPORT pinfold-c
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT libpinfold0 NAMELINK_COMPONENT libpinfold-dev OPTIONAL
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libpinfold-dev)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pinfold)
foreach(language c cpp)
  install(EXPORT pinfold-${language} NAMESPACE pinfold:: FILE pinfold-${language}-targets.cmake
    DESTINATION ${package_dir} COMPONENT libpinfold-dev)
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/pinfold-config.cmake.in
  ${PROJECT_BINARY_DIR}/pinfold-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pinfold-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pinfold-config.cmake
              ${PROJECT_BINARY_DIR}/pinfold-config-version.cmake
  DESTINATION ${package_dir} COMPONENT libpinfold-dev)

# All paths in the pkg-config file are relative to its own directory.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(${CMAKE_CURRENT_LIST_DIR}/pinfold.pc.in ${PROJECT_BINARY_DIR}/pinfold.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pinfold.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libpinfold-dev)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libpinfold-dev COMPONENT libpinfold-dev)
foreach(package libpinfold0 libpinfold-dev)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${package})
endforeach()
