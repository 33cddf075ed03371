# SPDX-License-Identifier: MIT OR Apache-2.0
# find_package(acuda): acuda::acuda (shared) and acuda::acuda_static.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/acuda-targets.cmake")
