/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random numbers by Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3,
 * 2011): ten rounds of multiplications and exclusive ors of a counter with a key. A thread makes the
 * numbers of one counter.
 */
#include "formats.cuh"

ACUI_DEVICE uint4 acui_philox(unsigned long long counter, unsigned long long seed)
{
    uint4 c = make_uint4((unsigned)counter, (unsigned)(counter >> 32), 0, 0);
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

/* Two normal numbers of two words each for the radius and the angle. */
ACUI_DEVICE void acui_normal(unsigned a, unsigned b, float *x)
{
    float u = fmaf((float)a, 2.3283064e-10f, 1.1641532e-10f); /* (0, 1] */
    float radius = sqrtf(-2.0f * logf(u)), sine, cosine;
    sincosf(6.2831855f * ((float)(b >> 8) * 5.9604645e-08f), &sine, &cosine);
    x[0] = radius * cosine;
    x[1] = radius * sine;
}
ACUI_DEVICE double acui_unit(unsigned high, unsigned low)
{
    unsigned long long bits = (unsigned long long)high << 32 | low;
    return (double)(bits >> 11) * 1.1102230246251565e-16;
}
ACUI_DEVICE void acui_normal(uint4 w, double *x)
{
    double radius = sqrt(-2.0 * log(1.0 - acui_unit(w.y, w.x)));
    double angle = 6.283185307179586 * acui_unit(w.w, w.z);
    x[0] = radius * cos(angle);
    x[1] = radius * sin(angle);
}

/* ---- the numbers of one counter ------------------------------------------------------------------- */

struct acui_random_f {
    typedef acui_f C;
    static const int PER = 4;
    ACUI_DEVICE void make(const acui_random &p, uint4 w, float *x)
    {
        if (p.normal) {
            acui_normal(w.x, w.y, x);
            acui_normal(w.z, w.w, x + 2);
            return;
        }
        const int drop = p.out.dtype == ACU_F16 ? 21 : p.out.dtype == ACU_BF16 ? 24 : 8;
        const float unit = __int_as_float((127 - (32 - drop)) << 23);
        x[0] = (float)(w.x >> drop) * unit;
        x[1] = (float)(w.y >> drop) * unit;
        x[2] = (float)(w.z >> drop) * unit;
        x[3] = (float)(w.w >> drop) * unit;
    }
};
struct acui_random_d {
    typedef acui_d C;
    static const int PER = 2;
    ACUI_DEVICE void make(const acui_random &p, uint4 w, double *x)
    {
        if (p.normal) {
            acui_normal(w, x);
            return;
        }
        x[0] = acui_unit(w.y, w.x);
        x[1] = acui_unit(w.w, w.z);
    }
};
struct acui_random_l {
    typedef acui_any_l C;
    static const int PER = 2;
    ACUI_DEVICE void make(const acui_random &p, uint4 w, long long *x)
    {
        unsigned long long a = (unsigned long long)w.y << 32 | w.x, b = (unsigned long long)w.w << 32 | w.z;
        x[0] = (long long)((unsigned long long)p.low + __umul64hi(a, p.range));
        x[1] = (long long)((unsigned long long)p.low + __umul64hi(b, p.range));
    }
};

template <typename R> ACUI_DEVICE void acui_randomize(char *out, const acui_random &p)
{
    typedef typename R::C C;
    const int PER = R::PER;
    long long first = p.offset / PER, last = (p.offset + p.elements - 1) / PER;
    for (long long c = first + (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; c <= last;
         c += (long long)gridDim.x * ACUI_BLOCK) {
        typename C::value x[PER];
        R::make(p, acui_philox((unsigned long long)c, p.seed), x);
        long long e = c * PER - p.offset; /* of the first; may be before the beginning */
        C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            char *to = out + e * F::BYTES;
            if (p.linear && e >= 0 && e + PER <= p.elements &&
                ((unsigned long long)to & (F::BYTES * PER - 1)) == 0) {
                F::write(to, x);
                return;
            }
#pragma unroll
            for (int k = 0; k < PER; k++)
                if (e + k >= 0 && e + k < p.elements) {
                    long long place = e + k;
                    if (!p.linear)
                        acui_offsets<1>(p.index, &p.out, e + k, &place);
                    F::write_one(out + place * F::BYTES, x[k]);
                }
        });
    }
}

#define ACUI_RANDOM(class)                                                                         \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        random_##class(char *out, acui_random p)                                                   \
    {                                                                                              \
        acui_randomize<acui_random_##class>(out, p);                                               \
    }
ACUI_RANDOM(f)
ACUI_RANDOM(d)
ACUI_RANDOM(l)
