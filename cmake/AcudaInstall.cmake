# SPDX-License-Identifier: MIT OR Apache-2.0
# What `cmake --install` puts where, and how other builds find it.
include(CMakePackageConfigHelpers)

install(TARGETS acuda acuda_static EXPORT acuda-targets)
add_custom_target(installable) # all that is installed: ./demo leaves a folder that can be
add_dependencies(installable acuda acuda_static)
if(TARGET softcuda_standin) # where no loader looks unless told to
    install(TARGETS softcuda_standin DESTINATION ${CMAKE_INSTALL_LIBDIR}/acuda/softcuda)
    add_dependencies(installable softcuda_standin)
endif()
if(TARGET acuda_cli)
    add_dependencies(installable acuda_cli)
endif()
install(DIRECTORY include/acuda DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# What clang needs to compile kernels: prelude.cuh is included ahead of them.
set(ACUDA_KERNELS_DIR ${CMAKE_INSTALL_DATADIR}/acuda/kernels)
install(FILES kernels/prelude.cuh kernels/math.cuh kernels/math_f64.cuh kernels/math_more.cuh
    kernels/math_bessel.cuh kernels/more.cuh
    DESTINATION ${ACUDA_KERNELS_DIR})
install(DIRECTORY kernels/cuda DESTINATION ${ACUDA_KERNELS_DIR})
# The headers name pages of docs/, whose links lead to examples/; README.md has links to both, and to the
# other pages here. The examples build where they are installed.
install(FILES LICENSE-MIT LICENSE-APACHE README.md ARCHITECTURE.md CONTRIBUTING.md
    CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Man pages of section 3, from the headers.
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/man-pages\"
    \"${CMAKE_CURRENT_BINARY_DIR}/man\" COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/man/man3" DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES bench/RESULTS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    PATTERN site EXCLUDE PATTERN CMakeLists.txt EXCLUDE PATTERN installed.cmake EXCLUDE PATTERN __pycache__ EXCLUDE)
install(FILES examples/installed.cmake DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
    RENAME CMakeLists.txt)
# The pages' links to headers lead to the installed ones.
file(RELATIVE_PATH to_include "/${CMAKE_INSTALL_DOCDIR}" "/${CMAKE_INSTALL_INCLUDEDIR}")
install(CODE "file(CREATE_LINK \"${to_include}\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/include\" SYMBOLIC)")

set(ACUDA_LIBS_PRIVATE "-Wl,-z,nodelete -lpthread -ldl -lm") # nodelete: see CMakeLists.txt
# Counted from where the file lies, so that it is right whatever --prefix says, and may be moved.
file(RELATIVE_PATH ACUDA_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}" "/")
configure_file(cmake/acuda.pc.in acuda.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/acuda.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/acuda)
install(EXPORT acuda-targets NAMESPACE acuda:: DESTINATION ${config_dir})
write_basic_package_version_file(acuda-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/acuda-config.cmake.in acuda-config.cmake
    INSTALL_DESTINATION ${config_dir} PATH_VARS ACUDA_KERNELS_DIR CMAKE_INSTALL_INCLUDEDIR
    CMAKE_INSTALL_LIBDIR)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/acuda-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/acuda-config-version.cmake"
    cmake/AcudaPtx.cmake cmake/embed.cmake DESTINATION ${config_dir})
