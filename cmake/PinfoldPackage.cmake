# What `cmake --install` and the Debian package hold: the pinfold command.
install(TARGETS pinfold RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT pinfold)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT pinfold)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pinfold)
set(CPACK_PACKAGE_CONTACT "Pinfold maintainers <maintainers@pinfold.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "decides which CPUs and memory nodes a container gets, as the kubelet does")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL pinfold)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
