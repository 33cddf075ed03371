/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conversion from and to f4e2m1fnx2: a thread handles one of its bytes and the two elements that
 * belong to it. */
#ifndef ACUDA_KERNELS_PAIRS_CUH
#define ACUDA_KERNELS_PAIRS_CUH

#include "formats.cuh"

template <typename C> struct acui_pair_loop {
    typedef typename C::value T;

    ACUI_DEVICE void unpack(const acui_pairs &p, char *out, const char *in, const long long *offset)
    {
        unsigned byte = ((const unsigned char *)in)[offset[1]];
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            char *to = out + offset[0] * F::BYTES;
            F::write_one(to, (T)acui_from_e2m1(byte));
            F::write_one(to + p.step * F::BYTES, (T)acui_from_e2m1(byte >> 4));
        });
    }
    ACUI_DEVICE void pack(const acui_pairs &p, char *out, const char *in, const long long *offset)
    {
        unsigned byte = 0;
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            const char *from = in + offset[1] * F::BYTES;
            T first = F::template read_one<T>(from);
            T second = F::template read_one<T>(from + p.step * F::BYTES);
            byte = acui_to_e2m1(acui_odd(first)) | acui_to_e2m1(acui_odd(second)) << 4;
        });
        ((unsigned char *)out)[offset[0]] = (unsigned char)byte;
    }

    template <bool PACK>
    ACUI_DEVICE void run(const acui_pairs &p, char *out, const char *in)
    {
        for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.pairs;
             i += (long long)gridDim.x * ACUI_BLOCK) {
            long long offset[2];
            acui_offsets<2>(p.index, p.at, i, offset);
            if (PACK)
                pack(p, out, in, offset);
            else
                unpack(p, out, in, offset);
        }
    }
};

#define ACUI_PAIRS(class)                                                                          \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        unpack_##class(char *out, const char *in, acui_pairs p)                                    \
    {                                                                                              \
        acui_pair_loop<acui_any_##class>::template run<false>(p, out, in);                         \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        pack_##class(char *out, const char *in, acui_pairs p)                                      \
    {                                                                                              \
        acui_pair_loop<acui_any_##class>::template run<true>(p, out, in);                          \
    }

#endif
