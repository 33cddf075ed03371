/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Integers in kernels made of expressions (src/ops/fused_source.c): they wrap around, and what is divided by 0
 * is 0. fn_NAME is the function NAME of an expression. V is int or long long, or the same without sign, W that
 * without sign.
 */
#ifndef ACUDA_KERNELS_EXPRESSION_I_CUH
#define ACUDA_KERNELS_EXPRESSION_I_CUH

template <typename V, typename W> struct acui_whole {
    V v;
    acui_whole() = default;
    template <typename X> __device__ acui_whole(X x) : v((V)x) {}
    __device__ explicit operator bool() const { return v != 0; }
    __device__ static acui_whole divide(V a, V b)
    {
        return b == 0 ? V(0) : b == (V)-1 && (V)-1 < 0 ? (V)((W)0 - (W)a) : (V)(a / b);
    }

#define ACUI_X(sign)                                                                               \
    __device__ friend acui_whole operator sign(acui_whole a, acui_whole b)                         \
    {                                                                                              \
        return (V)((W)a.v sign(W) b.v);                                                            \
    }
    ACUI_X(+) ACUI_X(-) ACUI_X(*)
#undef ACUI_X
#define ACUI_X(sign)                                                                               \
    __device__ friend bool operator sign(acui_whole a, acui_whole b) { return a.v sign b.v; }
    ACUI_X(==) ACUI_X(!=) ACUI_X(<) ACUI_X(<=) ACUI_X(>) ACUI_X(>=)
#undef ACUI_X
    __device__ friend acui_whole operator/(acui_whole a, acui_whole b) { return divide(a.v, b.v); }
    __device__ friend acui_whole operator+(acui_whole a) { return a; }
    __device__ friend acui_whole operator-(acui_whole a) { return (V)((W)0 - (W)a.v); }

    __device__ friend acui_whole fn_abs(acui_whole a) { return a < 0 ? -a : a; }
    __device__ friend acui_whole fn_sign(acui_whole a) { return (a > 0) - (a < 0); }
    __device__ friend acui_whole fn_square(acui_whole a) { return a * a; }
    __device__ friend acui_whole fn_relu(acui_whole a) { return a < 0 ? acui_whole(0) : a; }
    __device__ friend acui_whole fn_min(acui_whole a, acui_whole b) { return a < b ? a : b; }
    __device__ friend acui_whole fn_max(acui_whole a, acui_whole b) { return a > b ? a : b; }
    __device__ friend acui_whole fn_where(acui_whole c, acui_whole a, acui_whole b) { return c ? a : b; }
    __device__ friend acui_whole fn_clamp(acui_whole a, acui_whole b, acui_whole c)
    {
        a = a < b ? b : a;
        return a > c ? c : a;
    }
    /* 0 if it is no integer */
    __device__ friend acui_whole fn_pow(acui_whole a, acui_whole b)
    {
        W result = 1, base = (W)a.v;
        if (b.v < 0)
            return a.v == 1 ? 1 : a.v == (V)-1 ? (b.v & 1 ? -1 : 1) : 0;
        for (W n = (W)b.v; n; n >>= 1, base *= base)
            result *= n & 1 ? base : (W)1;
        return (V)result;
    }
};

#endif
