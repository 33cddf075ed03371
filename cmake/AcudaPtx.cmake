# SPDX-License-Identifier: MIT OR Apache-2.0
# CUDA C++ to PTX, with clang and no CUDA toolkit, and PTX into the program: in acuda's own build, and,
# by find_package(acuda), in that of others. There they call acuda_add_ptx (CMake 3.20).
find_program(ACUDA_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14
    DOC "clang, for kernels: CUDA C to PTX")
set(ACUDA_PTX_ARCH sm_75 CACHE STRING "GPU architecture that kernels are built for (and newer)")
set(ACUDA_PTX_FEATURE ptx63 CACHE STRING "PTX version, as clang names it")

# In an installed copy, acuda-config.cmake says where these folders are. They are global properties, so
# that the functions find them from every folder.
if(NOT DEFINED _acuda_kernels)
    get_filename_component(_acuda_kernels "${CMAKE_CURRENT_LIST_DIR}/../kernels" ABSOLUTE)
    get_filename_component(_acuda_include "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
endif()
set_property(GLOBAL PROPERTY acuda_kernels "${_acuda_kernels}")
set_property(GLOBAL PROPERTY acuda_include "${_acuda_include}")

# acuda_embed_text(TARGET FILE SYMBOL): the file's text as the NUL-terminated `const char SYMBOL[]`.
function(acuda_embed_text target file symbol)
    set(text "${PROJECT_BINARY_DIR}/text/${symbol}.c")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/text")
    add_custom_command(OUTPUT "${text}"
        COMMAND "${CMAKE_COMMAND}" -DINPUT=${file} -DOUTPUT=${text} -DSYMBOL=${symbol}
            -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake"
        DEPENDS "${file}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake" VERBATIM
        COMMENT "Embedding ${file}")
    target_sources(${target} PRIVATE "${text}")
endfunction()

# acuda_add_ptx(TARGET FILE.cu [NAME SYMBOL] [OPTIONS -DD=1 ...])
# Compiles FILE to <build>/ptx/<folder>/<stem>.ptx and links it into TARGET as the NUL-terminated
# `const char SYMBOL[]` (in C++: extern "C"), by default <stem>_ptx. The project has C or C++ among its
# languages. A file with several users is compiled once, with the options of the first.
function(acuda_add_ptx target source)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME" "OPTIONS")
    if(NOT ACUDA_CLANG)
        message(FATAL_ERROR "clang is needed to build kernels (${source}): install it "
            "(Debian: apt-get install clang) or name it with -DACUDA_CLANG=<path>")
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(GET source STEM stem)
    if(NOT arg_NAME)
        set(arg_NAME "${stem}_ptx")
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    cmake_path(GET relative PARENT_PATH folder)
    string(REPLACE ".." "up" folder "${folder}") # a file from outside stays in the build
    set(ptx "${PROJECT_BINARY_DIR}/ptx/${folder}/${stem}.ptx")
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    set(language c)
    if(NOT "C" IN_LIST languages)
        set(language cpp)
    endif()
    set(text "${PROJECT_BINARY_DIR}/ptx/${folder}/${arg_NAME}.${language}")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/ptx/${folder}")

    get_property(kernels GLOBAL PROPERTY acuda_kernels)
    get_property(include GLOBAL PROPERTY acuda_include)
    # The path does not exist, so that a toolkit that happens to be installed makes no difference.
    set(flags --cuda-path=/nonexistent -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=${ACUDA_PTX_ARCH}
        -nocudainc -nocudalib -Xclang -target-feature -Xclang +${ACUDA_PTX_FEATURE}
        -Wall -Wextra -I "${include}" -include "${kernels}/prelude.cuh" -O3 ${arg_OPTIONS}
        -I "${kernels}/cuda")

    # Once, even if the file has several users.
    get_property(known GLOBAL PROPERTY "acuda_ptx_${ptx}")
    if(NOT known)
        set_property(GLOBAL PROPERTY "acuda_ptx_${ptx}" TRUE)
        add_custom_command(OUTPUT "${ptx}"
            COMMAND "${ACUDA_CLANG}" ${flags} -MD -MF "${ptx}.d" -MT "${ptx}"
                -S -o "${ptx}" "${source}"
            DEPENDS "${source}" DEPFILE "${ptx}.d" VERBATIM
            COMMENT "PTX ${relative}")
    endif()
    add_custom_command(OUTPUT "${text}"
        COMMAND "${CMAKE_COMMAND}" -DINPUT=${ptx} -DOUTPUT=${text} -DSYMBOL=${arg_NAME}
            -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake"
        DEPENDS "${ptx}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake" VERBATIM
        COMMENT "Embedding ${relative}")
    target_sources(${target} PRIVATE "${text}")
endfunction()
