# cmake --install, and the package that find_package(wgrad) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS wgrad EXPORT wgradTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/wgrad DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wgradTargets NAMESPACE wgrad:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wgrad)
get_target_property(wgrad_type wgrad TYPE)
string(COMPARE EQUAL "${wgrad_type}" STATIC_LIBRARY WGRAD_IS_STATIC)
configure_package_config_file(cmake/wgradConfig.cmake.in wgradConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wgrad)
write_basic_package_version_file(wgradConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/wgradConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/wgradConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wgrad)
