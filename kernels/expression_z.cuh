/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Complex numbers in kernels made of expressions (src/ops/fused_source.c): beside double for what is real, so
 * that C++ tells which of the two something is. fn_NAME is the function NAME of an expression; those of double
 * are in the source that includes this file.
 */
#ifndef ACUDA_KERNELS_EXPRESSION_Z_CUH
#define ACUDA_KERNELS_EXPRESSION_Z_CUH

#include "complex_math.cuh"

struct acui_number : acui_complex {
    acui_number() = default;
    __device__ acui_number(acui_complex z) : acui_complex(z) {}
    __device__ acui_number(double re, double im = 0) : acui_complex{re, im} {}
    __device__ explicit operator bool() const { return !acui_is_zero(*this); }
};

#define ACUI_X(sign)                                                                               \
    ACUI_DEVICE acui_number operator sign(acui_number a, acui_number b)                            \
    {                                                                                              \
        return acui_complex(a) sign acui_complex(b);                                               \
    }
ACUI_X(+) ACUI_X(-) ACUI_X(*) ACUI_X(/)
#undef ACUI_X
ACUI_DEVICE acui_number operator+(acui_number z) { return z; }
ACUI_DEVICE acui_number operator-(acui_number z) { return -acui_complex(z); }
ACUI_DEVICE bool operator==(acui_number a, acui_number b) { return acui_complex(a) == acui_complex(b); }
ACUI_DEVICE bool operator!=(acui_number a, acui_number b) { return !(a == b); }

ACUI_DEVICE double fn_abs(acui_number z) { return hypot(z.x, z.y); }
ACUI_DEVICE double fn_angle(acui_number z) { return atan2(z.y, z.x); }
ACUI_DEVICE double fn_real(acui_number z) { return z.x; }
ACUI_DEVICE double fn_imag(acui_number z) { return z.y; }
ACUI_DEVICE acui_number fn_conj(acui_number z) { return {z.x, -z.y}; }
ACUI_DEVICE acui_number fn_complex(double re, double im) { return {re, im}; }
ACUI_DEVICE acui_number fn_sign(acui_number z) { return acui_sign_of(z); }
ACUI_DEVICE acui_number fn_square(acui_number z) { return z * z; }
ACUI_DEVICE acui_number fn_sqrt(acui_number z) { return acui_sqrt_of(z); }
ACUI_DEVICE acui_number fn_rsqrt(acui_number z) { return acui_number(1.0) / acui_number(acui_sqrt_of(z)); }
ACUI_DEVICE acui_number fn_reciprocal(acui_number z) { return acui_number(1.0) / z; }
ACUI_DEVICE acui_number fn_exp(acui_number z) { return acui_exp_of(z); }
ACUI_DEVICE acui_number fn_log(acui_number z) { return acui_log_of(z); }
ACUI_DEVICE acui_number fn_sin(acui_number z) { return acui_sin_of(z); }
ACUI_DEVICE acui_number fn_cos(acui_number z) { return acui_cos_of(z); }
ACUI_DEVICE acui_number fn_tanh(acui_number z) { return acui_tanh_of(z); }
ACUI_DEVICE acui_number fn_pow(acui_number a, acui_number b) { return acui_pow_of(a, b); }
/* Complex if one of a and b is. */
template <typename C, typename A, typename B> ACUI_DEVICE auto fn_where(C c, A a, B b) { return c != 0 ? a : b; }

#endif
