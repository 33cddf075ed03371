/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For test_complex.c: numbers as arguments of a kernel. */
#include <cuComplex.h>

extern "C" __global__ void axpy(cuDoubleComplex *out, cuFloatComplex a, const cuDoubleComplex *x,
                                cuDoubleComplex y)
{
    out[threadIdx.x] = cuCfma(make_cuDoubleComplex(a.x, a.y), x[threadIdx.x], y);
}
