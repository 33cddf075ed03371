/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elementwise operations on c64 and c128, and those that take them apart and put them together. */
#include "complex.cuh"
#include "elementwise.cuh"

typedef acui_complex C;

/* ---- kernels ------------------------------------------------------------------------------------- */

ACUI_DEVICE C truth(bool is) { return {is ? 1.0 : 0.0, 0.0}; }

ACUI_DEVICE C simple(int op, C z)
{
    switch (op) {
    case ACU_OP_NEG: return -z;
    case ACU_OP_SQUARE: return z * z;
    case ACU_OP_NOT: return truth(acui_is_zero(z));
    case ACU_OP_IS_NAN: return truth(z.x != z.x || z.y != z.y);
    case ACU_OP_IS_FINITE: return truth(isfinite(z.x) && isfinite(z.y));
    case ACU_OP_CONJ: return {z.x, -z.y};
    case ACU_OP_IMAG: return {z.y, 0.0};
    default: return z; /* also the real part: the result holds no other */
    }
}
ACUI_DEVICE_OUTLINE C function(int op, C z)
{
    switch (op) {
    case ACU_OP_ABS: return {hypot(z.x, z.y), 0.0};
    case ACU_OP_ANGLE: return {atan2(z.y, z.x), 0.0};
    case ACU_OP_SIGN: return acui_sign_of(z);
    case ACU_OP_SQRT: return acui_sqrt_of(z);
    case ACU_OP_RSQRT: return C{1.0, 0.0} / acui_sqrt_of(z);
    case ACU_OP_RECIPROCAL: return C{1.0, 0.0} / z;
    case ACU_OP_EXP: return acui_exp_of(z);
    case ACU_OP_LOG: return acui_log_of(z);
    case ACU_OP_SIN: return acui_sin_of(z);
    case ACU_OP_COS: return acui_cos_of(z);
    default: return acui_tanh_of(z);
    }
}
ACUI_DEVICE C of_two(int op, C a, C b)
{
    switch (op) {
    case ACU_OP_ADD: return a + b;
    case ACU_OP_SUB: return a - b;
    case ACU_OP_MUL: return a * b;
    case ACU_OP_DIV: return a / b;
    case ACU_OP_POW: return acui_pow_of(a, b);
    case ACU_OP_EQ: return truth(a == b);
    case ACU_OP_NE: return truth(!(a == b));
    case ACU_OP_AND: return truth(!acui_is_zero(a) && !acui_is_zero(b));
    case ACU_OP_OR: return truth(!acui_is_zero(a) || !acui_is_zero(b));
    case ACU_OP_XOR: return truth(acui_is_zero(a) != acui_is_zero(b));
    default: return {a.x, b.x}; /* ACU_OP_COMPLEX */
    }
}

struct of_complex {
    template <typename K, int N, int COUNT>
    ACUI_DEVICE void apply(int op, const C (&x)[N][COUNT], C (&y)[COUNT], bool)
    {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            if constexpr (N == 1)
                y[k] = simple(op, x[0][k]);
            else if constexpr (N == 2)
                y[k] = of_two(op, x[0][k], x[1][k]);
            else /* where */
                y[k] = acui_is_zero(x[0][k]) ? x[2][k] : x[1][k];
        }
    }
};
struct functions {
    template <typename K, int N, int COUNT>
    ACUI_DEVICE void apply(int op, const C (&x)[N][COUNT], C (&y)[COUNT], bool)
    {
#pragma unroll 1
        for (int k = 0; k < COUNT; k++)
            y[k] = function(op, x[0][k]);
    }
};

#define ACUI_Z extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
ACUI_Z unary_z(char *out, const char *a, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 1, of_complex>::run(p, out, a, a, a);
}
ACUI_Z function_z(char *out, const char *a, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 1, functions, ACUI_FUNCTION_UNROLL>::run(p, out, a, a, a);
}
ACUI_Z binary_z(char *out, const char *a, const char *b, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 2, of_complex>::run(p, out, a, b, b);
}
ACUI_Z ternary_z(char *out, const char *a, const char *b, const char *c, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 3, of_complex>::run(p, out, a, b, c);
}
