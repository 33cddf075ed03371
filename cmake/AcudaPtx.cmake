# SPDX-License-Identifier: MIT OR Apache-2.0
# CUDA C to PTX, with clang and no CUDA toolkit, and PTX into the program.
find_program(ACUDA_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14
    DOC "clang, for kernels: CUDA C to PTX")
set(ACUDA_PTX_ARCH sm_75 CACHE STRING "GPU architecture that kernels are built for (and newer)")
set(ACUDA_PTX_FEATURE ptx63 CACHE STRING "PTX version, as clang names it")

set(_acuda_root "${CMAKE_CURRENT_LIST_DIR}/..")
cmake_path(NORMAL_PATH _acuda_root)

# acuda_embed_text(TARGET FILE SYMBOL): the file's text as the NUL-terminated `const char SYMBOL[]`.
function(acuda_embed_text target file symbol)
    set(text "${CMAKE_BINARY_DIR}/text/${symbol}.c")
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/text")
    add_custom_command(OUTPUT "${text}"
        COMMAND "${CMAKE_COMMAND}" -DINPUT=${file} -DOUTPUT=${text} -DSYMBOL=${symbol}
            -P "${_acuda_root}/cmake/embed.cmake"
        DEPENDS "${file}" "${_acuda_root}/cmake/embed.cmake" VERBATIM
        COMMENT "Embedding ${file}")
    target_sources(${target} PRIVATE "${text}")
endfunction()

# acuda_add_ptx(TARGET FILE.cu [NAME SYMBOL] [OPTIONS -DD=1 ...])
# Compiles FILE to <build>/ptx/<stem>.ptx and links it into TARGET as the NUL-terminated
# `const char SYMBOL[]`, by default <stem>_ptx. Of a file with two users the first one's options count.
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
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${_acuda_root}" OUTPUT_VARIABLE relative)
    cmake_path(GET relative PARENT_PATH folder)
    set(ptx "${CMAKE_BINARY_DIR}/ptx/${folder}/${stem}.ptx")
    set(text "${CMAKE_BINARY_DIR}/ptx/${folder}/${arg_NAME}.c")
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/ptx/${folder}")

    set(prelude "${_acuda_root}/kernels/prelude.cuh")
    # A toolkit that happens to be installed does not change what comes out: clang looks in vain.
    set(flags --cuda-path=/nonexistent -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=${ACUDA_PTX_ARCH}
        -nocudainc -nocudalib -Xclang -target-feature -Xclang +${ACUDA_PTX_FEATURE}
        -Wall -Wextra -I "${_acuda_root}/include" -I "${_acuda_root}/kernels" -O3)
    if(EXISTS "${prelude}")
        list(APPEND flags -include "${prelude}")
    endif()
    list(APPEND flags ${arg_OPTIONS})

    # A kernel file with two users is compiled once.
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
            -P "${_acuda_root}/cmake/embed.cmake"
        DEPENDS "${ptx}" "${_acuda_root}/cmake/embed.cmake" VERBATIM
        COMMENT "Embedding ${relative}")
    target_sources(${target} PRIVATE "${text}")
endfunction()
