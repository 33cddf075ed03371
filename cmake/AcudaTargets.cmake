# SPDX-License-Identifier: MIT OR Apache-2.0
# Programs made of one C file each, and the list of tests.

# acuda_add_program(TARGET FILE.c FOLDER [LIBRARIES ...]): an executable in <build>/FOLDER, named
# as its file. Kernels in a .cu of the same name beside it are linked in as <name>_ptx.
function(acuda_add_program target source folder)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LIBRARIES")
    cmake_path(GET source STEM stem)
    add_executable(${target} "${source}")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME "${stem}"
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${folder}")
    # Relative, so that a build folder can be carried elsewhere.
    cmake_path(RELATIVE_PATH CMAKE_BINARY_DIR BASE_DIRECTORY "${CMAKE_BINARY_DIR}/${folder}"
        OUTPUT_VARIABLE up)
    set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/${up}/lib")
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} Threads::Threads)
    cmake_path(REPLACE_EXTENSION source cu OUTPUT_VARIABLE kernels)
    if(EXISTS "${kernels}")
        acuda_add_ptx(${target} "${kernels}" NAME "${stem}_ptx")
    endif()
endfunction()

# acuda_add_programs(FOLDER): every FOLDER/*.c, linked with the shared library, so that a program
# that needs what is not exported does not build. FOLDER/<name>/*.c is one program of several
# files, with its *.cu. FOLDER/CMakeLists.txt, where there is one, is included after that.
function(acuda_add_programs folder)
    set(base "${PROJECT_SOURCE_DIR}/${folder}")
    file(GLOB sources CONFIGURE_DEPENDS "${base}/*.c")
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM stem)
        acuda_add_program(${folder}_${stem} "${source}" ${folder} LIBRARIES acuda m)
    endforeach()
    file(GLOB mains CONFIGURE_DEPENDS "${base}/*/main.c")
    foreach(main IN LISTS mains)
        cmake_path(GET main PARENT_PATH dir)
        cmake_path(GET dir FILENAME name)
        file(GLOB sources CONFIGURE_DEPENDS "${dir}/*.c")
        file(GLOB kernels CONFIGURE_DEPENDS "${dir}/*.cu")
        add_executable(${folder}_${name} ${sources})
        set_target_properties(${folder}_${name} PROPERTIES OUTPUT_NAME "${name}"
            RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${folder}")
        target_link_libraries(${folder}_${name} PRIVATE acuda m Threads::Threads)
        foreach(kernel IN LISTS kernels)
            acuda_add_ptx(${folder}_${name} "${kernel}")
        endforeach()
    endforeach()
    if(EXISTS "${base}/CMakeLists.txt")
        include("${base}/CMakeLists.txt")
    endif()
endfunction()

# acuda_add_test(NAME <area>.<subject> COMMAND <program> [args] [TIMEOUT s] [LABELS ...] [SERIAL])
# registers a test twice from one place: with ctest, and in <build>/tests.list, which
# tools/run-tests reads (it needs neither CMake nor this machine's paths, and adds up cases).
# The program is a target's name, or a path below the source folder. Exit status 77: skipped.
function(acuda_add_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(ACUDA_SANITIZE)
        math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
    endif()
    list(POP_FRONT arg_COMMAND program)
    if(TARGET "${program}")
        get_target_property(dir ${program} RUNTIME_OUTPUT_DIRECTORY)
        get_target_property(file ${program} OUTPUT_NAME)
        set(command "${dir}/${file}")
        cmake_path(RELATIVE_PATH command BASE_DIRECTORY "${CMAKE_BINARY_DIR}"
            OUTPUT_VARIABLE listed)
        set(listed "@build@/${listed}")
    else()
        set(command "${PROJECT_SOURCE_DIR}/${program}")
        set(listed "${program}")
    endif()
    string(REPLACE "${CMAKE_BINARY_DIR}" "@build@" listed_args "${arg_COMMAND}")
    list(JOIN listed_args " " listed_args)
    add_test(NAME "${arg_NAME}" COMMAND "${command}" ${arg_COMMAND}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties("${arg_NAME}" PROPERTIES TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
        LABELS "${arg_LABELS}" RUN_SERIAL "${arg_SERIAL}")
    set(mode parallel)
    if(arg_SERIAL)
        set(mode serial)
    endif()
    set_property(GLOBAL APPEND PROPERTY acuda_tests
        "${arg_NAME} ${arg_TIMEOUT} ${mode} ${listed} ${listed_args}")
endfunction()

# To be called once, after the last acuda_add_test.
function(acuda_write_test_list)
    get_property(tests GLOBAL PROPERTY acuda_tests)
    list(JOIN tests "\n" lines)
    set(sanitize "none")
    if(ACUDA_SANITIZE)
        set(sanitize "${ACUDA_SANITIZE}")
    endif()
    file(WRITE "${CMAKE_BINARY_DIR}/tests.list" "# sanitize ${sanitize}\n${lines}\n")
endfunction()
