/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What CUDA C++ begins with, for clang without a toolkit: it adds nothing to prelude.cuh, which has
 * been included by then. It is here, under several names, so that sources that nvcc compiles need
 * no change, and so that a toolkit's own file, whose types would be defined twice, is not found.
 * The host's side of the CUDA runtime (cudaMalloc and the like) is not provided.
 */
