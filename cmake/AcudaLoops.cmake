# SPDX-License-Identifier: MIT OR Apache-2.0
# The event loop libraries that acuda has adapters for, where they are installed. Only the adapters'
# tests and the example servers use them; acuda itself links none.
#
# ACUDA_LOOPS: all loops. For each that is here there is a target acuda_loop_<name>, for acuda_use_loop;
# for the others ACUDA_LOOP_<name>_MISSING says what to install.
set(ACUDA_LOOPS epoll uring uv libevent glib)

# acuda_use_loop(TARGET NAME): for a program two levels below the build folder
function(acuda_use_loop target name)
    target_link_libraries(${target} PRIVATE acuda_loop_${name})
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "$ORIGIN/../../lib/loops")
endfunction()

# A build folder may be carried to a machine without the libraries, so it gets copies of them.
function(acuda_carry_library file)
    file(REAL_PATH "${file}" real)
    execute_process(COMMAND "${CMAKE_READELF}" -d "${real}" OUTPUT_VARIABLE dynamic ERROR_QUIET)
    if(dynamic MATCHES "SONAME[^[]*\\[([^]]+)\\]")
        file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib/loops")
        file(COPY_FILE "${real}" "${CMAKE_BINARY_DIR}/lib/loops/${CMAKE_MATCH_1}"
            ONLY_IF_DIFFERENT)
    endif()
endfunction()

# acuda_find_loop(NAME MODULE DEBIAN-PACKAGE): by pkg-config
function(acuda_find_loop name module package)
    set(ACUDA_LOOP_${name}_MISSING "${package}" PARENT_SCOPE)
    if(NOT PkgConfig_FOUND)
        return()
    endif()
    pkg_check_modules(ACUDA_${name} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(NOT ACUDA_${name}_FOUND)
        return()
    endif()
    add_library(acuda_loop_${name} INTERFACE)
    target_link_libraries(acuda_loop_${name} INTERFACE PkgConfig::ACUDA_${name})
    foreach(library IN LISTS ACUDA_${name}_LINK_LIBRARIES)
        if(EXISTS "${library}")
            acuda_carry_library("${library}")
        endif()
    endforeach()
    set(ACUDA_LOOP_${name}_MISSING "" PARENT_SCOPE)
endfunction()

find_package(PkgConfig QUIET)
add_library(acuda_loop_epoll INTERFACE) # part of the system
acuda_find_loop(uring liburing>=2.3 liburing-dev)
acuda_find_loop(uv libuv libuv1-dev)
acuda_find_loop(libevent libevent_core libevent-dev)
acuda_find_loop(glib glib-2.0 libglib2.0-dev)
