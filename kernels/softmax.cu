/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Softmax and its logarithm: a group of threads for each kept element; three looks at what it has. */
#include "elementwise.cuh"

/* The group's values in a tree, the result for all of it; `most`: the largest, else the sum. */
ACUI_DEVICE double acui_all_of(double value, int group, bool most)
{
    __shared__ double values[ACUI_BLOCK];
    int t = (int)threadIdx.x, lane = t & (group - 1);
    __syncthreads();
    values[t] = value;
    for (int half = group >> 1; half > 0; half >>= 1) {
        __syncthreads();
        if (lane < half) {
            double other = values[t + half];
            values[t] = !most ? values[t] + other : other != other || other > values[t] ? other : values[t];
        }
    }
    __syncthreads();
    return values[t - lane];
}

template <typename C> ACUI_DEVICE void acui_soften(const acui_softmax &p, char *out, const char *x)
{
    typedef typename C::value T;
    int lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK / p.group;
    for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count;
         base += (long long)gridDim.x * in_block) {
        long long unit = base + (int)threadIdx.x / p.group, offset[2] = {0, 0};
        long long count = unit < p.kept_count ? p.count : 0;
        if (count > 0)
            acui_offsets<2>(p.kept, p.at, unit, offset);
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            const char *from = x + offset[1] * F::BYTES;
            char *to = out + offset[0] * F::BYTES;
            double most = -__builtin_inf(), sum = 0;
            for (long long i = lane; i < count; i += p.group) {
                double v = (double)F::template read_one<T>(from + i * p.x_stride * F::BYTES);
                most = v != v || v > most ? v : most;
            }
            most = acui_all_of(most, p.group, true);
            for (long long i = lane; i < count; i += p.group)
                sum += (double)exp(F::template read_one<T>(from + i * p.x_stride * F::BYTES) - (T)most);
            sum = acui_all_of(sum, p.group, false);
            T scale = (T)(1.0 / sum), down = p.log ? (T)log(sum) : (T)0;
            for (long long i = lane; i < count; i += p.group) {
                T v = F::template read_one<T>(from + i * p.x_stride * F::BYTES) - (T)most;
                F::write_one(to + i * p.out_stride * F::BYTES, p.log ? v - down : exp(v) * scale);
            }
        });
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    softmax_f(char *out, const char *x, acui_softmax p)
{
    acui_soften<acui_f>(p, out, x);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    softmax_d(char *out, const char *x, acui_softmax p)
{
    acui_soften<acui_d>(p, out, x);
}
