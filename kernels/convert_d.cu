/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conversion between dtypes (formats.cuh says how), by way of double or of 64-bit integers. */
#include "elementwise.cuh"
#include "formats.cuh"
#include "pairs.cuh"

#define ACUI_CONVERT(class)                                                                        \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        convert_##class(char *out, const char *a, acui_elementwise p)                              \
    {                                                                                              \
        acui_elementwise_loop<acui_any_##class, 1, acui_none>::run(p, out, a, a, a);               \
    }
ACUI_CONVERT(d)
ACUI_CONVERT(l)
ACUI_PAIRS(d)
