# The library for C++ programs: all modules but the doors as one archive, the public headers, and a CMake package.
#   cmake --install build/release --prefix DIR
# Then, in the other project: find_package(Sallyport REQUIRED) and link Sallyport::sallyport.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects)
foreach(module base kernel input http credential egress fetch warm cell redact screen marking sql postgres policy access audit tool launch boundary)
  list(APPEND objects $<TARGET_OBJECTS:sallyport_${module}>)
endforeach()
list(APPEND objects $<TARGET_OBJECTS:sallyport_grammars>)
add_library(sallyport_library STATIC ${objects})
set_target_properties(sallyport_library PROPERTIES OUTPUT_NAME sallyport EXPORT_NAME sallyport LINKER_LANGUAGE CXX)
target_compile_features(sallyport_library PUBLIC cxx_std_23)
target_include_directories(sallyport_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(sallyport_library PUBLIC Boost::json $<INSTALL_INTERFACE:Sallyport::re2>
                                               $<INSTALL_INTERFACE:Sallyport::hs> $<INSTALL_INTERFACE:Sallyport::fyaml>
                                               $<INSTALL_INTERFACE:Sallyport::crypto> $<BUILD_INTERFACE:re2>
                                               $<BUILD_INTERFACE:hs> $<BUILD_INTERFACE:fyaml> $<BUILD_INTERFACE:crypto>)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Sallyport)
install(TARGETS sallyport RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS sallyport_library EXPORT SallyportTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sallyport DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT SallyportTargets NAMESPACE Sallyport:: DESTINATION ${package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SallyportConfig.cmake.in ${CMAKE_BINARY_DIR}/SallyportConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SallyportConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/SallyportConfig.cmake ${CMAKE_BINARY_DIR}/SallyportConfigVersion.cmake
        DESTINATION ${package})
