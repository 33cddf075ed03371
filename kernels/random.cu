/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random numbers by Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3,
 * 2011): ten rounds of multiplications and exclusive ors of a counter with a key. A thread makes the
 * numbers of one counter.
 */
#include "formats.cuh"

/* High and low half of a product. As text: made of a product of 64 bits it is three instructions. */
ACUI_DEVICE uint2 acui_product(unsigned a, unsigned b)
{
    unsigned long long product;
    __asm__("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return make_uint2((unsigned)product, (unsigned)(product >> 32));
}
ACUI_DEVICE uint4 acui_philox(unsigned long long counter, unsigned long long seed)
{
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    uint2 a = acui_product(0xD2511F53u, (unsigned)counter), b;
    uint4 c = make_uint4((unsigned)(counter >> 32) ^ k0, 0, a.y ^ k1, a.x); /* the first round: half is 0 */
#pragma unroll
    for (int round = 1; round < 10; round++) {
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
        a = acui_product(0xD2511F53u, c.x);
        b = acui_product(0xCD9E8D57u, c.z);
        c = make_uint4(b.y ^ c.y ^ k0, b.x, a.y ^ c.w ^ k1, a.x);
    }
    return c;
}

/*
 * Two normal numbers of two words each for the radius and the angle. What logf and sincosf of math.cuh give,
 * to the last bit, without what they do for arguments that do not come here: u is normal and at most 1, the
 * angle is in [0, 2 pi]. No branches: sine and cosine are both needed, the quadrant says which is which.
 * Adding 1.5 2^23 rounds to an integer as rintf does.
 */
ACUI_DEVICE void acui_normal(unsigned a, unsigned b, float *x)
{
    float u = fmaf((float)a, 2.3283064e-10f, 1.1641532e-10f); /* (0, 1] */
    int bits = __float_as_int(u), e = (bits - 0x3f2aaaab) >> 23;
    float f = __int_as_float(bits - (e << 23)) - 1.0f;
    float radius = sqrtf(-2.0f * fmaf((float)e, 0.693147182f, acui_log1p_tail(f, f)));
    float angle = 6.2831855f * ((float)(b >> 8) * 5.9604645e-08f);
    float t = __fmul_rn(angle, 0.636619747f) + 12582912.0f, k = t - 12582912.0f;
    float r = fmaf(k, 0x1.ee59dap-50f, fmaf(k, 0x1.777a5cp-25f, fmaf(k, -0x1.921fb6p+0f, angle)));
    float sine = acui_sin_core(r), cosine = acui_cos_core(r);
    int quadrant = __float_as_int(t);
    float across = quadrant & 1 ? sine : cosine, up = quadrant & 1 ? cosine : sine;
    x[0] = radius * ((quadrant + 1) & 2 ? -across : across);
    x[1] = radius * (quadrant & 2 ? -up : up);
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
    typedef acui_real_f C;
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
    typedef acui_real_d C;
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

/* One by one: at the ends, and what has gaps or is not aligned. */
template <typename R>
ACUI_DEVICE void acui_random_singles(char *out, const acui_random &p, long long e,
                                     const typename R::C::value (&x)[R::PER])
{
#pragma unroll
    for (int k = 0; k < R::PER; k++) {
        long long place = e + k;
        if (place < 0 || place >= p.elements)
            continue;
        if (!p.linear)
            acui_offsets<1>(p.index, &p.out, e + k, &place);
        R::C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            F::write_one(out + place * F::BYTES, x[k]);
        });
    }
}

/*
 * 16 bytes of float take some 80 instructions, or 200 where they are normal: an H100 can issue 150 in the time
 * that its memory takes for them.
 */
template <typename R> ACUI_DEVICE void acui_randomize(char *out, const acui_random &p)
{
    typedef typename R::C C;
    const int PER = R::PER;
    long long first = p.offset / PER, last = (p.offset + p.elements - 1) / PER;
    long long whole = (p.offset + PER - 1) / PER; /* the first counter whose numbers are all wanted */
    long long end = p.linear ? (p.offset + p.elements) / PER : whole;
    C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
        const int BYTES = decltype(format)::BYTES;
        if (((unsigned long long)out + (unsigned long long)(whole * PER - p.offset) * BYTES) &
            (BYTES * PER - 1))
            end = whole;
    });
#pragma unroll 1
    for (long long c = first + (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; c <= last;
         c += (long long)gridDim.x * ACUI_BLOCK) {
        typename C::value x[PER];
        R::make(p, acui_philox((unsigned long long)c, p.seed), x);
        long long e = c * PER - p.offset; /* of the first; may be before the beginning */
        if (c < whole || c >= end) {
            acui_random_singles<R>(out, p, e, x);
            continue;
        }
        C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            F::write(out + e * F::BYTES, x);
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
