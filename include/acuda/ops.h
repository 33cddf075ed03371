/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: making, converting and computing with tensors on the device.
 *
 * They are ops like any other (op.h), made from public parts (acu_op_custom): constructors never
 * fail, ops are consumed, tensors borrowed, and nothing here blocks. What an operation must know of
 * its operands it learns when it is submitted; there it refuses, in words, what does not fit. The
 * kernels are acuda's own, the same on a GPU and on the software device (except that acu_matmul
 * uses cuBLAS, if available); a device loads each family of kernels on its first use.
 *
 * Results are new dense tensors. acu_into(out, op) puts a result into an existing tensor of any
 * strides, which may be an operand: acu_into(x, acu_exp(x)). A result that overlaps an operand
 * other than element on element is refused. If another operand writes x, as in
 * acu_add(x, acu_into(x, ...)), what is read is the new x: op.h says in which order steps go.
 *
 * Operands are tensors, ops that yield one, or numbers. ACU_TERM takes an acu_op (consumed), an
 * acu_tensor (borrowed), a C number, or a scalar (acu_f32(2)); another type, such as a pointer to
 * floats, does not compile. A number takes on the dtype of the tensors beside it. Beside integers
 * it must be an integer that their dtype holds: 300 beside u8 is refused, and so is 2.0, which
 * other libraries would take as a reason to convert everything to floating point. Beside floating
 * point any number is taken and rounded to the type of the computation (below): 70000 beside f16
 * stays 70000, and only a result that is too large becomes infinite. Beside c64 and c128 a number
 * may also be complex (2 + 3 * I, std::complex, acu_c64), and beside others it may not. Tensors of
 * different dtypes are never mixed: acu_convert makes a change of precision explicit.
 *
 * Tensors may have any strides. Shapes broadcast as in NumPy: aligned at the last dimension,
 * extents must be equal, or one of them is 1 or missing. Tensors without elements, and without
 * dimensions (ACU_RANK_0), give what they give in NumPy, except that results which there have no
 * dimensions, such as sums over all of them, have one here, [1]. Operations that call a library
 * (product.h, blas.h, solver.h, sparse.h, dnn.h, npp.h), collectives (comm.h) and those of image.h
 * refuse empty operands (SHAPE).
 *
 * f16 and bf16 are computed in float and rounded once, to nearest, ties to even. tf32 counts as
 * f32. A bool is true if its byte is anything but 0 (other libraries, kernels and acu_reinterpret
 * bring such bytes); a result of bool is 0 or 1. Only copies (op.h) move its bytes as they are.
 *
 * Errors, on the future or of submit: DTYPE, SHAPE, SHARED (overlap), INVALID, LIMIT, ARGUMENTS (in
 * functions that take a count: a wrong number of operands), and those of launches.
 */
#ifndef ACUDA_OPS_H
#define ACUDA_OPS_H

#include <acuda/op.h>
#include <acuda/op_kinds.h>
#include <acuda/vendor.h>

ACU_BEGIN

/* An op that yields a number, as ACU_TERM makes it: it takes on the dtype of the tensors beside
 * it. */
ACU_API acu_op *acu_op_number_f64(double number, acu_site site);
ACU_API acu_op *acu_op_number_i64(long long number, acu_site site);
ACU_API acu_op *acu_op_number_u64(unsigned long long number, acu_site site);
ACU_API acu_op *acu_op_number_c128(double real, double imaginary, acu_site site);
#ifdef __FLT16_MAX__ /* the compiler has the type */
__extension__ typedef _Float16 acui_float16;
#define ACUI_TERM_FLOAT16 acui_float16: acu_op_number_f64,
#else
#define ACUI_TERM_FLOAT16
#endif
#ifdef __cplusplus
ACU_END /* overloads can not have C's linkage */
static inline acu_op *acui_term(acu_op *x, acu_site) { return x; }
static inline acu_op *acui_term(const acu_tensor *x, acu_site site)
{
    return acu_op_value(x, site);
}
static inline acu_op *acui_term(acu_arg x, acu_site site) { return acu_op_scalar(x, site); }
static inline acu_op *acui_term(double x, acu_site site) { return acu_op_number_f64(x, site); }
static inline acu_op *acui_term(long double x, acu_site site)
{
    return acu_op_number_f64(static_cast<double>(x), site);
}
#ifdef __FLT16_MAX__
static inline acu_op *acui_term(acui_float16 x, acu_site site)
{
    return acu_op_number_f64(static_cast<double>(x), site);
}
#endif
/* std::complex and the like */
template <typename Z>
static inline auto acui_term(const Z &z, acu_site site)
    -> decltype(z.real(), z.imag(), static_cast<acu_op *>(nullptr))
{
    return acu_op_number_c128(static_cast<double>(z.real()), static_cast<double>(z.imag()), site);
}
static inline acu_op *acui_term(int x, acu_site site) { return acu_op_number_i64(x, site); }
static inline acu_op *acui_term(long x, acu_site site) { return acu_op_number_i64(x, site); }
static inline acu_op *acui_term(long long x, acu_site site) { return acu_op_number_i64(x, site); }
static inline acu_op *acui_term(unsigned x, acu_site site) { return acu_op_number_u64(x, site); }
static inline acu_op *acui_term(unsigned long x, acu_site site)
{
    return acu_op_number_u64(x, site);
}
static inline acu_op *acui_term(unsigned long long x, acu_site site)
{
    return acu_op_number_u64(x, site);
}
ACU_BEGIN
#define ACU_TERM(x) acui_term((x), ACU_SITE)
#else
static inline acu_op *acui_term_long_double(long double number, acu_site site)
{
    return acu_op_number_f64((double)number, site);
}
#ifndef __STDC_NO_COMPLEX__
static inline acu_op *acui_term_complex(double _Complex number, acu_site site)
{
    double parts[2];
    memcpy(parts, &number, sizeof parts);
    return acu_op_number_c128(parts[0], parts[1], site);
}
#define ACUI_TERM_COMPLEX                                                                          \
    float _Complex: acui_term_complex, double _Complex: acui_term_complex,
#else
#define ACUI_TERM_COMPLEX
#endif
#define ACU_TERM(x) ACUI_CHOOSE(ACUI_TERM_BY, x, ACU_SITE)
#define ACUI_TERM_BY(x, site)                                                                      \
    _Generic(x, acu_op *: acui_operand_op, acu_tensor *: acu_op_value,                             \
             const acu_tensor *: acu_op_value,                                                     \
             acu_arg: acu_op_scalar, ACUI_TERM_FLOAT16 ACUI_TERM_COMPLEX                           \
             float: acu_op_number_f64,                                                             \
             double: acu_op_number_f64, long double: acui_term_long_double,                        \
             bool: acu_op_number_i64, char: acu_op_number_i64, signed char: acu_op_number_i64,     \
             short: acu_op_number_i64, int: acu_op_number_i64, long: acu_op_number_i64,            \
             long long: acu_op_number_i64, unsigned char: acu_op_number_u64,                       \
             unsigned short: acu_op_number_u64, unsigned: acu_op_number_u64,                       \
             unsigned long: acu_op_number_u64, unsigned long long: acu_op_number_u64)(x, site)
#endif
#define ACUI_TERMS(...) ACUI_LIST(acu_op *, __VA_ARGS__)

/* ---- making and converting ------------------------------------------------------------------ */

/*
 * See also acu_zeros, acu_ones, acu_full and acu_fill (op.h). For all dtypes except f4e2m1fnx2;
 * computed in double, or in 64-bit integers, and rounded once.
 *
 * acu_arange: start, start + step, ... up to but not including `end`: ceil((end - start) / step)
 * elements, or none. For integer dtypes all three must be integers from -2^53 to 2^53, and
 * values that the dtype does not hold wrap around.
 * acu_linspace: `count` evenly spaced values from start to end, both included (one value: start);
 * start and end are finite, the dtype is floating point.
 * acu_eye: 1 where column - row is `diagonal`, 0 elsewhere; not for f8e8m0fnu, which has no zero.
 */
#define acu_arange(dtype, start, end, step)                                                        \
    acu_op_arange((dtype), (start), (end), (step), ACU_SITE)
#define acu_linspace(dtype, start, end, count)                                                     \
    acu_op_linspace((dtype), (start), (end), (count), ACU_SITE)
#define acu_eye(dtype, n) acu_op_eye((dtype), (n), (n), 0, ACU_SITE)
#define acu_eye_rect(dtype, rows, columns, diagonal)                                               \
    acu_op_eye((dtype), (rows), (columns), (diagonal), ACU_SITE)
ACU_API acu_op *acu_op_arange(acu_dtype dtype, double start, double end, double step,
                              acu_site site);
ACU_API acu_op *acu_op_linspace(acu_dtype dtype, double start, double end, int64_t count,
                                acu_site site);
ACU_API acu_op *acu_op_eye(acu_dtype dtype, int64_t rows, int64_t columns, int64_t diagonal,
                           acu_site site);

/*
 * The same numbers in another dtype, rounded once. To floating point: to nearest, ties to even;
 * numbers too large become infinite, but in f8e4m3fn and f8e5m2 the largest number (as in hardware
 * conversions to these types); f8e8m0fnu takes the magnitude, rounded up to a power of two, as
 * scales need it. To integers: from floating point, truncated towards zero, then the nearest that
 * fits, NaN becomes 0; from integers, modulo 2^bits. To bool: whether it is not 0, from
 * bool too. To c64 and c128: the real part, the other one is 0; from them to other dtypes is
 * refused: acu_real and acu_abs say what is meant.
 *
 * An element of f4e2m1fnx2 is two numbers, neighbours along the last dimension: a tensor [..., n]
 * of it converts to [..., 2 n] of another dtype, and [..., 2 n] to [..., n]; an odd last dimension
 * is refused (SHAPE). The numbers are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; larger
 * numbers become 6, and so does NaN.
 */
#define acu_convert(x, dtype) acu_op_convert(ACU_OPERAND(x), (dtype), ACU_SITE)
ACU_API acu_op *acu_op_convert(acu_op *x, acu_dtype dtype, acu_site site);

/* ---- random numbers ------------------------------------------------------------------------- */

/*
 * Philox 4x32-10, a generator without state: element i, in row-major order, is number offset + i of
 * the sequence of `seed`, the same on every device. So parts of a sequence can be generated
 * separately, and the sequence continues at offset + elements. (The key is the seed. The counter is
 * 64 bits, number / 4, or number / 2 for f64 and integers; the upper 64 bits are 0.)
 *
 * The offset is a number of 0 or more; or a tensor, or an op that yields one: i64 of one element,
 * which the kernel reads (modulo 2^62). So each replay of a graph draws new numbers, if the graph
 * moves that on; and the same ones again from the same place on:
 *
 *   acu_tensor *next;                                      i64 [1], 0 at first
 *   acu_op *noise = acu_randn(ACU_F32, shape, seed, next);
 *   acu_op *moved = acu_into(next, acu_add(next, acu_shape_elements(shape)));
 *   acu_graph_load(device, acu_zip(acu_add(x, noise), moved), NULL, &graph);
 *
 * acu_rand: uniform in [0, 1), in multiples of 2^-24, of 2^-53 (f64), 2^-11 (f16) or 2^-8 (bf16).
 * acu_randn: normal, mean 0, standard deviation 1, by the Box-Muller method; for f32, f64, f16 and
 * bf16.
 * acu_randint: integers (or bool) from low to high - 1. For at most 2^32 different values their
 * probabilities differ by less than 2^-32 of themselves. Refused if the dtype does not hold all of
 * them.
 */
#define acu_rand(dtype, shape, seed, offset)                                                       \
    acu_op_rand((dtype), (shape), (seed), ACU_TERM(offset), ACU_SITE)
#define acu_randn(dtype, shape, seed, offset)                                                      \
    acu_op_randn((dtype), (shape), (seed), ACU_TERM(offset), ACU_SITE)
#define acu_randint(dtype, shape, low, high, seed, offset)                                         \
    acu_op_randint((dtype), (shape), (low), (high), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_rand(acu_dtype dtype, acu_shape shape, uint64_t seed, acu_op *offset,
                            acu_site site);
ACU_API acu_op *acu_op_randn(acu_dtype dtype, acu_shape shape, uint64_t seed, acu_op *offset,
                             acu_site site);
ACU_API acu_op *acu_op_randint(acu_dtype dtype, acu_shape shape, int64_t low, int64_t high,
                               uint64_t seed, acu_op *offset, acu_site site);

/* ---- elementwise ---------------------------------------------------------------------------- */

/*
 * A function of each element; op_kinds.h lists the functions with the dtypes that they take. The
 * macros below are short for this function. At least one operand is a tensor; for acu_where, at
 * least one of a and b.
 */
ACU_API acu_op *acu_op_elementwise(acu_elementwise kind, acu_op *const *operands, size_t count,
                                   acu_site site);
ACU_API const char *acu_elementwise_name(acu_elementwise kind); /* "add"; "?" for an unknown kind */
#define ACUI_ELEMENTWISE(id, ...) acu_op_elementwise(ACU_OP_##id, ACUI_TERMS(__VA_ARGS__), ACU_SITE)
#define ACUI_UNARY(id, x) ACUI_ELEMENTWISE(id, ACU_TERM(x))
#define ACUI_BINARY(id, a, b) ACUI_ELEMENTWISE(id, ACU_TERM(a), ACU_TERM(b))
#define ACUI_TERNARY(id, a, b, c) ACUI_ELEMENTWISE(id, ACU_TERM(a), ACU_TERM(b), ACU_TERM(c))

#define acu_identity(x) ACUI_UNARY(COPY, x) /* a dense copy of a tensor of any strides */
#define acu_neg(x) ACUI_UNARY(NEG, x)       /* integers wrap around, here and everywhere */
#define acu_abs(x) ACUI_UNARY(ABS, x)
#define acu_sign(x) ACUI_UNARY(SIGN, x) /* -1, 0 or 1 */
#define acu_square(x) ACUI_UNARY(SQUARE, x)
#define acu_relu(x) ACUI_UNARY(RELU, x) /* 0 where x < 0; NaN stays */
#define acu_floor(x) ACUI_UNARY(FLOOR, x)
#define acu_ceil(x) ACUI_UNARY(CEIL, x)
#define acu_trunc(x) ACUI_UNARY(TRUNC, x)
#define acu_round(x) ACUI_UNARY(ROUND, x) /* halves round to even */
/* Largest errors of the following, in units in the last place, for float (in parentheses for
 * double, if different): sqrt and reciprocal exact, exp 1.3, log 1, tanh 1.6 (3), sin and cos 1.6
 * (1), erf 1.3 (20), pow 0.6 (2). gelu: that of erf, relative to |x|. */
#define acu_sqrt(x) ACUI_UNARY(SQRT, x)
#define acu_rsqrt(x) ACUI_UNARY(RSQRT, x)           /* 1 / sqrt(x) */
#define acu_reciprocal(x) ACUI_UNARY(RECIPROCAL, x) /* 1 / x */
#define acu_exp(x) ACUI_UNARY(EXP, x)
#define acu_log(x) ACUI_UNARY(LOG, x)
#define acu_sin(x) ACUI_UNARY(SIN, x)
#define acu_cos(x) ACUI_UNARY(COS, x)
#define acu_tanh(x) ACUI_UNARY(TANH, x)
#define acu_sigmoid(x) ACUI_UNARY(SIGMOID, x) /* 1 / (1 + exp(-x)) */
#define acu_gelu(x) ACUI_UNARY(GELU, x)       /* x (1 + erf(x / sqrt(2))) / 2 */
#define acu_silu(x) ACUI_UNARY(SILU, x)       /* x sigmoid(x) */
#define acu_erf(x) ACUI_UNARY(ERF, x)
#define acu_invert(x) ACUI_UNARY(INVERT, x) /* inverts every bit; true becomes false */
#define acu_not(x) ACUI_UNARY(NOT, x)       /* x == 0 */
#define acu_is_nan(x) ACUI_UNARY(IS_NAN, x)
#define acu_is_finite(x) ACUI_UNARY(IS_FINITE, x)

#define acu_add(a, b) ACUI_BINARY(ADD, a, b)
#define acu_sub(a, b) ACUI_BINARY(SUB, a, b)
#define acu_mul(a, b) ACUI_BINARY(MUL, a, b)
#define acu_div(a, b) ACUI_BINARY(DIV, a, b) /* integers: rounded towards zero; 0 if b is 0 */
/* The remainder, with the sign of b, also if it is zero; rounded once. Integers: 0 if b is 0. */
#define acu_mod(a, b) ACUI_BINARY(MOD, a, b)
#define acu_min(a, b) ACUI_BINARY(MIN, a, b) /* NaN if either is NaN */
#define acu_max(a, b) ACUI_BINARY(MAX, a, b)
#define acu_pow(a, b) ACUI_BINARY(POW, a, b) /* integers: 0 if the result is not an integer */
#define acu_eq(a, b) ACUI_BINARY(EQ, a, b)
#define acu_ne(a, b) ACUI_BINARY(NE, a, b)
#define acu_lt(a, b) ACUI_BINARY(LT, a, b)
#define acu_le(a, b) ACUI_BINARY(LE, a, b)
#define acu_gt(a, b) ACUI_BINARY(GT, a, b)
#define acu_ge(a, b) ACUI_BINARY(GE, a, b)
#define acu_and(a, b) ACUI_BINARY(AND, a, b) /* logical: anything but 0 is true */
#define acu_or(a, b) ACUI_BINARY(OR, a, b)
#define acu_xor(a, b) ACUI_BINARY(XOR, a, b)
#define acu_bit_and(a, b) ACUI_BINARY(BIT_AND, a, b)
#define acu_bit_or(a, b) ACUI_BINARY(BIT_OR, a, b)
#define acu_bit_xor(a, b) ACUI_BINARY(BIT_XOR, a, b)
/* Shifting by a negative number, or by the width of the type or more, shifts all bits out (a
 * negative number shifted right becomes -1). */
#define acu_shift_left(a, b) ACUI_BINARY(SHIFT_LEFT, a, b)
#define acu_shift_right(a, b) ACUI_BINARY(SHIFT_RIGHT, a, b)

/*
 * c64 and c128 are computed in double, and c64 rounded once: functions within 1 ulp of each part,
 * or for c128 a few ulp of the number's size. acu_div, acu_reciprocal and acu_abs do not overflow
 * unless the result does, acu_mul is part by part as in NumPy. Branch cuts, infinities and NaN of
 * functions are C's (Annex G). acu_abs yields parts (f32 of c64). acu_sign: z / |z|. There is no
 * order: acu_lt, acu_min, acu_clamp, acu_sort and the like refuse complex numbers. The parts as a
 * view instead of a copy: acu_reinterpret(z, ACU_F32), which has twice as many along the last
 * dimension.
 */
#define acu_conj(z) ACUI_UNARY(CONJ, z)
#define acu_real(z) ACUI_UNARY(REAL, z)
#define acu_imag(z) ACUI_UNARY(IMAG, z)
#define acu_angle(z) ACUI_UNARY(ANGLE, z) /* in radians, -pi to pi */
#define acu_complex(real, imag) ACUI_BINARY(COMPLEX, real, imag) /* of f32: c64; of f64: c128 */

#define acu_where(condition, a, b) ACUI_TERNARY(WHERE, condition, a, b) /* the condition is bool */
/* NaN if one of the three is; `high` where low is above it. */
#define acu_clamp(x, low, high) ACUI_TERNARY(CLAMP, x, low, high)
#define acu_fma(a, b, c) ACUI_TERNARY(FMA, a, b, c) /* a b + c, in float or double, rounded once */

/* ---- reductions ----------------------------------------------------------------------------- */

/* Dimensions, by number; negative ones count from the end. */
typedef struct acu_dims {
    int count; /* 0: all */
    int dim[ACU_MAX_RANK];
    bool keep; /* keep them, with an extent of 1 */
} acu_dims;
#ifdef __cplusplus
ACU_END /* templates can not have C's linkage */
template <typename... N> constexpr acu_dims acui_dims(bool keep, N... dims)
{
    return acu_dims{static_cast<int>(sizeof...(N)), {static_cast<int>(dims)...}, keep};
}
ACU_BEGIN
#define ACU_ALL (acu_dims{})
#define ACU_DIMS(...) acui_dims(false, __VA_ARGS__)
#define ACU_KEEP(...) acui_dims(true, __VA_ARGS__)
#else
#define ACU_ALL ((acu_dims){.count = 0})
#define ACU_DIMS(...)                                                                              \
    ((acu_dims){.count = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .dim = {__VA_ARGS__}})
#define ACU_KEEP(...)                                                                              \
    ((acu_dims){.count = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)),                        \
                .dim = {__VA_ARGS__},                                                              \
                .keep = true})
#endif

/*
 * Reduce the elements along some dimensions to one value: acu_sum(x, ACU_ALL), acu_mean(x,
 * ACU_DIMS(-1)). If no dimension remains, the result is a tensor of one element, [1]. Of no
 * elements, a sum, norm and "any" is 0, a product and "all" 1, a mean NaN, and the others are
 * refused (SHAPE). Sums, products, means and norms are accumulated in double, or for integers in
 * 64 bits, and rounded once, in an order that follows from the shape and from how the operand lies
 * in memory: every run gives the same bits, but a view with gaps may give other ones than a dense
 * copy of it. op_kinds.h lists dtypes; sums and products of integers and bool are of i64 or u64,
 * and means of them of f64; the norm of complex numbers has the dtype of their parts.
 */
ACU_API acu_op *acu_op_reduce(acu_reduction kind, acu_op *x, acu_dims dims, acu_site site);
ACU_API const char *acu_reduction_name(acu_reduction kind);
#define ACUI_REDUCE_BY(id, x, dims) acu_op_reduce(ACU_REDUCE_##id, ACU_OPERAND(x), (dims), ACU_SITE)
#define acu_sum(x, dims) ACUI_REDUCE_BY(SUM, x, dims)
#define acu_prod(x, dims) ACUI_REDUCE_BY(PROD, x, dims)
#define acu_mean(x, dims) ACUI_REDUCE_BY(MEAN, x, dims)
#define acu_norm(x, dims) ACUI_REDUCE_BY(NORM, x, dims)       /* square root of the sum of
                                                               * squares */
#define acu_min_of(x, dims) ACUI_REDUCE_BY(MIN, x, dims)      /* NaN if any element is NaN */
#define acu_max_of(x, dims) ACUI_REDUCE_BY(MAX, x, dims)
#define acu_any(x, dims) ACUI_REDUCE_BY(ANY, x, dims)         /* bool: whether any element is not
                                                               * 0 */
#define acu_all(x, dims) ACUI_REDUCE_BY(ALL, x, dims)
/* The index of the smallest or largest element, counted over the reduced dimensions: the first of
 * equals, or the first NaN. */
#define acu_argmin(x, dims) ACUI_REDUCE_BY(ARGMIN, x, dims)
#define acu_argmax(x, dims) ACUI_REDUCE_BY(ARGMAX, x, dims)

/* ---- softmax and products of matrices -------------------------------------------------------- */

/* exp(x - max) / sum along one dimension (negative: from the end), and its logarithm. Summed as
 * layers.h says. For f32, f64, f16 and bf16. */
#define acu_softmax(x, dimension) acu_op_softmax(ACU_OPERAND(x), (dimension), false, ACU_SITE)
#define acu_log_softmax(x, dimension) acu_op_softmax(ACU_OPERAND(x), (dimension), true, ACU_SITE)
ACU_API acu_op *acu_op_softmax(acu_op *x, int dimension, bool log, acu_site site);

/*
 * Matrix product: [..., m, k] times [..., k, n] is [..., m, n]; leading dimensions broadcast. As in
 * NumPy, a vector on the left is one row, one on the right is one column, and the result lacks that
 * dimension: [..., m, k] times [k] is [..., m], [k] times [..., k, n] is [..., n], and [k] times
 * [k], the dot product, is [1] (of complex vectors, with acu_conj(a): NumPy's vdot). Any strides: a
 * transposed view (acu_transpose) costs nothing. For f32, tf32, f64, f16, bf16, c64, c128 and
 * integers, which wrap around.
 *
 * cuBLAS computes it, at the speed of the tensor cores, if it is found and can do so without a copy
 * (each matrix is dense along its rows or its columns, and the matrices of a batch are evenly
 * spaced). Otherwise, and for integers, acuda's own kernel does, in tiles through shared memory.
 * Sums are in float (f64, c64, c128: double) and rounded once. f32 is multiplied in full precision;
 * tf32 operands are rounded or truncated to tf32 by tensor cores, and not at all without them. The
 * kernel adds up each element along k in order, except where it uses tensor cores itself: for f16,
 * bf16 and tf32 on compute capability 8.0 and newer, of at least 64 rows, 64 columns and 32 along
 * k, where elements are neighbours along one dimension of each operand and the other stride is a
 * multiple of 16 bytes. Those add 16 at a time (tf32: 8). cuBLAS chooses its order by the shapes,
 * and promises the same bits in every run on the same GPU.
 *
 * cuBLAS (11 to 13) is looked for when the first product is submitted to a device: vendor.h says
 * where, and how to name one or switch it off. If there is none, or it can not be used
 * (acu_vendor_load says why), the kernel does everything. The kernel also does whatever cuBLAS does
 * not support. In an acu_graph, what cuBLAS enqueues is captured when the graph is made, so a
 * replay does not call it.
 *
 * Temporary memory comes from the pool that results come from: at most 4 MiB (32 MiB from compute
 * capability 9.0 on) for all products of a submission. A submit may take long when cuBLAS loads one
 * of its kernels for the first time. cuBLAS handles go with the device. If the device was lost, the
 * host memory of its handles is not freed, and after acu_device_reset the kernel does everything,
 * because the library still refers to the old context. Further errors: DRIVER, DEVICE_MEMORY, with
 * cuBLAS's name for the status.
 */
#define acu_matmul(a, b) acu_op_matmul(ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_matmul(acu_op *a, acu_op *b, acu_site site);

/* ---- one kernel from an expression ----------------------------------------------------------- */

/*
 * An elementwise operation of the program's own, as text: "a * x + tanh(y)". Its kernel is compiled
 * (compile.h) when it is first used with a dtype on a device, alongside submitted work: the op
 * waits for it on the host, but submitting does not. It reads each operand once, and so is as fast
 * as the memory.
 *
 * The operands are the names in the text, in the order of their first appearance, at most 8. At
 * least one is a tensor; all tensors have the same dtype, of floating point (f16 to f64), complex
 * numbers or integers; the others are numbers. As in all operations, they broadcast and may have
 * any strides. The text may contain
 *   a ? b : c   || && == != < <= > >= + - * / - !   numbers   ( )
 *   abs sign square sqrt rsqrt reciprocal exp log sin cos tanh sigmoid gelu silu relu erf floor
 *   ceil trunc round min max pow fma where clamp conj real imag angle complex, with arguments as in
 *   the functions above
 * A comparison gives 1 or 0. Limits: 2048 bytes of text, 31 for a name, 40 for a number, and a
 * nesting depth of 64.
 *
 * Of complex tensors, a part of the expression is complex if something complex goes into it, but
 * for abs, angle, real, imag, comparisons and !, whose results are real; numbers are what they are
 * given as. Where the whole is real, so is the result: "abs(z)" of c64 is f32. It is computed in
 * double, as the operations above are. What complex numbers do not have (an order, rounding, erf
 * and its like) is DTYPE, with the column, and fine for what is real: "abs(z) < 1 ? z : sign(z)".
 *
 * Integers are computed in 32 bits (those of 64 bits in 64), and only the result is cut to the
 * dtype's bits: the sum in "(a + b) / 2" of u8 may be above 255. Numbers in the text are whole, and
 * the functions abs sign square relu min max pow where clamp; others are DTYPE, with the column.
 *
 * The handle keeps its kernels, and through them the device, until it is released; ops in flight
 * keep what they need. Errors: INVALID (with the column), NO_MEMORY. Does not block.
 */
typedef struct acu_expression acu_expression;
ACU_API acu_status acu_expression_create(const char *text, acu_expression **expression);
ACU_API acu_expression *acu_expression_retain(acu_expression *expression);
ACU_API void acu_expression_release(acu_expression *expression);
ACU_API size_t acu_expression_operands(const acu_expression *expression);
/* The operand's name; NULL if `i` is out of range. */
ACU_API const char *acu_expression_operand(const acu_expression *expression, size_t i);
/* acu_fused(expression, a, x, y): one to eight terms. Further errors of the op: those of
 * acu_compile. */
#define acu_fused(expression, ...)                                                                 \
    acu_op_fused((expression), ACUI_TERMS(ACUI_EACH_TERM(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_fused(acu_expression *expression, acu_op *const *operands, size_t count,
                             acu_site site);
#define ACUI_EACH_TERM(...)                                                                        \
    ACUI_TERM_PICK(__VA_ARGS__, ACUI_TERM_8, ACUI_TERM_7, ACUI_TERM_6, ACUI_TERM_5, ACUI_TERM_4,   \
                   ACUI_TERM_3, ACUI_TERM_2, ACUI_TERM_1, 0)(__VA_ARGS__)
#define ACUI_TERM_PICK(a, b, c, d, e, f, g, h, name, ...) name
#define ACUI_TERM_1(a) ACU_TERM(a)
#define ACUI_TERM_2(a, ...) ACU_TERM(a), ACUI_TERM_1(__VA_ARGS__)
#define ACUI_TERM_3(a, ...) ACU_TERM(a), ACUI_TERM_2(__VA_ARGS__)
#define ACUI_TERM_4(a, ...) ACU_TERM(a), ACUI_TERM_3(__VA_ARGS__)
#define ACUI_TERM_5(a, ...) ACU_TERM(a), ACUI_TERM_4(__VA_ARGS__)
#define ACUI_TERM_6(a, ...) ACU_TERM(a), ACUI_TERM_5(__VA_ARGS__)
#define ACUI_TERM_7(a, ...) ACU_TERM(a), ACUI_TERM_6(__VA_ARGS__)
#define ACUI_TERM_8(a, ...) ACU_TERM(a), ACUI_TERM_7(__VA_ARGS__)

ACU_END

#ifdef __cplusplus /* for the macros above: in C++ a list is one argument */
static inline acu_op *acu_op_elementwise(acu_elementwise kind, acui_list<acu_op *> operands,
                                         acu_site site)
{
    return acu_op_elementwise(kind, operands.items, operands.count, site);
}
static inline acu_op *acu_op_fused(acu_expression *expression, acui_list<acu_op *> operands,
                                   acu_site site)
{
    return acu_op_fused(expression, operands.items, operands.count, site);
}
#endif
#endif
