/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: making, converting and computing with tensors on the device.
 *
 * They are ops like others (op.h), made of public parts (acu_op_custom): constructors never fail,
 * ops are consumed, tensors borrowed; nothing here blocks. What an operation needs to know of its
 * operands, it learns when it is submitted, and refuses there, in words, what does not fit. Kernels
 * are acuda's own, the same on a GPU and on the software device (but acu_matmul uses cuBLAS, if it
 * is there); a device loads those of a kind when they are first used.
 *
 * Results are new dense tensors; acu_into(out, op) puts them into a tensor that is there, of any
 * strides, also into an operand: acu_into(x, acu_exp(x)). A result that lies over an operand in
 * another way than element on element is refused.
 *
 * Operands are tensors, ops that yield one, or numbers: ACU_TERM takes an acu_op (consumed), an
 * acu_tensor (borrowed), a number of C, or a scalar (acu_f32(2)). A number takes on the dtype of
 * the tensors beside it. Beside integers it must be an integer that their dtype holds: 300 beside
 * u8 is refused, and so is 2.0, for which others would make all of it floating point. Beside
 * floating point any number is taken, rounded to what is computed with (below): 70000 beside f16 is
 * 70000, and only a result that is too large becomes infinite. Tensors of different dtypes are not
 * mixed: acu_convert says where precision goes.
 *
 * Tensors may have any strides. Shapes broadcast as in NumPy: aligned at the last dimension,
 * extents are equal, or one of them is 1, or missing.
 *
 * f16 and bf16 are computed in float and rounded once, to the nearest, ties
 * to even. tf32 counts as f32.
 *
 * Errors, on the future or of submit: DTYPE, SHAPE, SHARED (overlap), INVALID, LIMIT, ARGUMENTS
 * (of functions that take a count: another number of operands), and those of launches.
 */
#ifndef ACUDA_OPS_H
#define ACUDA_OPS_H

#include <acuda/op.h>
#include <acuda/op_kinds.h>

ACU_BEGIN

ACU_API acu_op *acui_term_f64(double number, acu_site site);
ACU_API acu_op *acui_term_i64(long long number, acu_site site);
ACU_API acu_op *acui_term_u64(unsigned long long number, acu_site site);
#ifdef __cplusplus
ACU_END /* overloads can not have C's linkage */
static inline acu_op *acui_term(acu_op *x, acu_site) { return x; }
static inline acu_op *acui_term(acu_tensor *x, acu_site site)
{
    return acui_operand_tensor(x, site);
}
static inline acu_op *acui_term(acu_arg x, acu_site site) { return acu_op_scalar(x, site); }
static inline acu_op *acui_term(double x, acu_site site) { return acui_term_f64(x, site); }
static inline acu_op *acui_term(long double x, acu_site site)
{
    return acui_term_f64(static_cast<double>(x), site);
}
static inline acu_op *acui_term(int x, acu_site site) { return acui_term_i64(x, site); }
static inline acu_op *acui_term(long x, acu_site site) { return acui_term_i64(x, site); }
static inline acu_op *acui_term(long long x, acu_site site) { return acui_term_i64(x, site); }
static inline acu_op *acui_term(unsigned x, acu_site site) { return acui_term_u64(x, site); }
static inline acu_op *acui_term(unsigned long x, acu_site site) { return acui_term_u64(x, site); }
static inline acu_op *acui_term(unsigned long long x, acu_site site)
{
    return acui_term_u64(x, site);
}
ACU_BEGIN
#define ACU_TERM(x) acui_term((x), ACU_SITE)
#else
#define ACU_TERM(x)                                                                                \
    _Generic((x), acu_op *: acui_operand_op, acu_tensor *: acui_operand_tensor,                    \
             acu_arg: acu_op_scalar, float: acui_term_f64, double: acui_term_f64,                  \
             long double: acui_term_f64,                                                           \
             unsigned long: acui_term_u64, unsigned long long: acui_term_u64,                      \
             default: acui_term_i64)((x), ACU_SITE)
#endif
#define ACUI_TERMS(...) ACUI_LIST(acu_op *, __VA_ARGS__)

/* ---- making and converting ------------------------------------------------------------------ */

/*
 * Beside acu_zeros, acu_ones, acu_full and acu_fill (op.h). Of all dtypes but f4e2m1fnx2; computed
 * in double, or in 64-bit integers, and rounded once.
 *
 * acu_arange: start, start + step, ... as long as it is before `end`: ceil((end - start) / step)
 * elements, at least one. Of integer dtypes all three must be integers, from -2^53 to 2^53, and
 * what the dtype does not hold wraps around.
 * acu_linspace: `count` values from start to end, finite ones, both met, evenly spaced; of floating
 * point.
 * acu_eye: 1 where column - row is `diagonal`, 0 elsewhere; not of f8e8m0fnu, which has no zero.
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
 * The same numbers in another dtype, rounded once. To floating point: to the nearest, ties to even;
 * what is too large becomes infinite, but in f8e4m3fn and f8e5m2 the largest number (as hardware's
 * conversion for these does); f8e8m0fnu takes the magnitude, up to the next power of two, as scales
 * need it. To integers: from floating point towards zero, the nearest that fits, NaN becomes 0;
 * from integers modulo 2^bits. To bool: whether it is not 0.
 *
 * An element of f4e2m1fnx2 is two numbers, neighbours along the last dimension: [..., n] of it is
 * converted to [..., 2 n] of another dtype, and [..., 2 n] to [..., n]; an odd last dimension is
 * refused (SHAPE). The numbers are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; what is larger
 * becomes 6, and so does NaN.
 */
#define acu_convert(x, dtype) acu_op_convert(ACU_OPERAND(x), (dtype), ACU_SITE)
ACU_API acu_op *acu_op_convert(acu_op *x, acu_dtype dtype, acu_site site);

/* ---- random numbers ------------------------------------------------------------------------- */

/*
 * Philox 4x32-10, a generator without a state: element i, in row-major order, is number offset + i
 * of the sequence of `seed`, the same on every device. So parts of a sequence can be made apart,
 * and the next numbers of it follow at offset + elements. (Key: the seed. Counter: 64 bits, number
 * / 4, or / 2 for f64 and integers; the upper 64 are 0.)
 *
 * acu_rand: uniform in [0, 1), multiples of 2^-24, of 2^-53 (f64), 2^-11 (f16) or 2^-8 (bf16).
 * acu_randn: normal, mean 0, deviation 1, by Box and Muller's method, of f32, f64, f16 and bf16.
 * acu_randint: integers (or bool) from low to high - 1, whose chances differ by less than 2^-32 of
 * them where there are at most 2^32 of them; refused if the type does not have all of them.
 */
#define acu_rand(dtype, shape, seed, offset)                                                       \
    acu_op_rand((dtype), (shape), (seed), (offset), ACU_SITE)
#define acu_randn(dtype, shape, seed, offset)                                                      \
    acu_op_randn((dtype), (shape), (seed), (offset), ACU_SITE)
#define acu_randint(dtype, shape, low, high, seed, offset)                                         \
    acu_op_randint((dtype), (shape), (low), (high), (seed), (offset), ACU_SITE)
ACU_API acu_op *acu_op_rand(acu_dtype dtype, acu_shape shape, uint64_t seed, int64_t offset,
                            acu_site site);
ACU_API acu_op *acu_op_randn(acu_dtype dtype, acu_shape shape, uint64_t seed, int64_t offset,
                             acu_site site);
ACU_API acu_op *acu_op_randint(acu_dtype dtype, acu_shape shape, int64_t low, int64_t high,
                               uint64_t seed, int64_t offset, acu_site site);

/* ---- elementwise ---------------------------------------------------------------------------- */

/*
 * Each is a function of elements; op_kinds.h lists them with the dtypes that they take. The macros
 * below are short for this one. At least one operand is a tensor, of acu_where one of a and b.
 */
ACU_API acu_op *acu_op_elementwise(acu_elementwise kind, acu_op *const *operands, size_t count,
                                   acu_site site);
ACU_API const char *acu_elementwise_name(acu_elementwise kind); /* "add"; "?" if there is none */
#define ACUI_ELEMENTWISE(id, ...) acu_op_elementwise(ACU_OP_##id, ACUI_TERMS(__VA_ARGS__), ACU_SITE)
#define ACUI_UNARY(id, x) ACUI_ELEMENTWISE(id, ACU_TERM(x))
#define ACUI_BINARY(id, a, b) ACUI_ELEMENTWISE(id, ACU_TERM(a), ACU_TERM(b))
#define ACUI_TERNARY(id, a, b, c) ACUI_ELEMENTWISE(id, ACU_TERM(a), ACU_TERM(b), ACU_TERM(c))

#define acu_identity(x) ACUI_UNARY(COPY, x) /* a copy, dense, of a tensor of any strides */
#define acu_neg(x) ACUI_UNARY(NEG, x)       /* integers wrap around, here and everywhere */
#define acu_abs(x) ACUI_UNARY(ABS, x)
#define acu_sign(x) ACUI_UNARY(SIGN, x) /* -1, 0 or 1 */
#define acu_square(x) ACUI_UNARY(SQUARE, x)
#define acu_relu(x) ACUI_UNARY(RELU, x) /* 0 where x < 0; NaN stays */
#define acu_floor(x) ACUI_UNARY(FLOOR, x)
#define acu_ceil(x) ACUI_UNARY(CEIL, x)
#define acu_trunc(x) ACUI_UNARY(TRUNC, x)
#define acu_round(x) ACUI_UNARY(ROUND, x) /* halves to even */
/* Errors of the following in units in the last place of float and double: sqrt and reciprocal
 * exact, exp 1.3, log 1, tanh 1.6 (3), sin and cos 1.6 (1), erf 1.3 (20), pow 0.6 (2); of gelu: of
 * erf, relative to |x|. */
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
#define acu_invert(x) ACUI_UNARY(INVERT, x) /* every bit; true for false */
#define acu_not(x) ACUI_UNARY(NOT, x)       /* x == 0 */
#define acu_is_nan(x) ACUI_UNARY(IS_NAN, x)
#define acu_is_finite(x) ACUI_UNARY(IS_FINITE, x)

#define acu_add(a, b) ACUI_BINARY(ADD, a, b)
#define acu_sub(a, b) ACUI_BINARY(SUB, a, b)
#define acu_mul(a, b) ACUI_BINARY(MUL, a, b)
#define acu_div(a, b) ACUI_BINARY(DIV, a, b) /* integers: towards zero, and 0 where b is */
/* The rest, with the sign of b, zero too, rounded once; integers: 0 where b is. */
#define acu_mod(a, b) ACUI_BINARY(MOD, a, b)
#define acu_min(a, b) ACUI_BINARY(MIN, a, b) /* NaN if either is */
#define acu_max(a, b) ACUI_BINARY(MAX, a, b)
#define acu_pow(a, b) ACUI_BINARY(POW, a, b) /* integers: 0 for what is no whole number */
#define acu_eq(a, b) ACUI_BINARY(EQ, a, b)
#define acu_ne(a, b) ACUI_BINARY(NE, a, b)
#define acu_lt(a, b) ACUI_BINARY(LT, a, b)
#define acu_le(a, b) ACUI_BINARY(LE, a, b)
#define acu_gt(a, b) ACUI_BINARY(GT, a, b)
#define acu_ge(a, b) ACUI_BINARY(GE, a, b)
#define acu_and(a, b) ACUI_BINARY(AND, a, b) /* of truths: what is not 0 is true */
#define acu_or(a, b) ACUI_BINARY(OR, a, b)
#define acu_xor(a, b) ACUI_BINARY(XOR, a, b)
#define acu_bit_and(a, b) ACUI_BINARY(BIT_AND, a, b)
#define acu_bit_or(a, b) ACUI_BINARY(BIT_OR, a, b)
#define acu_bit_xor(a, b) ACUI_BINARY(BIT_XOR, a, b)
/* By as many bits as the type has, or more, or less than none: all are shifted out. */
#define acu_shift_left(a, b) ACUI_BINARY(SHIFT_LEFT, a, b)
#define acu_shift_right(a, b) ACUI_BINARY(SHIFT_RIGHT, a, b)

#define acu_where(condition, a, b) ACUI_TERNARY(WHERE, condition, a, b) /* a condition of bool */
#define acu_clamp(x, low, high) ACUI_TERNARY(CLAMP, x, low, high)       /* NaN stays */
#define acu_fma(a, b, c) ACUI_TERNARY(FMA, a, b, c) /* a b + c, rounded once in float or double */

/* ---- reductions ----------------------------------------------------------------------------- */

/* Dimensions, by number; negative ones count from the last. */
typedef struct acu_dims {
    int count; /* 0: all */
    int dim[ACU_MAX_RANK];
    bool keep; /* they stay, with an extent of 1 */
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
 * One value of all elements along some dimensions: acu_sum(x, ACU_ALL), acu_mean(x, ACU_DIMS(-1)).
 * What remains of no dimension is a tensor of one element. Sums, products, means and norms are
 * accumulated in double, of integers in 64 bits, in an order that follows from the shape: the same
 * bits in every run, and rounded once. op_kinds.h lists dtypes; sums and products of integers and
 * bool are of i64 or u64.
 */
ACU_API acu_op *acu_op_reduce(acu_reduction kind, acu_op *x, acu_dims dims, acu_site site);
ACU_API const char *acu_reduction_name(acu_reduction kind);
#define ACUI_REDUCE_BY(id, x, dims) acu_op_reduce(ACU_REDUCE_##id, ACU_OPERAND(x), (dims), ACU_SITE)
#define acu_sum(x, dims) ACUI_REDUCE_BY(SUM, x, dims)
#define acu_prod(x, dims) ACUI_REDUCE_BY(PROD, x, dims)
#define acu_mean(x, dims) ACUI_REDUCE_BY(MEAN, x, dims)
#define acu_norm(x, dims) ACUI_REDUCE_BY(NORM, x, dims)       /* root of the sum of squares */
#define acu_min_of(x, dims) ACUI_REDUCE_BY(MIN, x, dims)      /* NaN if there is one */
#define acu_max_of(x, dims) ACUI_REDUCE_BY(MAX, x, dims)
#define acu_any(x, dims) ACUI_REDUCE_BY(ANY, x, dims)         /* bool: not 0 */
#define acu_all(x, dims) ACUI_REDUCE_BY(ALL, x, dims)
/* Where it is, counted over the dimensions that are reduced: the first of equals, or of NaN. */
#define acu_argmin(x, dims) ACUI_REDUCE_BY(ARGMIN, x, dims)
#define acu_argmax(x, dims) ACUI_REDUCE_BY(ARGMAX, x, dims)

/* ---- softmax and products of matrices -------------------------------------------------------- */

/* exp(x - max) / sum along one dimension (negative: from the last), and the logarithm of it. Summed
 * up in double; of f32, f64, f16 and bf16. */
#define acu_softmax(x, dimension) acu_op_softmax(ACU_OPERAND(x), (dimension), false, ACU_SITE)
#define acu_log_softmax(x, dimension) acu_op_softmax(ACU_OPERAND(x), (dimension), true, ACU_SITE)
ACU_API acu_op *acu_op_softmax(acu_op *x, int dimension, bool log, acu_site site);

/*
 * [..., m, k] times [..., k, n] is [..., m, n]; dimensions in front broadcast. Any strides: a
 * transposed view (acu_transpose) costs nothing. Of f32, tf32, f64, f16, bf16 and integers, which
 * wrap around.
 *
 * By cuBLAS where it is found and can do it without a copy (each matrix is dense along its rows or
 * its columns, the matrices of a batch lie at even distances), which has the speed of the tensor
 * cores; else, and for integers, by acuda's own kernel, in tiles through shared memory. Added up in
 * float (f64: double) and rounded once; f32 is multiplied in full, and operands of tf32 rounded or
 * cut off to that. By the kernel each element is added up along k in order; cuBLAS chooses its
 * order by the shapes, and promises the same bits on the same GPU in every run.
 *
 * cuBLAS is looked for when the first product is submitted to a device: its version 11 to 13, not
 * newer than the driver, as `path` of the settings says, else the environment variable
 * ACUDA_CUBLAS, else as the system finds libcublas.so.13 (.12, .11), then in CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda*, /opt/cuda. ACUDA_CUBLAS=off switches it off. On the software device only one
 * that the program names is used. It is opened on a thread of acuda's own, which takes a while:
 * products that are submitted meanwhile wait for it on the host, and submitting does not. If there
 * is none, or it can not be used (acu_cublas_load says why), the kernel does all; so it does what
 * cuBLAS does not support, and what is in an acu_graph. Temporary memory, from the pool that
 * results come from: at most 4 MiB, 32 from compute capability 9.0 on, for all products of a
 * submission. Errors besides: DRIVER, DEVICE_MEMORY, with cuBLAS's name for the status. A submit
 * may take long where cuBLAS loads a kernel of its own for the first time. Handles go with the
 * device; of one that was lost, what they have in host memory stays, and after acu_device_reset the
 * kernel does all: the library still knows the context that went.
 */
#define acu_matmul(a, b) acu_op_matmul(ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_matmul(acu_op *a, acu_op *b, acu_site site);

/* How all of the process uses cuBLAS; a call replaces the settings of the one before. They count
 * for products that are submitted from then on; `path` for devices that had none yet. */
typedef struct acu_cublas_settings {
    size_t size;      /* sizeof(acu_cublas_settings) */
    bool off;         /* acuda's own kernels do all */
    const char *path; /* the library's file; NULL: looked for. BUSY once another one is open */
} acu_cublas_settings;
ACU_API acu_status acu_cublas_configure(const acu_cublas_settings *settings);

/*
 * Open cuBLAS for the device now, so that no product waits for that, or to learn why it is not
 * used. Blocks while it is opened, the first time. Driver: what cuBLAS calls. Errors: NOT_FOUND
 * (switched off; or where it was looked for), DRIVER, DEVICE_MEMORY, NOT_SUPPORTED (it can not be
 * used on this device: cuBLAS's status), NO_MEMORY.
 */
ACU_API acu_status acu_cublas_load(acu_device *device);
/* Of the library that is open: 130002 for 13.0.2; 0: none is. */
ACU_API int acu_cublas_version(void);
ACU_API const char *acu_cublas_path(void); /* its file, a static text; NULL: none is */

/* ---- one kernel from an expression ----------------------------------------------------------- */

/*
 * An elementwise operation of the program's own, as text: "a * x + tanh(y)". Its kernel is compiled
 * when it is first used with a dtype on a device (compile.h), beside what is submitted; the op
 * waits for that on the host, and submitting does not. Reading each operand once, it is as fast as
 * the memory.
 *
 * Operands are the names in it, in the order in which they first appear, at most 8; at least one is
 * a tensor, all tensors are of the same of f32, f64, f16 and bf16, and the others are numbers. They
 * broadcast, and may have any strides, as with all operations.
 *   a ? b : c   || && == != < <= > >= + - * / - !   numbers   ( )
 *   abs sign square sqrt rsqrt reciprocal exp log sin cos tanh sigmoid gelu silu relu erf floor
 *   ceil trunc round min max pow fma where clamp, with arguments as the functions above have them
 * A comparison is 1 or 0. Of text at most 2048 bytes are read, names have 31 at most and numbers
 * 40, and what is nested is 64 deep at most.
 *
 * The handle keeps its kernels, and through them the device, until it is released; ops in flight
 * keep what they need. Errors: INVALID (with the column), NO_MEMORY. Does not block.
 */
typedef struct acu_expression acu_expression;
ACU_API acu_status acu_expression_create(const char *text, acu_expression **expression);
ACU_API acu_expression *acu_expression_retain(acu_expression *expression);
ACU_API void acu_expression_release(acu_expression *expression);
ACU_API size_t acu_expression_operands(const acu_expression *expression);
/* The operand's name; NULL: there are not so many. */
ACU_API const char *acu_expression_operand(const acu_expression *expression, size_t i);
/* acu_fused(expression, a, x, y): one to eight terms. Errors of the op
 * also: those of acu_compile. */
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

#ifdef __cplusplus /* for the macros above: a list is one argument */
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
