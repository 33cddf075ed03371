/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tensors whose elements depend on their place: arange, linspace, eye. Elements are computed in
 * double or in 64-bit integers, and converted to the dtype once.
 */
#include "formats.cuh"

/* start + i step. `place` is i, exact as a T; it is made once for a vector, since that takes longer
 * than the rest. */
ACUI_DEVICE double acui_arange(const acui_sequence &p, double place) { return fma(place, p.step, p.start); }
ACUI_DEVICE long long acui_arange(const acui_sequence &p, long long place)
{
    return p.first + place * p.stride;
}

/* COUNT elements in vectors of V: the first vector begins at `first`, the others STEP elements
 * apart. */
template <int V, int STEP, typename T, int COUNT>
ACUI_DEVICE void acui_values(const acui_sequence &p, long long first, T (&x)[COUNT])
{
    const T place = (T)first;
    if (p.kind == ACUI_ARANGE) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            x[k] = acui_arange(p, place + (T)(k / V * STEP + k % V));
    } else if (p.kind == ACUI_LINSPACE) { /* from the nearer end, so that both ends are exact */
        const double last = (double)(p.elements - 1);
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            double i = (double)(place + (T)(k / V * STEP + k % V));
            bool near = 2 * i <= last;
            x[k] = (T)fma(near ? i : i - last, p.step, near ? p.start : p.end);
        }
    } else {
        long long row = 0, column = 0;
#pragma unroll
        for (int k = 0; k < COUNT; k++, column++) {
            if (k % V == 0) {
                row = (first + k / V * STEP) / p.columns;
                column = first + k / V * STEP - row * p.columns;
            } else if (column == p.columns) {
                column = 0;
                row++;
            }
            x[k] = column - row == p.first;
        }
    }
}

/* One by one, neighbours by neighbouring threads: for tensors that have gaps or are not aligned,
 * and for the rest at the end. */
template <typename C> ACUI_DEVICE void acui_make_singles(char *out, const acui_sequence &p, long long first, int count)
{
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < count && first + k < p.elements; k += ACUI_BLOCK) {
        typename C::value x[1];
        long long offset = first + k;
        acui_values<1, 1>(p, first + k, x);
        if (!p.linear)
            acui_offsets<1>(p.index, &p.out, first + k, &offset);
        C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            F::write_one(out + offset * F::BYTES, x[0]);
        });
    }
}

template <typename C> ACUI_DEVICE void acui_make(char *out, const acui_sequence &p)
{
    const int V = C::V, STEP = V * ACUI_BLOCK, CHUNK = ACUI_UNROLL * STEP;
    bool vectors = false;
    C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
        vectors = p.linear && ((unsigned long long)out & (decltype(format)::BYTES * V - 1)) == 0;
    });
#pragma unroll 1
    for (long long chunk = (long long)blockIdx.x * CHUNK; chunk < p.elements; chunk += (long long)gridDim.x * CHUNK) {
        if (!vectors || chunk + CHUNK > p.elements) {
            acui_make_singles<C>(out, p, chunk, CHUNK);
            continue;
        }
        typename C::value x[ACUI_UNROLL * V];
        const long long first = chunk + (int)threadIdx.x * V;
        acui_values<V, STEP>(p, first, x);
        C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int u = 0; u < ACUI_UNROLL; u++)
                F::write(out + (first + u * STEP) * F::BYTES, &x[u * V]);
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
