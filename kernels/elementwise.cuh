/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elementwise kernels: one for each class of arithmetic (elements.cuh) and number of operands; the
 * operation is an argument. A thread loads ACUI_UNROLL vectors of up to 16 bytes of each operand,
 * and then switches on the operation once for all of them.
 *
 * Dense tensors take this wide path. What is strided, broadcast or not aligned, and the rest at the
 * end, goes in groups of single elements, with neighbours in neighbouring threads.
 */
#ifndef ACUDA_KERNELS_ELEMENTWISE_CUH
#define ACUDA_KERNELS_ELEMENTWISE_CUH

#include "elements.cuh"

/* y[k] = an expression of a (b, c), which are elements k of the operands */
#define ACUI_EACH(expression)                                                                      \
    {                                                                                              \
        _Pragma("unroll") for (int k = 0; k < COUNT; k++)                                          \
        {                                                                                          \
            T a = x[0][k];                                                                         \
            y[k] = (T)(expression);                                                                \
            (void)a;                                                                               \
        }                                                                                          \
    }                                                                                              \
    break
#define ACUI_EACH2(expression)                                                                     \
    {                                                                                              \
        _Pragma("unroll") for (int k = 0; k < COUNT; k++)                                          \
        {                                                                                          \
            T a = x[0][k], b = x[1][k];                                                            \
            y[k] = (T)(expression);                                                                \
        }                                                                                          \
    }                                                                                              \
    break
#define ACUI_EACH3(expression)                                                                     \
    {                                                                                              \
        _Pragma("unroll") for (int k = 0; k < COUNT; k++)                                          \
        {                                                                                          \
            T a = x[0][k], b = x[1][k], c = x[2][k];                                               \
            y[k] = (T)(expression);                                                                \
        }                                                                                          \
    }                                                                                              \
    break

/* ---- floating point ---------------------------------------------------------------------------- */

template <typename T> ACUI_DEVICE T acui_sigmoid(T x)
{
    T e = exp(-fabs(x)), r = (T)1 / ((T)1 + e); /* does not overflow */
    return x < 0 ? e * r : r;
}

template <typename T, int COUNT> struct acui_few {
    T x[COUNT];
};

/* Functions that take many instructions have kernels of their own (function_*), which do few
 * elements at once. */
template <typename T, int COUNT>
ACUI_DEVICE void acui_function(int op, const T (&x)[1][COUNT], T (&y)[COUNT])
{
    switch (op) {
    case ACU_OP_SQRT: ACUI_EACH(sqrt(a));
    case ACU_OP_RSQRT: ACUI_EACH((T)1 / sqrt(a));
    case ACU_OP_RECIPROCAL: ACUI_EACH((T)1 / a);
    case ACU_OP_EXP: ACUI_EACH(exp(a));
    case ACU_OP_LOG: ACUI_EACH(log(a));
    case ACU_OP_SIN: ACUI_EACH(sin(a));
    case ACU_OP_COS: ACUI_EACH(cos(a));
    case ACU_OP_TANH: ACUI_EACH(tanh(a));
    case ACU_OP_SIGMOID: ACUI_EACH(acui_sigmoid(a));
    case ACU_OP_SILU: ACUI_EACH(a * acui_sigmoid(a));
    case ACU_OP_GELU: ACUI_EACH((T)0.5 * a * ((T)1 + erf(a * (T)0.70710678118654752)));
    default: ACUI_EACH(erf(a));
    }
}
/* Out of line, so that there is one copy of each. */
template <typename T, int COUNT>
ACUI_DEVICE_OUTLINE acui_few<T, COUNT> acui_function_of(int op, acui_few<T, COUNT> v)
{
    T x[1][COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        x[0][k] = v.x[k];
    acui_function(op, x, v.x);
    return v;
}

template <typename T, int COUNT>
ACUI_DEVICE void acui_apply_real(int op, const T (&x)[1][COUNT], T (&y)[COUNT])
{
    switch (op) {
    case ACU_OP_COPY: ACUI_EACH(a);
    case ACU_OP_NEG: ACUI_EACH(-a);
    case ACU_OP_ABS: ACUI_EACH(fabs(a));
    case ACU_OP_SIGN: ACUI_EACH(a != a ? a : (T)((a > 0) - (a < 0)));
    case ACU_OP_SQUARE: ACUI_EACH(a *a);
    case ACU_OP_RELU: ACUI_EACH(a < 0 ? (T)0 : a);
    case ACU_OP_FLOOR: ACUI_EACH(floor(a));
    case ACU_OP_CEIL: ACUI_EACH(ceil(a));
    case ACU_OP_TRUNC: ACUI_EACH(trunc(a));
    case ACU_OP_ROUND: ACUI_EACH(rint(a));
    case ACU_OP_NOT: ACUI_EACH(a == 0);
    case ACU_OP_IS_NAN: ACUI_EACH(a != a);
    default: ACUI_EACH(isfinite(a));
    }
}

/* The remainder of x / y, with the sign of y. Subtracts a multiple of y that needs no rounding. */
template <typename T> ACUI_DEVICE T acui_mod(T x, T y)
{
    T r = fabs(x), m = fabs(y);
    if (x != x || y != y || m == 0 || !isfinite(r))
        return x - x + y - y + (T)0 / (T)0;
    if (!isfinite(m))
        return x == 0 ? copysign(x, y) : (x < 0) == (y < 0) ? x : y;
    constexpr T most = sizeof(T) == 4 ? (T)1048576 : (T)1125899906842624; /* 2^20, 2^50 */
    while (r >= m) {
        T s = m;
        while (r / s >= most)
            s *= most;
        r = fma(-trunc(r / s), s, r);
        if (r < 0)
            r += s;
    }
    r = copysign(r, x);
    return r != 0 && (r < 0) != (y < 0) ? r + y : copysign(r, y); /* also if it is zero, as in
                                                                   * NumPy */
}

template <typename T, int COUNT>
ACUI_DEVICE_OUTLINE acui_few<T, COUNT> acui_heavy2(int op, acui_few<T, COUNT> v,
                                                   acui_few<T, COUNT> w)
{
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        v.x[k] = op == ACU_OP_POW ? pow(v.x[k], w.x[k]) : acui_mod(v.x[k], w.x[k]);
    return v;
}

template <typename T, int COUNT>
ACUI_DEVICE void acui_apply_real(int op, const T (&x)[2][COUNT], T (&y)[COUNT])
{
    switch (op) {
    case ACU_OP_ADD: ACUI_EACH2(a + b);
    case ACU_OP_SUB: ACUI_EACH2(a - b);
    case ACU_OP_MUL: ACUI_EACH2(a *b);
    case ACU_OP_DIV: ACUI_EACH2(a / b);
    case ACU_OP_MIN: ACUI_EACH2(a != a || a < b ? a : b);
    case ACU_OP_MAX: ACUI_EACH2(a != a || a > b ? a : b);
    case ACU_OP_EQ: ACUI_EACH2(a == b);
    case ACU_OP_NE: ACUI_EACH2(a != b);
    case ACU_OP_LT: ACUI_EACH2(a < b);
    case ACU_OP_LE: ACUI_EACH2(a <= b);
    case ACU_OP_GT: ACUI_EACH2(a > b);
    case ACU_OP_GE: ACUI_EACH2(a >= b);
    case ACU_OP_AND: ACUI_EACH2(a != 0 && b != 0);
    case ACU_OP_OR: ACUI_EACH2(a != 0 || b != 0);
    case ACU_OP_XOR: ACUI_EACH2((a != 0) != (b != 0));
    default: {
        constexpr int FEW = sizeof(T) == 4 ? 4 : 2;
#pragma unroll
        for (int k = 0; k < COUNT; k += FEW) {
            acui_few<T, FEW> v, w;
#pragma unroll
            for (int i = 0; i < FEW; i++) {
                v.x[i] = x[0][k + i];
                w.x[i] = x[1][k + i];
            }
            v = acui_heavy2<T, FEW>(op, v, w);
#pragma unroll
            for (int i = 0; i < FEW; i++)
                y[k + i] = v.x[i];
        }
    }
    }
}

/* NaN if one of them is; where the bounds are in the wrong order, the upper one. */
template <typename T> ACUI_DEVICE T acui_clamp(T x, T low, T high)
{
    x = x < low || low != low ? low : x;
    return x > high || high != high ? high : x;
}

template <typename T, int COUNT>
ACUI_DEVICE void acui_apply_real(int op, const T (&x)[3][COUNT], T (&y)[COUNT])
{
    switch (op) {
    case ACU_OP_CLAMP: ACUI_EACH3(acui_clamp(a, b, c));
    default: ACUI_EACH3(fma(a, b, c));
    }
}

/* ---- integers: T is int or long long, U the same without sign; `u`: it holds the type's bits ---- */

template <typename T> struct acui_bits;
template <> struct acui_bits<int> {
    typedef unsigned type;
};
template <> struct acui_bits<long long> {
    typedef unsigned long long type;
};

template <typename T, int COUNT>
ACUI_DEVICE void acui_apply_whole(int op, const T (&x)[1][COUNT], T (&y)[COUNT], bool u)
{
    typedef typename acui_bits<T>::type U;
    switch (op) {
    case ACU_OP_NEG: ACUI_EACH((T) - (U)a);
    case ACU_OP_ABS: ACUI_EACH(a < 0 && !u ? (T) - (U)a : a);
    case ACU_OP_SIGN: ACUI_EACH(u ? a != 0 : (a > 0) - (a < 0));
    case ACU_OP_SQUARE: ACUI_EACH((U)a * (U)a);
    case ACU_OP_RELU: ACUI_EACH(a < 0 && !u ? 0 : a);
    case ACU_OP_INVERT: ACUI_EACH(~a);
    case ACU_OP_NOT: ACUI_EACH(a == 0);
    default: ACUI_EACH(a);
    }
}

template <typename T> ACUI_DEVICE T acui_divide_whole(T a, T b, bool u)
{
    typedef typename acui_bits<T>::type U;
    if (b == 0)
        return 0;
    if (u)
        return (T)((U)a / (U)b);
    return b == -1 ? (T) - (U)a : a / b;
}
template <typename T> ACUI_DEVICE T acui_mod_whole(T a, T b, bool u)
{
    typedef typename acui_bits<T>::type U;
    if (b == 0 || (b == -1 && !u))
        return 0;
    if (u)
        return (T)((U)a % (U)b);
    T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <typename T> ACUI_DEVICE T acui_power_whole(T a, T b, bool u)
{
    typedef typename acui_bits<T>::type U;
    if (b < 0 && !u)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    U result = 1, base = (U)a;
    for (U n = (U)b; n; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return (T)result;
}
template <typename T, int COUNT>
ACUI_DEVICE_OUTLINE acui_few<T, COUNT> acui_heavy_whole(int op, acui_few<T, COUNT> v,
                                                        acui_few<T, COUNT> w, bool u)
{
#pragma unroll 1
    for (int k = 0; k < COUNT; k++)
        v.x[k] = op == ACU_OP_POW   ? acui_power_whole(v.x[k], w.x[k], u)
                 : op == ACU_OP_DIV ? acui_divide_whole(v.x[k], w.x[k], u)
                                    : acui_mod_whole(v.x[k], w.x[k], u);
    return v;
}

/* a < b in the type's order: flipping the top bit turns one order into the other */
template <typename T, int COUNT>
ACUI_DEVICE void acui_apply_whole(int op, const T (&x)[2][COUNT], T (&y)[COUNT], bool u)
{
    typedef typename acui_bits<T>::type U;
    const T flip = u ? (T)((U)1 << (8 * sizeof(T) - 1)) : 0;
    const U bits = 8 * sizeof(T);
    switch (op) {
    case ACU_OP_ADD: ACUI_EACH2((U)a + (U)b);
    case ACU_OP_SUB: ACUI_EACH2((U)a - (U)b);
    case ACU_OP_MUL: ACUI_EACH2((U)a * (U)b);
    case ACU_OP_MIN: ACUI_EACH2((a ^ flip) < (b ^ flip) ? a : b);
    case ACU_OP_MAX: ACUI_EACH2((a ^ flip) > (b ^ flip) ? a : b);
    case ACU_OP_EQ: ACUI_EACH2(a == b);
    case ACU_OP_NE: ACUI_EACH2(a != b);
    case ACU_OP_LT: ACUI_EACH2((a ^ flip) < (b ^ flip));
    case ACU_OP_LE: ACUI_EACH2((a ^ flip) <= (b ^ flip));
    case ACU_OP_GT: ACUI_EACH2((a ^ flip) > (b ^ flip));
    case ACU_OP_GE: ACUI_EACH2((a ^ flip) >= (b ^ flip));
    case ACU_OP_AND: ACUI_EACH2(a != 0 && b != 0);
    case ACU_OP_OR: ACUI_EACH2(a != 0 || b != 0);
    case ACU_OP_XOR: ACUI_EACH2((a != 0) != (b != 0));
    case ACU_OP_BIT_AND: ACUI_EACH2(a &b);
    case ACU_OP_BIT_OR: ACUI_EACH2(a | b);
    case ACU_OP_BIT_XOR: ACUI_EACH2(a ^ b);
    case ACU_OP_SHIFT_LEFT: ACUI_EACH2((U)b < bits ? (U)a << b : 0);
    case ACU_OP_SHIFT_RIGHT:
        ACUI_EACH2((U)b < bits ? (u ? (T)((U)a >> b) : a >> b) : a < 0 && !u ? -1 : 0);
    default: {
        constexpr int FEW = sizeof(T) == 4 ? 4 : 2;
#pragma unroll
        for (int k = 0; k < COUNT; k += FEW) {
            acui_few<T, FEW> v, w;
#pragma unroll
            for (int i = 0; i < FEW; i++) {
                v.x[i] = x[0][k + i];
                w.x[i] = x[1][k + i];
            }
            v = acui_heavy_whole<T, FEW>(op, v, w, u);
#pragma unroll
            for (int i = 0; i < FEW; i++)
                y[k + i] = v.x[i];
        }
    }
    }
}

template <typename T, int COUNT>
ACUI_DEVICE void acui_apply_whole(int op, const T (&x)[3][COUNT], T (&y)[COUNT], bool u)
{
    typedef typename acui_bits<T>::type U;
    const T flip = u ? (T)((U)1 << (8 * sizeof(T) - 1)) : 0;
    switch (op) {
    case ACU_OP_WHERE: ACUI_EACH3(a ? b : c);
    default: ACUI_EACH3(acui_clamp<T>(a ^ flip, b ^ flip, c ^ flip) ^ flip);
    }
}

struct acui_all {
    template <typename C, int N, int COUNT>
    ACUI_DEVICE void apply(int op, const typename C::value (&x)[N][COUNT],
                           typename C::value (&y)[COUNT], bool u)
    {
        if constexpr ((typename C::value)0.5 != 0)
            acui_apply_real(op, x, y);
        else
            acui_apply_whole(op, x, y, u);
    }
};
/* Inlined for float, which has many vectors and where time matters; for others one vector at a
 * time. */
struct acui_functions {
    template <typename C, int N, int COUNT>
    ACUI_DEVICE void apply(int op, const typename C::value (&x)[N][COUNT],
                           typename C::value (&y)[COUNT], bool)
    {
        typedef typename C::value T;
        if constexpr (sizeof(T) == 4 && COUNT > C::V) {
            acui_function(op, x, y);
        } else {
#pragma unroll
            for (int k = 0; k < COUNT; k += C::V) {
                acui_few<T, C::V> few;
#pragma unroll
                for (int i = 0; i < C::V; i++)
                    few.x[i] = x[0][k + i];
                few = acui_function_of<T, C::V>(op, few);
#pragma unroll
                for (int i = 0; i < C::V; i++)
                    y[k + i] = few.x[i];
            }
        }
    }
};
/* No operation but reading and writing. */
struct acui_none {
    template <typename C, int N, int COUNT>
    ACUI_DEVICE void apply(int, const typename C::value (&x)[N][COUNT],
                           typename C::value (&y)[COUNT], bool)
    {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            y[k] = x[0][k];
    }
};

/* ---- the loop ---------------------------------------------------------------------------------- */

template <typename C, int N, typename A = acui_all, int UNROLL = ACUI_UNROLL>
struct acui_elementwise_loop {
    typedef typename C::value T;
    static const int V = C::V, COUNT = V * UNROLL, CHUNK = COUNT * ACUI_BLOCK;

    /* Whether a dense operand at `at` can be read a vector at a time. */
    ACUI_DEVICE bool aligned(const char *at, int dtype)
    {
        int mask = 0;
        C::with(dtype, [&](auto format) ACUI_INLINE { mask = decltype(format)::BYTES * V - 1; });
        return ((unsigned long long)at & (unsigned)mask) == 0;
    }

    ACUI_DEVICE void load(const char *at, const acui_operand &operand, long long first,
                                 T (&x)[COUNT])
    {
        if (operand.is_scalar) {
            T value = C::scalar(operand);
#pragma unroll
            for (int k = 0; k < COUNT; k++)
                x[k] = value;
            return;
        }
        C::with(operand.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            const char *from = at + first * F::BYTES;
#pragma unroll
            for (int i = 0; i < UNROLL; i++)
                F::read(from + i * (ACUI_BLOCK * V * F::BYTES), &x[i * V]);
        });
    }

    ACUI_DEVICE void wide(const acui_elementwise &p, char *out, const char *const (&in)[3],
                                 long long first)
    {
        T x[N][COUNT], y[COUNT];
#pragma unroll
        for (int j = 0; j < N; j++)
            load(in[j], p.at[1 + j], first, x[j]);
        A::template apply<C, N, COUNT>(p.op, x, y, p.unsigned_order);
        C::with(p.at[0].dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            char *to = out + first * F::BYTES;
#pragma unroll
            for (int i = 0; i < UNROLL; i++)
                F::write(to + i * (ACUI_BLOCK * V * F::BYTES), &y[i * V]);
        });
    }

    ACUI_DEVICE T load_one(const char *at, const acui_operand &operand, long long offset)
    {
        T value = C::scalar(operand);
        if (!operand.is_scalar)
            C::with(operand.dtype, [&](auto format) ACUI_INLINE {
                typedef decltype(format) F;
                value = F::template read_one<T>(at + offset * F::BYTES);
            });
        return value;
    }

    /* Single elements, V of them in flight. */
    ACUI_DEVICE void single(const acui_elementwise &p, char *out, const char *const (&in)[3],
                                   long long chunk)
    {
#pragma unroll 1
        for (int i = 0; i < UNROLL; i++) {
            T x[N][V], y[V];
            long long place[V];
            long long first = chunk * CHUNK + i * (V * ACUI_BLOCK) + threadIdx.x;
#pragma unroll
            for (int k = 0; k < V; k++) {
                long long e = first + k * ACUI_BLOCK, offset[N + 1];
                e = e < p.elements ? e : p.elements - 1; /* a valid element instead */
                acui_offsets<N + 1>(p.index, p.at, e, offset);
                place[k] = offset[0];
#pragma unroll
                for (int j = 0; j < N; j++)
                    x[j][k] = load_one(in[j], p.at[1 + j], offset[1 + j]);
            }
            A::template apply<C, N, V>(p.op, x, y, p.unsigned_order);
            C::with(p.at[0].dtype, [&](auto format) ACUI_INLINE {
                typedef decltype(format) F;
#pragma unroll
                for (int k = 0; k < V; k++)
                    if (first + k * ACUI_BLOCK < p.elements)
                        F::write_one(out + place[k] * F::BYTES, y[k]);
            });
        }
    }

    ACUI_DEVICE void run(const acui_elementwise &p, char *out, const char *a, const char *b,
                                const char *c)
    {
        const char *const in[3] = {a, b, c};
        bool dense = p.linear && aligned(out, p.at[0].dtype);
#pragma unroll
        for (int j = 0; j < N; j++)
            dense = dense && (p.at[1 + j].is_scalar || aligned(in[j], p.at[1 + j].dtype));
        for (long long chunk = blockIdx.x; chunk * CHUNK < p.elements; chunk += gridDim.x) {
            if (dense && (chunk + 1) * CHUNK <= p.elements)
                wide(p, out, in, chunk * CHUNK + (int)threadIdx.x * V);
            else
                single(p, out, in, chunk);
        }
    }
};

#define ACUI_ELEMENTWISE_1(class)                                                                  \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        unary_##class(char *out, const char *a, acui_elementwise p)                                \
    {                                                                                              \
        acui_elementwise_loop<acui_##class, 1>::run(p, out, a, a, a);                              \
    }
#define ACUI_ELEMENTWISE_FUNCTIONS(class)                                                          \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        function_##class(char *out, const char *a, acui_elementwise p)                             \
    {                                                                                              \
        acui_elementwise_loop<acui_##class, 1, acui_functions, ACUI_FUNCTION_UNROLL>::run(         \
            p, out, a, a, a);                                                                      \
    }
#define ACUI_ELEMENTWISE_2(class)                                                                  \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        binary_##class(char *out, const char *a, const char *b, acui_elementwise p)                \
    {                                                                                              \
        acui_elementwise_loop<acui_##class, 2>::run(p, out, a, b, b);                              \
    }
#define ACUI_ELEMENTWISE_3(class)                                                                  \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) ternary_##class(                      \
        char *out, const char *a, const char *b, const char *c, acui_elementwise p)                \
    {                                                                                              \
        acui_elementwise_loop<acui_##class, 3>::run(p, out, a, b, c);                              \
    }

#endif
