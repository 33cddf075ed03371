/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors made of where their elements are: arange, linspace, eye. Computed in double or in 64-bit
 * integers, and converted to the dtype once. */
#include "formats.cuh"

ACUI_DEVICE double acui_element(const acui_sequence &p, long long i, double)
{
    if (p.kind == ACUI_EYE)
        return i % p.columns - i / p.columns == p.first;
    if (p.kind == ACUI_ARANGE)
        return fma((double)i, p.step, p.start);
    /* from the nearer end, so that both are met */
    return 2 * i < p.elements ? fma((double)i, p.step, p.start)
                              : fma(-(double)(p.elements - 1 - i), p.step, p.end);
}
ACUI_DEVICE long long acui_element(const acui_sequence &p, long long i, long long)
{
    if (p.kind == ACUI_ARANGE)
        return p.first + i * p.stride;
    return i % p.columns - i / p.columns == p.first;
}

template <typename C> ACUI_DEVICE void acui_make(char *out, const acui_sequence &p)
{
    typedef typename C::value T;
    long long first = ((long long)blockIdx.x * ACUI_BLOCK + threadIdx.x) * C::V;
    for (; first < p.elements; first += (long long)gridDim.x * ACUI_BLOCK * C::V) {
        T x[C::V];
        long long offset[C::V];
#pragma unroll
        for (int k = 0; k < C::V; k++) {
            x[k] = (T)acui_element(p, first + k, (T)0);
            offset[k] = first + k;
            if (!p.linear)
                acui_offsets<1>(p.index, &p.out, first + k, &offset[k]);
        }
        C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            char *to = out + first * F::BYTES;
            if (p.linear && ((unsigned long long)to & (F::BYTES * C::V - 1)) == 0 &&
                first + C::V <= p.elements) {
                F::write(to, x);
                return;
            }
#pragma unroll
            for (int k = 0; k < C::V; k++)
                if (first + k < p.elements)
                    F::write_one(out + offset[k] * F::BYTES, x[k]);
        });
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) make_d(char *out, acui_sequence p)
{
    acui_make<acui_any_d>(out, p);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) make_l(char *out, acui_sequence p)
{
    acui_make<acui_any_l>(out, p);
}
