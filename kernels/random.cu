/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random numbers by Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
 * 1, 2, 3, 2011): ten rounds of multiplications and exclusive ors of a counter with a key. One
 * counter gives all the numbers that a thread makes at once.
 */
#include "formats.cuh"

/* The high and low half of a product. In assembly: from a 64-bit product the compiler makes three
 * instructions. */
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
    uint4 c = make_uint4((unsigned)(counter >> 32) ^ k0, 0, a.y ^ k1, a.x); /* the first round,
                                                                             * where half of the
                                                                             * counter is 0 */
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
 * Two normal numbers (Box-Muller) from two words each for radius and angle, in as few instructions
 * as possible: they are what takes time. No branches; the polynomials have relative errors below
 * 3e-8.
 *
 * u = 2^e (1 + f) is normal and in (0, 1], with 1 + f in [2/3, 4/3). The exponent stays where it is
 * in a float, so e is 2^23 times as large. -2 log u is zero or at least 2^-23, and a small addend
 * keeps the root of zero a number. One Newton step after an approximation of 1 / sqrt gives the
 * correctly rounded root for all of these values (tried), on a GPU as on the software device, whose
 * approximations differ.
 *
 * The angle modulo pi, in [-pi/2, pi/2), decides everything but the signs of the two numbers.
 */
ACUI_DEVICE float acui_radius(unsigned word)
{
    float u = fmaf((float)word, 2.3283064e-10f, 1.1641532e-10f);
    int bits = __float_as_int(u), e = (bits - 0x3f2aaaab) & (int)0xff800000;
    float f = __int_as_float(bits - e) - 1.0f;
    float q = fmaf(-0.280527174f, f, 0.307770789f);
    q = fmaf(q, f, -0.279916137f);
    q = fmaf(q, f, 0.328319222f);
    q = fmaf(q, f, -0.400223374f);
    q = fmaf(q, f, 0.500156403f);
    q = fmaf(q, f, -0.666663945f);
    q = fmaf(q, f, 0.999998748f);
    q = fmaf(q, f, -2.0f);
    float square = fmaf(q, f, fmaf((float)e, -1.65259302e-07f, 1e-30f));
    float inverse;
    __asm__("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(square));
    float root = __fmul_rn(square, inverse);
    return fmaf(fmaf(-root, root, square), __fmul_rn(inverse, 0.5f), root);
}
ACUI_DEVICE void acui_normal(unsigned a, unsigned b, float *x)
{
    unsigned sign = (b + 0x40000000u) & 0x80000000u;
    float radius = __uint_as_float(__float_as_uint(acui_radius(a)) ^ sign);
    float r = __fmul_rn((float)(int)(b << 1), 7.31459225e-10f), t = __fmul_rn(r, r);
    float p = fmaf(2.60005481e-06f, t, -0.000198066147f), q = fmaf(-2.60771060e-07f, t, 2.47618864e-05f);
    p = fmaf(p, t, 0.00833301712f);
    p = fmaf(p, t, -0.166666567f);
    q = fmaf(q, t, -0.00138884038f);
    q = fmaf(q, t, 0.0416666418f);
    q = fmaf(q, t, -0.5f);
    x[0] = __fmul_rn(radius, fmaf(q, t, 1.0f));
    x[1] = __fmul_rn(radius, fmaf(__fmul_rn(r, t), p, r));
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

/* PER numbers from each counter; a thread works on AT_ONCE counters, to overlap their
 * instructions. */
struct acui_random_f {
    typedef acui_real_f C;
    static const int PER = 4, AT_ONCE = 4;
    ACUI_DEVICE void make(const acui_random &p, const uint4 (&w)[AT_ONCE], float (&x)[AT_ONCE][PER])
    {
        if (p.normal) {
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                acui_normal(w[u].x, w[u].y, x[u]);
                acui_normal(w[u].z, w[u].w, x[u] + 2);
            }
            return;
        }
        const int drop = p.out.dtype == ACU_F16 ? 21 : p.out.dtype == ACU_BF16 ? 24 : 8;
        const float unit = __int_as_float((127 - (32 - drop)) << 23);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            x[u][0] = (float)(w[u].x >> drop) * unit;
            x[u][1] = (float)(w[u].y >> drop) * unit;
            x[u][2] = (float)(w[u].z >> drop) * unit;
            x[u][3] = (float)(w[u].w >> drop) * unit;
        }
    }
};
struct acui_random_d {
    typedef acui_real_d C;
    static const int PER = 2, AT_ONCE = 1;
    ACUI_DEVICE void make(const acui_random &p, const uint4 (&w)[1], double (&x)[1][PER])
    {
        if (p.normal) {
            acui_normal(w[0], x[0]);
            return;
        }
        x[0][0] = acui_unit(w[0].y, w[0].x);
        x[0][1] = acui_unit(w[0].w, w[0].z);
    }
};
struct acui_random_l {
    typedef acui_any_l C;
    static const int PER = 2, AT_ONCE = 1;
    ACUI_DEVICE void make(const acui_random &p, const uint4 (&w)[1], long long (&x)[1][PER])
    {
        unsigned long long a = (unsigned long long)w[0].y << 32 | w[0].x;
        unsigned long long b = (unsigned long long)w[0].w << 32 | w[0].z;
        x[0][0] = (long long)((unsigned long long)p.low + __umul64hi(a, p.range));
        x[0][1] = (long long)((unsigned long long)p.low + __umul64hi(b, p.range));
    }
};

/* Writes one by one: at the ends, and where the result has gaps or is not aligned. Element e is the
 * first of the first counter. */
template <typename R>
ACUI_DEVICE void acui_random_singles(char *out, const acui_random &p, long long e,
                                     const typename R::C::value (&x)[R::AT_ONCE][R::PER])
{
#pragma unroll 1
    for (int i = 0; i < R::AT_ONCE * R::PER; i++) {
        long long number = e + i / R::PER * (ACUI_BLOCK * R::PER) + i % R::PER, place = number;
        if (number < 0 || number >= p.elements)
            continue;
        typename R::C::value value = x[0][0];
#pragma unroll
        for (int k = 1; k < R::AT_ONCE * R::PER; k++)
            value = i == k ? x[k / R::PER][k % R::PER] : value;
        if (!p.linear)
            acui_offsets<1>(p.index, &p.out, number, &place);
        R::C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            F::write_one(out + place * F::BYTES, value);
        });
    }
}

/*
 * 16 bytes of float take some 60 instructions, or 130 if they are normal; an H100 can issue 150 in
 * the time that its memory needs for 16 bytes. So a block asks only once whether all that it makes
 * in a turn is wanted.
 */
template <typename R> ACUI_DEVICE void acui_randomize(char *out, const long long *at, const acui_random &p)
{
    const long long offset = at ? *at & (1ll << 62) - 1 : p.offset;
    typedef typename R::C C;
    const int PER = R::PER, AT_ONCE = R::AT_ONCE, TURN = AT_ONCE * ACUI_BLOCK;
    long long first = offset / PER, last = (offset + p.elements - 1) / PER;
    long long whole = (offset + PER - 1) / PER; /* the first counter all of whose numbers are
                                                   * wanted */
    long long end = p.linear ? (offset + p.elements) / PER : whole;
    C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
        const int BYTES = decltype(format)::BYTES;
        if (((unsigned long long)out + (unsigned long long)(whole * PER - offset) * BYTES) &
            (BYTES * PER - 1))
            end = whole;
    });
#pragma unroll 1
    for (long long turn = first + (long long)blockIdx.x * TURN; turn <= last; turn += (long long)gridDim.x * TURN) {
        const long long c = turn + threadIdx.x, e = c * PER - offset; /* e may be before the
                                                                         * beginning */
        typename C::value x[AT_ONCE][PER];
        uint4 words[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            words[u] = acui_philox((unsigned long long)(c + u * ACUI_BLOCK), p.seed);
        R::make(p, words, x);
        if (turn < whole || turn + TURN > end) {
            acui_random_singles<R>(out, p, e, x);
            continue;
        }
        C::with(p.out.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
                F::write(out + (e + u * (ACUI_BLOCK * PER)) * F::BYTES, x[u]);
        });
    }
}

#define ACUI_RANDOM(class)                                                                         \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        random_##class(char *out, const long long *at, acui_random p)                              \
    {                                                                                              \
        acui_randomize<acui_random_##class>(out, at, p);                                           \
    }
ACUI_RANDOM(f)
ACUI_RANDOM(d)
ACUI_RANDOM(l)
