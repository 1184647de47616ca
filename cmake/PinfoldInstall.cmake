# Installs what programs that link Pinfold need, by the components of the Debian packages:
# libpinfold0 (the shared library) and libpinfold-dev (everything that a build needs). The third,
# pinfold, is in tools/pinfold. Libraries that were not built are left out (OPTIONAL).
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
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpinfold-dev OPTIONAL)
install(TARGETS pinfold_capi EXPORT pinfold-c
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT libpinfold0 NAMELINK_COMPONENT libpinfold-dev OPTIONAL
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libpinfold-dev)
install(TARGETS pinfold_capi_static EXPORT pinfold-c-static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpinfold-dev OPTIONAL)
install(TARGETS pinfold_stub EXPORT pinfold-stub
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpinfold-dev OPTIONAL)

# The C interface of the decision alone needs no other library.
install(TARGETS pinfold_decide_shared pinfold_decide_static EXPORT pinfold-decide
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT libpinfold-decide0 NAMELINK_COMPONENT libpinfold-dev OPTIONAL
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpinfold-dev OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/libtopo/place/include/pinfold/code.h
              ${PROJECT_SOURCE_DIR}/libtopo/place/include/pinfold/decide.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pinfold COMPONENT libpinfold-dev)

include(${CMAKE_CURRENT_LIST_DIR}/PinfoldHeaders.cmake)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/libtopo/*.hpp
  ${PROJECT_SOURCE_DIR}/checkpoint/*.hpp ${PROJECT_SOURCE_DIR}/enforce/*.hpp
  ${PROJECT_SOURCE_DIR}/agent/*.hpp ${PROJECT_SOURCE_DIR}/service/faces/nri/*.hpp)
foreach(name IN LISTS PINFOLD_STABLE_HEADERS PINFOLD_DETAIL_HEADERS)
  set(path ${headers})
  list(FILTER path INCLUDE REGEX "/include/pinfold/${name}$")
  if(NOT path)
    message(FATAL_ERROR "cmake/PinfoldHeaders.cmake has '${name}': expected a header of a module below include/pinfold")
  endif()
  get_filename_component(folder pinfold/${name} DIRECTORY)
  install(FILES ${path} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT libpinfold-dev)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pinfold)
foreach(language c c-static cpp decide stub)
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

# All paths in the pkg-config files are relative to their own directory.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(${CMAKE_CURRENT_LIST_DIR}/pinfold.pc.in ${PROJECT_BINARY_DIR}/pinfold.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/pinfold-decide.pc.in
  ${PROJECT_BINARY_DIR}/pinfold-decide.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/pinfold-stub.pc.in ${PROJECT_BINARY_DIR}/pinfold-stub.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pinfold.pc ${PROJECT_BINARY_DIR}/pinfold-decide.pc
              ${PROJECT_BINARY_DIR}/pinfold-stub.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libpinfold-dev)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libpinfold-dev COMPONENT libpinfold-dev)
foreach(package libpinfold0 libpinfold-decide0 libpinfold-dev)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${package})
endforeach()
