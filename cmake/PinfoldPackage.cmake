# Installs the command with its manual, and builds the Debian packages: run `cpack` in the build
# directory.
install(TARGETS pinfold RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT pinfold)
set(manual_dir ${PROJECT_BINARY_DIR}/manual)
install(FILES ${manual_dir}/pinfold.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pinfold)
install(FILES ${manual_dir}/pinfold.bash RENAME pinfold
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT pinfold)
install(FILES ${manual_dir}/_pinfold
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT pinfold)
install(FILES ${manual_dir}/pinfold.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT pinfold)
install(FILES ${PROJECT_SOURCE_DIR}/tools/hooks.d/pinfold.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/containers/oci/hooks.d COMPONENT pinfold)
set(packages pinfold libpinfold0 libpinfold-dev)
foreach(package IN LISTS packages)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${package})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pinfold COMPONENT pinfold)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libpinfold-dev COMPONENT libpinfold-dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pinfold)
set(CPACK_PACKAGE_CONTACT "Pinfold maintainers <maintainers@pinfold.invalid>")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_PINFOLD_DESCRIPTION
  "assigns CPUs and memory nodes to containers as the kubelet does")
set(CPACK_COMPONENT_LIBPINFOLD0_DESCRIPTION "assigns CPUs and memory nodes to containers: shared library")
set(CPACK_COMPONENT_LIBPINFOLD-DEV_DESCRIPTION
  "assigns CPUs and memory nodes to containers: headers and static libraries")
set(CPACK_DEBIAN_PINFOLD_PACKAGE_NAME pinfold)
set(CPACK_DEBIAN_PINFOLD_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PINFOLD_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBPINFOLD0_PACKAGE_NAME libpinfold0)
set(CPACK_DEBIAN_LIBPINFOLD0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBPINFOLD0_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBPINFOLD-DEV_PACKAGE_NAME libpinfold-dev)
set(CPACK_DEBIAN_LIBPINFOLD-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBPINFOLD-DEV_PACKAGE_DEPENDS
  "libpinfold0 (= ${PROJECT_VERSION}), libcgroup-dev, libexpected-dev, libfmt-dev, libhwloc-dev, libnuma-dev, libyaml-cpp-dev, nlohmann-json3-dev")
include(CPack)
