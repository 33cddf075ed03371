# SPDX-License-Identifier: MIT OR Apache-2.0
# Options, and the compiler flags that every C file of the project gets.
include(GNUInstallDirs)
include(CheckCCompilerFlag)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

option(ACUDA_SOFTCUDA "Build the software CUDA device in" ON)
option(ACUDA_WERROR "Warnings are errors" OFF)
option(ACUDA_TESTS "Build the tests (needs cmocka)" ${PROJECT_IS_TOP_LEVEL})
option(ACUDA_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ACUDA_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(ACUDA_TOOLS "Build the command-line tools" ${PROJECT_IS_TOP_LEVEL})
set(ACUDA_SANITIZE "" CACHE STRING "Sanitizers for everything: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Assertions of our own stay in; NDEBUG is the user's to define.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
# The version script of the library hides what is internal; tests link a copy without it.
if(NOT ACUDA_TESTS)
    set(CMAKE_C_VISIBILITY_PRESET hidden)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON) # a build folder can be moved, to a machine with a GPU say

add_compile_definitions(_GNU_SOURCE ACUDA_WITH_SOFTCUDA=$<BOOL:${ACUDA_SOFTCUDA}>)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow
    -ffunction-sections -fdata-sections
    $<$<BOOL:${ACUDA_WERROR}>:-Werror>)

# Calls of public functions inside the shared library are direct, and may be inlined.
check_c_compiler_flag(-fno-semantic-interposition ACUDA_HAS_NO_INTERPOSITION)
if(ACUDA_HAS_NO_INTERPOSITION)
    add_compile_options(-fno-semantic-interposition)
endif()

# gcc for x86-64 sets and copies small structs by string instructions (rep stos, rep movs), which are
# slow to start. With these options it stores them piece by piece, and calls the C library for large ones.
set(no_strings -mmemcpy-strategy=libcall:-1:noalign -mmemset-strategy=libcall:-1:noalign)
check_c_compiler_flag("${no_strings}" ACUDA_HAS_STRATEGIES)
if(ACUDA_HAS_STRATEGIES)
    add_compile_options(${no_strings})
    add_link_options(${no_strings})
endif()

# -O1 builds in half the time of -O2 and gives better stack traces; but gcc then warns of texts that may
# be cut off, which at -O2 it sees to fit.
if(ACUDA_SANITIZE)
    add_compile_options(-fsanitize=${ACUDA_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all -O1 $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
    add_link_options(-fsanitize=${ACUDA_SANITIZE})
endif()

include_directories("${CMAKE_CURRENT_SOURCE_DIR}/include")
