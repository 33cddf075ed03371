# SPDX-License-Identifier: MIT OR Apache-2.0
# The Python package, in <build>/python/acuda: its own files, and what tools/python-interface reads in the
# headers. Needs a python3 with cffi; without one there is no package.
set(ACUDA_PYTHON_DIR lib/python3/dist-packages CACHE PATH
    "Where the Python package is installed, below the prefix")
foreach(python ${Python3_EXECUTABLE} python3 /usr/bin/python3) # the first: named by who builds a wheel
    find_program(found NAMES ${python} NO_CACHE)
    if(found)
        execute_process(COMMAND "${found}" -c "import cffi, pycparser" RESULT_VARIABLE lacks
            OUTPUT_QUIET ERROR_QUIET)
        if(NOT lacks)
            set(ACUDA_PYTHON "${found}")
            break()
        endif()
    endif()
    unset(found)
endforeach()
if(NOT ACUDA_PYTHON)
    message(STATUS "no python3 with cffi: the Python package is not built")
    return()
endif()

set(package "${CMAKE_CURRENT_BINARY_DIR}/python/acuda")
file(GLOB python_files CONFIGURE_DEPENDS python/acuda/*.py)
file(GLOB python_headers CONFIGURE_DEPENDS include/acuda/*.h include/acuda/adapters/dlpack.h)
list(TRANSFORM python_files REPLACE "^.*/" "${package}/" OUTPUT_VARIABLE copies)
add_custom_command(OUTPUT "${package}/_c.py" "${package}/_functions.py" ${copies}
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${package}"
    COMMAND "${CMAKE_COMMAND}" -E env "CC=${CMAKE_C_COMPILER}" PYTHONDONTWRITEBYTECODE=1
        "${ACUDA_PYTHON}" tools/python-interface "${package}"
    COMMAND "${CMAKE_COMMAND}" -E copy ${python_files} "${package}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DEPENDS tools/python-interface ${python_files} ${python_headers}
    COMMENT "Python package" VERBATIM)
add_custom_target(acuda_python ALL DEPENDS "${package}/_c.py")
add_dependencies(installable acuda_python)
if(SKBUILD) # a wheel (pyproject.toml): the library is in it, beside the package's files
    install(DIRECTORY "${package}" DESTINATION . COMPONENT python PATTERN __pycache__ EXCLUDE)
    install(FILES "$<TARGET_FILE:acuda>" DESTINATION acuda RENAME libacuda.so.0 COMPONENT python)
else()
    install(DIRECTORY "${package}" DESTINATION ${ACUDA_PYTHON_DIR} PATTERN __pycache__ EXCLUDE)
endif()
