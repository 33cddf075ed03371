# SPDX-License-Identifier: MIT OR Apache-2.0
# CUDA C++ to PTX, with clang and no CUDA toolkit, and PTX into the program: in acuda's own build, and,
# by find_package(acuda), in that of others. There they call acuda_add_ptx (CMake 3.20).
cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.25) # of these functions, whatever the project asks for
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
# Compiles FILE for TARGET, with OPTIONS and with TARGET's include folders, and links the PTX into it as
# the NUL-terminated `const char SYMBOL[]` (in C++: extern "C"). SYMBOL is <stem>_ptx by default, with _
# for what a name in C can not have: my-kernel.cu gives my_kernel_ptx. The PTX itself is also in the
# build folder, as acuda_ptx/<target>/<SYMBOL>.ptx. The project has C or C++ among its languages.
function(acuda_add_ptx target source)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME" "OPTIONS")
    _acuda_check_ptx("${target}" "${source}")
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(GET source STEM LAST_ONLY stem)
    if(NOT arg_NAME)
        string(MAKE_C_IDENTIFIER "${stem}_ptx" arg_NAME)
    elseif(NOT arg_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "acuda_add_ptx(${target} ${source}): NAME ${arg_NAME} can not be the name "
            "of a variable in C")
    endif()
    get_property(known TARGET ${target} PROPERTY acuda_ptx_${arg_NAME})
    if(known)
        message(FATAL_ERROR "acuda_add_ptx: ${target} would get two symbols named ${arg_NAME}, from "
            "${known} and from ${source}; give one of them another NAME")
    endif()
    set_property(TARGET ${target} PROPERTY acuda_ptx_${arg_NAME} "${source}")

    set(folder "${CMAKE_CURRENT_BINARY_DIR}/acuda_ptx/${target}")
    set(ptx "${folder}/${arg_NAME}.ptx")
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    set(text "${folder}/${arg_NAME}.c")
    if(NOT "C" IN_LIST languages)
        set(text "${folder}/${arg_NAME}.cpp")
    endif()
    file(MAKE_DIRECTORY "${folder}")

    get_property(kernels GLOBAL PROPERTY acuda_kernels)
    get_property(include GLOBAL PROPERTY acuda_include)
    # The target's folders come last: none of their files can take the place of one of acuda's. A folder
    # of the system's in front of the compiler's own would hide those, so it is left out.
    set(folders "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>")
    # The path does not exist, so that a toolkit that happens to be installed makes no difference.
    add_custom_command(OUTPUT "${ptx}"
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} "${ACUDA_CLANG}" --cuda-path=/nonexistent -x cuda -std=c++17 --cuda-device-only
            --cuda-gpu-arch=${ACUDA_PTX_ARCH} -nocudainc -nocudalib
            -Xclang -target-feature -Xclang +${ACUDA_PTX_FEATURE} -Wall -Wextra
            -I "${include}" -include "${kernels}/prelude.cuh" -O3 ${arg_OPTIONS} -I "${kernels}/cuda"
            "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>"
            -MD -MF "${ptx}.d" -MT "${ptx}" -S -o "${ptx}" "${source}"
        DEPENDS "${source}" DEPFILE "${ptx}.d" VERBATIM COMMAND_EXPAND_LISTS
        COMMENT "PTX ${source}")
    add_custom_command(OUTPUT "${text}"
        COMMAND "${CMAKE_COMMAND}" -DINPUT=${ptx} -DOUTPUT=${text} -DSYMBOL=${arg_NAME}
            -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake"
        DEPENDS "${ptx}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake" VERBATIM
        COMMENT "Embedding ${arg_NAME}")
    target_sources(${target} PRIVATE "${text}")
    # A target of another folder does not know the commands of this one.
    get_target_property(home ${target} BINARY_DIR)
    if(NOT home STREQUAL CMAKE_CURRENT_BINARY_DIR)
        add_custom_target(${target}_${arg_NAME} DEPENDS "${text}")
        add_dependencies(${target} ${target}_${arg_NAME})
        set_property(SOURCE "${text}" TARGET_DIRECTORY ${target} PROPERTY GENERATED TRUE)
    endif()
endfunction()

# Of acuda_add_ptx, whose arguments are in arg_.
macro(_acuda_check_ptx target source)
    if(NOT ACUDA_CLANG)
        message(FATAL_ERROR "clang is needed to build kernels (${source}): install it "
            "(Debian: apt-get install clang) or name it with -DACUDA_CLANG=<path>")
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "acuda_add_ptx: there is no target ${target}")
    endif()
    if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "acuda_add_ptx(${target} ${source}) takes one file, NAME <symbol> and "
            "OPTIONS <options>; not understood: ${arg_UNPARSED_ARGUMENTS} "
            "${arg_KEYWORDS_MISSING_VALUES}")
    endif()
endmacro()
cmake_policy(POP)
