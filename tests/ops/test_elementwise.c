/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elementwise operations: each on each of its dtypes against a reference in long double or in
 * 64-bit integers; and on operands that are strided, broadcast, numbers, not
 * aligned, or the result itself.
 */
#include "ops/elements.h"

#include <limits.h>

enum { N = 5003 }; /* a whole chunk of a block, and a rest */

static const struct {
    const char *name;
    size_t operands;
    char of, result;
} kinds[] = {
#define FLOAT 'f'
#define NUMBER 'n'
#define INTEGER 'i'
#define BITS 'b'
#define ANY 'a'
#define FLOAT_C 'f'
#define NUMBER_C 'n'
#define ANY_C 'a'
#define COMPLEX 'c'
#define PARTS 'c'
#define SAME 's'
#define PART 's'
#define WHOLE 's'
#define BOOL 'b'
#define ACU_X(id, name, operands, of, result) {name, operands, of, result},
    ACU_ELEMENTWISE_OPS(ACU_X)
#undef ACU_X
#undef BOOL
};

static const acu_dtype dtypes[] = {ACU_BOOL, ACU_U8,  ACU_U16, ACU_U32,  ACU_U64, ACU_I8, ACU_I16,
                                   ACU_I32,  ACU_I64, ACU_F16, ACU_BF16, ACU_F32, ACU_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static bool takes(acu_elementwise kind, acu_dtype dtype)
{
    char of = kinds[kind].of;
    if (of == 'c') /* tests/ops/numpy/check_complex.py has these */
        return false;
    return is_real(dtype)      ? of != 'b' && of != 'i'
           : dtype == ACU_BOOL ? of == 'b' || of == 'a'
                               : of != 'f';
}

/* ---- references ------------------------------------------------------------------------------ */

static long double floor_mod(long double a, long double b)
{
    if (isinf(b) && isfinite(a))
        return a == 0 ? copysignl(a, b) : (a < 0) == (b < 0) ? a : b;
    long double r = fmodl(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : copysignl(r, b);
}

static long double sigmoid(long double a)
{
    return 1 / (1 + expl(-a));
}

static long double unary(acu_elementwise kind, long double a)
{
    switch (kind) {
    case ACU_OP_NEG: return -a;
    case ACU_OP_ABS: return fabsl(a);
    case ACU_OP_SIGN: return a != a ? a : (a > 0) - (a < 0);
    case ACU_OP_SQUARE: return a * a;
    case ACU_OP_RELU: return a < 0 ? 0 : a;
    case ACU_OP_FLOOR: return floorl(a);
    case ACU_OP_CEIL: return ceill(a);
    case ACU_OP_TRUNC: return truncl(a);
    case ACU_OP_ROUND: return rintl(a);
    case ACU_OP_SQRT: return sqrtl(a);
    case ACU_OP_RSQRT: return 1 / sqrtl(a);
    case ACU_OP_RECIPROCAL: return 1 / a;
    case ACU_OP_EXP: return expl(a);
    case ACU_OP_LOG: return logl(a);
    case ACU_OP_SIN: return sinl(a);
    case ACU_OP_COS: return cosl(a);
    case ACU_OP_TANH: return tanhl(a);
    case ACU_OP_SIGMOID: return sigmoid(a);
    case ACU_OP_SILU: return isinf(a) && a < 0 ? (long double)NAN : a * sigmoid(a);
    case ACU_OP_GELU:
        return isinf(a) && a < 0 ? (long double)NAN : a * (1 + erfl(a * sqrtl(0.5L))) / 2;
    case ACU_OP_ERF: return erfl(a);
    case ACU_OP_NOT: return a == 0;
    case ACU_OP_IS_NAN: return a != a;
    case ACU_OP_IS_FINITE: return isfinite(a);
    default: return a;
    }
}

static long double real(acu_elementwise kind, long double a, long double b, long double c)
{
    switch (kind) {
    case ACU_OP_ADD: return a + b;
    case ACU_OP_SUB: return a - b;
    case ACU_OP_MUL: return a * b;
    case ACU_OP_DIV: return a / b;
    case ACU_OP_MOD: return floor_mod(a, b);
    case ACU_OP_MIN: return a != a || a < b ? a : b;
    case ACU_OP_MAX: return a != a || a > b ? a : b;
    case ACU_OP_POW: return powl(a, b);
    case ACU_OP_EQ: return a == b;
    case ACU_OP_NE: return a != b;
    case ACU_OP_LT: return a < b;
    case ACU_OP_LE: return a <= b;
    case ACU_OP_GT: return a > b;
    case ACU_OP_GE: return a >= b;
    case ACU_OP_AND: return a != 0 && b != 0;
    case ACU_OP_OR: return a != 0 || b != 0;
    case ACU_OP_XOR: return (a != 0) != (b != 0);
    case ACU_OP_WHERE: return a != 0 ? b : c;
    case ACU_OP_CLAMP: return a != a || b != b || c != c ? (long double)NAN : fminl(fmaxl(a, b), c);
    case ACU_OP_FMA: return a * b + c;
    default: return unary(kind, a);
    }
}

static bool before(int64_t a, int64_t b, bool u)
{
    return u ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t power(int64_t a, int64_t b, bool u)
{
    uint64_t r = 1;
    if (b < 0 && !u)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    for (uint64_t n = (uint64_t)b, base = (uint64_t)a; n; n >>= 1, base *= base)
        r *= n & 1 ? base : 1;
    return (int64_t)r;
}

static int64_t quotient(int64_t a, int64_t b, bool u)
{
    if (b == 0)
        return 0;
    return u ? (int64_t)((uint64_t)a / (uint64_t)b) : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t rest(int64_t a, int64_t b, bool u)
{
    if (b == 0 || (b == -1 && !u))
        return 0;
    if (u)
        return (int64_t)((uint64_t)a % (uint64_t)b);
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t shifted(int64_t a, int64_t b, bool left, bool u, acu_dtype dtype)
{
    int64_t bits = 8 * (int64_t)acu_dtype_bytes(dtype);
    bool out = b < 0 || b >= bits;
    if (left)
        return out ? 0 : (int64_t)((uint64_t)a << b);
    if (u)
        return out ? 0 : (int64_t)((uint64_t)a >> b);
    return out ? (a < 0 ? -1 : 0) : a >> b;
}

/* Computed in 64 bits; `u`: unsigned. */
static int64_t whole(acu_elementwise kind, int64_t a, int64_t b, int64_t c, acu_dtype dtype)
{
    bool u = acu_dtype_kind_of(dtype) != ACU_KIND_SIGNED;
    switch (kind) {
    case ACU_OP_NEG: return (int64_t)(0 - (uint64_t)a);
    case ACU_OP_ABS: return a < 0 && !u ? (int64_t)(0 - (uint64_t)a) : a;
    case ACU_OP_SIGN: return u ? a != 0 : (a > 0) - (a < 0);
    case ACU_OP_SQUARE: return (int64_t)((uint64_t)a * (uint64_t)a);
    case ACU_OP_RELU: return a < 0 && !u ? 0 : a;
    case ACU_OP_INVERT: return dtype == ACU_BOOL ? !a : ~a;
    case ACU_OP_NOT: return a == 0;
    case ACU_OP_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case ACU_OP_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case ACU_OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case ACU_OP_DIV: return quotient(a, b, u);
    case ACU_OP_MOD: return rest(a, b, u);
    case ACU_OP_MIN: return before(a, b, u) ? a : b;
    case ACU_OP_MAX: return before(b, a, u) ? a : b;
    case ACU_OP_POW: return power(a, b, u);
    case ACU_OP_EQ: return a == b;
    case ACU_OP_NE: return a != b;
    case ACU_OP_LT: return before(a, b, u);
    case ACU_OP_LE: return !before(b, a, u);
    case ACU_OP_GT: return before(b, a, u);
    case ACU_OP_GE: return !before(a, b, u);
    case ACU_OP_AND: return a && b;
    case ACU_OP_OR: return a || b;
    case ACU_OP_XOR: return !a != !b;
    case ACU_OP_BIT_AND: return a & b;
    case ACU_OP_BIT_OR: return a | b;
    case ACU_OP_BIT_XOR: return a ^ b;
    case ACU_OP_SHIFT_LEFT: return shifted(a, b, true, u, dtype);
    case ACU_OP_SHIFT_RIGHT: return shifted(a, b, false, u, dtype);
    case ACU_OP_WHERE: return a ? b : c;
    case ACU_OP_CLAMP: a = before(a, b, u) ? b : a; return before(c, a, u) ? c : a;
    default: return a;
    }
}

/* ---- data ------------------------------------------------------------------------------------ */

static test_random numbers = {.state = 17};

static double random_real(void)
{
    static const double special[] = {0, -0.0, 1, -1, 0.5, 2.5, -2.5, INFINITY, -INFINITY, NAN, 3};
    uint64_t r = test_next(&numbers);
    double unit = (double)(r >> 11) * 0x1p-53;
    if (r % 16 == 0)
        return special[r / 16 % (sizeof special / sizeof *special)];
    return (unit - 0.5) * (r % 16 < 8 ? 4 : r % 16 < 14 ? 40 : 3000);
}

static int64_t random_whole(void)
{
    uint64_t r = test_next(&numbers);
    return r % 4 ? (int64_t)(r >> 8) % 11 - 4 : (int64_t)test_next(&numbers);
}

static void *random_elements(acu_dtype dtype, size_t count)
{
    void *memory = calloc(count, acu_dtype_bytes(dtype));
    for (size_t i = 0; i < count; i++) {
        if (is_real(dtype))
            put_real(dtype, memory, i, random_real());
        else
            put_whole(dtype, memory, i, random_whole());
    }
    return memory;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The largest error in units in the last place, as ops.h says; rounding adds a half. */
static double allowed(acu_elementwise kind, acu_dtype dtype)
{
    bool wide = dtype == ACU_F64;
    if (dtype == ACU_F16 || dtype == ACU_BF16)
        return 0.51;
    switch (kind) {
    case ACU_OP_EXP: case ACU_OP_SIGMOID: case ACU_OP_SILU: case ACU_OP_RSQRT: return 3.5;
    case ACU_OP_LOG: return 1;
    case ACU_OP_TANH: return wide ? 3 : 1.6;
    case ACU_OP_SIN: case ACU_OP_COS: return wide ? 1 : 1.6;
    case ACU_OP_ERF: case ACU_OP_GELU: return wide ? 20 : 3;
    case ACU_OP_POW: return wide ? 2 : 0.7;
    default: return 0.501; /* rounded once, from long double here */
    }
}

static void compare_real(acu_elementwise kind, acu_dtype dtype, const long double *x, double have)
{
    long double want = real(kind, x[0], x[1], x[2]);
    if (want != want) {
        if (have == have)
            fail_msg("%s of %s (%Lg, %Lg, %Lg) is %g, not NaN", kinds[kind].name,
                     acu_dtype_name(dtype), x[0], x[1], x[2], have);
        return;
    }
    double scale = kind == ACU_OP_GELU ? (double)x[0] : (double)want;
    double unit = unit_at(dtype, scale);
    if (kind == ACU_OP_SILU) /* a factor of the result may be subnormal */
        unit = fmax(unit, (double)fabsl(x[0]) * unit_at(dtype == ACU_F64 ? ACU_F64 : ACU_F32, 0));
    double error = (double)fabsl(want - have) / unit;
    uint16_t small;
    double rounded = (double)want;
    if (dtype == ACU_F32)
        rounded = (double)(float)want;
    else if (dtype != ACU_F64) {
        small = small_bits_of(dtype, (double)want);
        rounded = small_value(dtype, small);
    }
    bool turned = kind == ACU_OP_MOD && want == 0 && !signbit(have) != !signbit(want);
    if (isinf(rounded) ? have != rounded &&
                             !(isfinite(have) && isfinite(want) && error <= allowed(kind, dtype))
                       : turned || !(error <= allowed(kind, dtype)))
        fail_msg("%s of %s (%.17Lg, %.17Lg, %.17Lg) is %.17g, not %.17g: %g units",
                 kinds[kind].name, acu_dtype_name(dtype), x[0], x[1], x[2], have, (double)want,
                 error);
}

static void compare(acu_elementwise kind, acu_dtype dtype, const void *const *x, const size_t *at,
                    const void *result, size_t place)
{
    bool boolean = kinds[kind].result == 'b';
    if (is_real(dtype)) {
        long double in[3] = {0};
        for (size_t j = 0; j < kinds[kind].operands; j++)
            in[j] = kind == ACU_OP_WHERE && j == 0
                        ? (long double)whole_at(ACU_BOOL, x[0], at[0])
                        : (long double)real_at(dtype, x[j], at[j]);
        if (!boolean)
            compare_real(kind, dtype, in, real_at(dtype, result, place));
        else
            assert_int_equal(whole_at(ACU_BOOL, result, place),
                             (int64_t)real(kind, in[0], in[1], in[2]));
        return;
    }
    int64_t in[3] = {0}, want;
    for (size_t j = 0; j < kinds[kind].operands; j++)
        in[j] = whole_at(kind == ACU_OP_WHERE && j == 0 ? ACU_BOOL : dtype, x[j], at[j]);
    int64_t value = whole(kind, in[0], in[1], in[2], dtype);
    acu_dtype to = boolean ? ACU_BOOL : dtype;
    put_whole(to, &want, 0, value);
    if (whole_at(to, result, place) != whole_at(to, &want, 0))
        fail_msg("%s of %s (%lld, %lld, %lld) is %lld, not %lld", kinds[kind].name,
                 acu_dtype_name(dtype), (long long)in[0], (long long)in[1], (long long)in[2],
                 (long long)whole_at(to, result, place), (long long)whole_at(to, &want, 0));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static acu_dtype operand_dtype(acu_elementwise kind, size_t j, acu_dtype dtype)
{
    return kind == ACU_OP_WHERE && j == 0 ? ACU_BOOL : dtype;
}

static void one_kind(acu_device *device, acu_elementwise kind, acu_dtype dtype)
{
    size_t count = kinds[kind].operands;
    void *x[3] = {0};
    acu_tensor *tensors[3] = {0};
    acu_op *operands[3];
    for (size_t j = 0; j < count; j++) {
        x[j] = random_elements(operand_dtype(kind, j, dtype), N);
        tensors[j] = tensor_with(device, operand_dtype(kind, j, dtype), ACU_SHAPE(N), x[j]);
        operands[j] = acu_value(tensors[j]);
    }
    acu_op *op = acu_op_elementwise(kind, operands, count, ACU_SITE);
    void *result = result_of(device, op, kinds[kind].result == 'b' ? ACU_BOOL : dtype,
                             ACU_SHAPE(N));
    for (size_t i = 0; i < N; i++)
        compare(kind, dtype, (const void *const *)x, (size_t[]){i, i, i}, result, i);
    free(result);
    for (size_t j = 0; j < count; j++) {
        free(x[j]);
        acu_tensor_release(tensors[j]);
    }
}

static void each_kind_on_each_dtype(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int kind = 0; kind < ACU_ELEMENTWISE_COUNT; kind++)
        for (int d = 0; d < DTYPES; d++)
            if (takes((acu_elementwise)kind, dtypes[d]))
                one_kind(device, (acu_elementwise)kind, dtypes[d]);
    test_close(device);
    test_leaks_none();
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* A tensor of f32, of any strides. */
typedef struct laid {
    acu_tensor *tensor;
    float *memory; /* from its first element on */
} laid;

/* A tensor over some elements of a larger buffer, beginning at element `offset`. */
static laid lay(acu_device *device, size_t offset, acu_shape shape, const int64_t *strides)
{
    laid l;
    size_t last = offset;
    for (int d = 0; d < shape.rank; d++)
        last += (size_t)((shape.dim[d] - 1) * strides[d]);
    l.memory = random_elements(ACU_F32, last + 1);
    for (size_t i = 0; i <= last; i++) /* numbers that add up exactly */
        l.memory[i] = (float)(test_next(&numbers) % 1000);
    acu_tensor *whole_tensor = tensor_with(device, ACU_F32, ACU_SHAPE((int64_t)last + 1), l.memory);
    assert_works(acu_tensor_create_strided(acu_tensor_buffer(whole_tensor), 4 * offset, ACU_F32,
                                           shape, strides, &l.tensor));
    acu_tensor_release(whole_tensor);
    memmove(l.memory, l.memory + offset, 4 * (last + 1 - offset));
    return l;
}

static void add_laid(acu_device *device, laid a, laid b, acu_shape shape)
{
    int64_t places[ACU_MAX_RANK] = {0};
    float *sum = result_of(device, acu_add(a.tensor, b.tensor), ACU_F32, shape);
    const laid *in[2] = {&a, &b};
    for (int64_t i = 0; i < acu_shape_elements(shape); i++) {
        float want = 0;
        int64_t left = i;
        for (int d = shape.rank - 1; d >= 0; left /= shape.dim[d--])
            places[d] = left % shape.dim[d];
        for (int j = 0; j < 2; j++) {
            acu_shape own = acu_tensor_shape(in[j]->tensor);
            int64_t at = 0;
            for (int d = 0; d < own.rank; d++)
                if (own.dim[d] > 1)
                    at += places[shape.rank - own.rank + d] * acu_tensor_strides(in[j]->tensor)[d];
            want += in[j]->memory[at];
        }
        if (sum[i] != want)
            fail_msg("element %lld is %g, not %g", (long long)i, (double)sum[i], (double)want);
    }
    free(sum);
    for (int j = 0; j < 2; j++) {
        free(in[j]->memory);
        acu_tensor_release(in[j]->tensor);
    }
}

#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

static void operands_may_lie_anyhow(void **state)
{
    (void)state;
    acu_device *d = test_open();
    /* dense, at odd offsets */
    add_laid(d, lay(d, 1, ACU_SHAPE(9000), STRIDES(1)), lay(d, 3, ACU_SHAPE(9000), STRIDES(1)),
             ACU_SHAPE(9000));
    add_laid(d, lay(d, 4, ACU_SHAPE(8192), STRIDES(1)), lay(d, 8, ACU_SHAPE(8192), STRIDES(1)),
             ACU_SHAPE(8192));
    /* a row, a column, one element, a missing dimension */
    add_laid(d, lay(d, 0, ACU_SHAPE(70, 60), STRIDES(60, 1)), lay(d, 0, ACU_SHAPE(60), STRIDES(1)),
             ACU_SHAPE(70, 60));
    add_laid(d, lay(d, 0, ACU_SHAPE(70, 1), STRIDES(1, 1)),
             lay(d, 0, ACU_SHAPE(1, 60), STRIDES(60, 1)), ACU_SHAPE(70, 60));
    add_laid(d, lay(d, 0, ACU_SHAPE(1), STRIDES(1)), lay(d, 2, ACU_SHAPE(70, 60), STRIDES(60, 1)),
             ACU_SHAPE(70, 60));
    /* transposed, gaps, both */
    add_laid(d, lay(d, 0, ACU_SHAPE(65, 66), STRIDES(1, 65)),
             lay(d, 5, ACU_SHAPE(65, 66), STRIDES(80, 1)), ACU_SHAPE(65, 66));
    add_laid(d, lay(d, 0, ACU_SHAPE(6, 5, 4), STRIDES(1, 50, 9)),
             lay(d, 0, ACU_SHAPE(5, 1), STRIDES(3, 1)), ACU_SHAPE(6, 5, 4));
    /* the highest rank, with extents of one in it */
    add_laid(d, lay(d, 0, ACU_SHAPE(3, 1, 4, 5, 1, 6), STRIDES(120, 7, 30, 6, 9, 1)),
             lay(d, 0, ACU_SHAPE(3, 7, 4, 1, 2, 6), STRIDES(1000, 3, 40, 1, 21, 200)),
             ACU_SHAPE(3, 7, 4, 5, 2, 6));
    test_close(d);
    test_leaks_none();
}

static void results_go_where_they_are_told(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float x[12], have[12];
    for (int i = 0; i < 12; i++)
        x[i] = (float)i;
    acu_tensor *whole_tensor = tensor_with(device, ACU_F32, ACU_SHAPE(3, 4), x), *column = NULL;
    /* in place */
    assert_works(acu_sync(device, acu_into(whole_tensor, acu_add(whole_tensor, 1)), NULL));
    /* into a column of it, from another one */
    assert_works(acu_tensor_slice(whole_tensor, STRIDES(0, 2), STRIDES(3, 3), &column));
    acu_tensor *first = NULL;
    assert_works(acu_tensor_slice(whole_tensor, STRIDES(0, 0), STRIDES(3, 1), &first));
    assert_works(acu_sync(device, acu_into(column, acu_mul(acu_identity(first), 100)), NULL));
    acu_tensor_release(first);
    assert_works(acu_read_sync(whole_tensor, have, sizeof have));
    for (int i = 0; i < 12; i++) {
        float want = i % 4 == 2 ? 100 * (x[i - 2] + 1) : x[i] + 1;
        assert_true(have[i] == want);
    }
    acu_tensor_release(column);
    acu_tensor_release(whole_tensor);
    test_close(device);
    test_leaks_none();
}

static void numbers_take_on_the_dtype(void **state)
{
    (void)state;
    acu_device *device = test_open();
    uint8_t bytes[3] = {1, 128, 255}, *b;
    acu_tensor *u8 = tensor_with(device, ACU_U8, ACU_SHAPE(3), bytes);
    b = result_of(device, acu_add(200, u8), ACU_U8, ACU_SHAPE(3));
    assert_int_equal(b[0], 201);
    assert_int_equal(b[1], (128 + 200) % 256);
    free(b);
    uint16_t half[2] = {0x3C00, 0xC000}, *h; /* 1, -2 */
    bool pick[2] = {true, false};
    acu_tensor *f16 = tensor_with(device, ACU_F16, ACU_SHAPE(2), half);
    acu_tensor *choice = tensor_with(device, ACU_BOOL, ACU_SHAPE(2), pick);
    h = result_of(device, acu_where(choice, f16, 0.1), ACU_F16, ACU_SHAPE(2));
    assert_int_equal(h[0], 0x3C00);
    assert_int_equal(h[1], 0x2E66);
    free(h);
    h = result_of(device, acu_mul(f16, acu_f16_bits(0x4200)), ACU_F16, ACU_SHAPE(2)); /* by 3 */
    assert_int_equal(h[0], 0x4200);
    assert_int_equal(h[1], 0xC600);
    free(h);
    /* Numbers beyond f16 become infinite only in the result. */
    h = result_of(device, acu_fma(f16, 70000, -69000), ACU_F16, ACU_SHAPE(2));
    assert_int_equal(h[0], 0x63D0); /* 1000 */
    assert_int_equal(h[1], 0xFC00); /* -infinity */
    free(h);
    h = result_of(device, acu_where(acu_not(choice), f16, 70000), ACU_F16, ACU_SHAPE(2));
    assert_int_equal(h[0], 0x7C00);
    assert_int_equal(h[1], 0xC000);
    free(h);
    /* Just above the middle of two floats, where there is no double: so it must be rounded only
     * once. */
    const int64_t middle = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    float *f = result_of(device, acu_mul(acu_ones(ACU_F32, ACU_SHAPE(1)), middle), ACU_F32,
                         ACU_SHAPE(1));
    assert_true(f[0] == 0x1.000002p60f);
    free(f);
    f = result_of(device, acu_mul(acu_ones(ACU_F32, ACU_SHAPE(1)), 8 * (uint64_t)middle), ACU_F32,
                  ACU_SHAPE(1));
    assert_true(f[0] == 0x1.000002p63f);
    free(f);
    f = result_of(device, acu_mul(acu_ones(ACU_F32, ACU_SHAPE(1)), 2.5L), ACU_F32, ACU_SHAPE(1));
    assert_true(f[0] == 2.5f);
    free(f);
    acu_tensor_release(u8);
    acu_tensor_release(f16);
    acu_tensor_release(choice);
    test_close(device);
    test_leaks_none();
}

static void adds_to(acu_device *device, acu_op *number, float want)
{
    float *have = result_of(device, acu_add(acu_zeros(ACU_F32, ACU_SHAPE(1)), number), ACU_F32,
                            ACU_SHAPE(1));
    assert_true(have[0] == want);
    free(have);
}

static void numbers_of_every_c_type(void **state)
{
    (void)state;
    acu_device *device = test_open();
    const int constant = -2;
    volatile short changing = -3;
    adds_to(device, ACU_TERM((bool)true), 1);
    adds_to(device, ACU_TERM((char)'a'), 'a');
    adds_to(device, ACU_TERM((signed char)-5), -5);
    adds_to(device, ACU_TERM((unsigned char)200), 200);
    adds_to(device, ACU_TERM(changing), -3);
    adds_to(device, ACU_TERM((unsigned short)65535), 65535);
    adds_to(device, ACU_TERM(constant), -2);
    adds_to(device, ACU_TERM(UINT_MAX), 0x1p32f);
    adds_to(device, ACU_TERM(LONG_MIN), -0x1p63f);
    adds_to(device, ACU_TERM(ULONG_MAX), 0x1p64f);
    adds_to(device, ACU_TERM(LLONG_MIN), -0x1p63f);
    adds_to(device, ACU_TERM(ULLONG_MAX), 0x1p64f);
    adds_to(device, ACU_TERM((acu_elementwise)3), 3);
    adds_to(device, ACU_TERM(0.5f), 0.5f);
    adds_to(device, ACU_TERM(0.5), 0.5f);
    adds_to(device, ACU_TERM(0.5L), 0.5f);
#ifdef __FLT16_MAX__
    __extension__ _Float16 half = (_Float16)0.5f;
    adds_to(device, ACU_TERM(half), 0.5f);
#endif
    test_close(device);
    test_leaks_none();
}

/* Views that take no memory broadcast to more elements than can be counted. */
static void too_many_elements_are_refused(void **state)
{
    const int64_t many = INT64_C(1) << 32;
    (void)state;
    acu_device *d = test_open();
    acu_tensor *one, *tall, *wide;
    acu_expression *sum;
    assert_works(acu_sync(d, acu_ones(ACU_F32, ACU_SHAPE(1, 1)), &one));
    assert_works(acu_tensor_broadcast_to(one, ACU_SHAPE(many, 1), &tall));
    assert_works(acu_tensor_broadcast_to(one, ACU_SHAPE(1, many), &wide));
    assert_works(acu_expression_create("a + b", &sum));
    assert_fails(acu_sync(d, acu_add(tall, wide), NULL), ACU_ERR_SHAPE, "[4294967296, 4294967296]|64 bits");
    assert_fails(acu_sync(d, acu_fused(sum, tall, wide), NULL), ACU_ERR_SHAPE, "[4294967296, 4294967296]");
    assert_fails(acu_sync(d, acu_matmul(tall, wide), NULL), ACU_ERR_SHAPE, "[4294967296, 4294967296]");
    assert_fails(acu_sync(d, acu_eye(ACU_F32, many), NULL), ACU_ERR_SHAPE, "[4294967296, 4294967296]");
    acu_tensor *byte, *bytes, *pairs;
    assert_works(acu_tensor_alloc(d, ACU_U8, ACU_SHAPE(1), &byte));
    assert_works(acu_tensor_broadcast_to(byte, ACU_SHAPE(INT64_C(1) << 62), &bytes));
    assert_works(acu_tensor_reinterpret(bytes, ACU_F4E2M1FNX2, &pairs));
    assert_fails(acu_sync(d, acu_convert(pairs, ACU_F32), NULL), ACU_ERR_SHAPE,
                 "f4e2m1fnx2 [4611686018427387904]|64 bits");
    acu_tensor_release(byte);
    acu_tensor_release(bytes);
    acu_tensor_release(pairs);
    acu_expression_release(sum);
    acu_tensor_release(one);
    acu_tensor_release(tall);
    acu_tensor_release(wide);
    test_close(d);
    test_leaks_none();
}

/* No kernel computes with these dtypes, and a number can not be converted to them. */
static void formats_of_scales_and_products_are_refused(void **state)
{
    (void)state;
    const acu_dtype none[] = {ACU_F8E4M3FN, ACU_F8E5M2, ACU_F8E8M0FNU, ACU_F4E2M1FNX2};
    acu_device *d = test_open();
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        acu_tensor *x;
        acu_shape two = ACU_SHAPE(2);
        assert_works(acu_tensor_alloc(d, none[k], two, &x));
        assert_fails(acu_sync(d, acu_where(acu_zeros(ACU_BOOL, two), x, 1), NULL), ACU_ERR_DTYPE,
                     "where takes numbers and bool|operand 1");
        assert_fails(acu_sync(d, acu_where(acu_bool(true), 1, x), NULL), ACU_ERR_DTYPE,
                     "where takes numbers and bool|operand 2");
        assert_fails(acu_sync(d, acu_identity(x), NULL), ACU_ERR_DTYPE, "identity takes");
        acu_tensor_release(x);
    }
    test_close(d);
    test_leaks_none();
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    acu_device *d = test_open();
    float zeros[12] = {0};
    acu_tensor *f = tensor_with(d, ACU_F32, ACU_SHAPE(3, 4), zeros), *tail = NULL, *wide = NULL;
    acu_tensor *i = tensor_with(d, ACU_I32, ACU_SHAPE(3, 4), zeros);
    acu_tensor *u = tensor_with(d, ACU_U8, ACU_SHAPE(5), zeros);
    assert_fails(acu_sync(d, acu_add(f, i), NULL), ACU_ERR_DTYPE,
                 "add|operand 1|i32 [3, 4]|f32|acu_convert");
    assert_fails(acu_sync(d, acu_add(u, i), NULL), ACU_ERR_SHAPE,
                 "operand 1|i32 [3, 4]|broadcast|u8 [5]");
    assert_fails(acu_sync(d, acu_exp(i), NULL), ACU_ERR_DTYPE,
                 "exp takes floating point|i32 [3, 4]");
    assert_fails(acu_sync(d, acu_bit_and(f, f), NULL), ACU_ERR_DTYPE, "bit_and takes integers");
    assert_fails(acu_sync(d, acu_mul(f, acu_lt(f, f)), NULL), ACU_ERR_DTYPE,
                 "mul takes numbers|bool [3, 4]|acu_convert");
    assert_fails(acu_sync(d, acu_add(u, 300), NULL), ACU_ERR_DTYPE, "operand 1|300|fit u8");
    assert_fails(acu_sync(d, acu_add(i, 0.5), NULL), ACU_ERR_DTYPE, "0.5|i32");
    assert_fails(acu_sync(d, acu_add(u, 2.0), NULL), ACU_ERR_DTYPE, "2, floating point|u8");
    assert_fails(acu_sync(d, acu_where(f, f, f), NULL), ACU_ERR_DTYPE, "condition|f32 [3, 4]|bool");
    assert_fails(acu_sync(d, acu_into(i, acu_neg(f)), NULL), ACU_ERR_DTYPE,
                 "neg|f32 [3, 4]|i32 [3, 4]");
    assert_fails(acu_sync(d, acu_into(u, acu_neg(acu_zeros(ACU_U8, ACU_SHAPE(6)))), NULL),
                 ACU_ERR_SHAPE, "u8 [6]|u8 [5]");
    assert_fails(acu_sync(d, acu_into(f, acu_zeros(ACU_F32, ACU_SHAPE(6))), NULL),
                 ACU_ERR_NOT_SUPPORTED, "zeros|acu_into");
    assert_works(acu_tensor_slice(f, STRIDES(1, 0), STRIDES(3, 4), &tail));
    assert_works(acu_tensor_slice(f, STRIDES(0, 0), STRIDES(2, 4), &wide));
    assert_fails(acu_sync(d, acu_into(tail, acu_neg(wide)), NULL), ACU_ERR_SHARED,
                 "neg|operand 0|overlap");
    assert_fails(
        acu_sync(d, acu_op_elementwise(ACU_OP_ADD, (acu_op *[]){acu_value(f)}, 1, ACU_SITE), NULL),
        ACU_ERR_ARGUMENTS, "add takes 2 operands|got 1");
    assert_fails(acu_sync(d, acu_op_elementwise(ACU_OP_NEG, NULL, 0, ACU_SITE), NULL),
                 ACU_ERR_ARGUMENTS, "neg takes 1 operand, and got 0");
    assert_fails(acu_sync(d, acu_op_elementwise((acu_elementwise)999, NULL, 0, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "999");
    acu_tensor *all[] = {f, i, u, tail, wide};
    for (int k = 0; k < 5; k++)
        acu_tensor_release(all[k]);
    test_close(d);
    test_leaks_none();
}

/* The result lies between the elements of an operand, in the same rows: they share no byte. */
static void between_the_operands(void **state)
{
    (void)state;
    acu_device *d = test_open();
    float x[8][6], result[8][6];
    for (int i = 0; i < 48; i++)
        (&x[0][0])[i] = (float)i;
    acu_tensor *all = tensor_with(d, ACU_F32, ACU_SHAPE(8, 6), x), *first, *last, *even, *odd;
    assert_works(acu_tensor_select(all, 1, 0, &first));
    assert_works(acu_tensor_select(all, 1, 5, &last));
    assert_works(acu_sync(d, acu_into(first, acu_neg(last)), NULL));
    const int64_t step[] = {2, 3};
    assert_works(acu_tensor_slice_step(all, STRIDES(0, 1), STRIDES(8, 6), step, &even));
    assert_works(acu_tensor_slice_step(all, STRIDES(1, 2), STRIDES(8, 6), step, &odd));
    assert_works(acu_sync(d, acu_into(even, acu_add(odd, 100)), NULL));
    assert_works(acu_read_sync(all, result, sizeof result));
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 6; c++) {
            float want = c == 0                     ? -x[r][5]
                         : r % 2 == 0 && c % 3 == 1 ? x[r + 1][c + 1] + 100
                                                    : x[r][c];
            assert_true(result[r][c] == want);
        }
    acu_tensor_release(odd);
    assert_works(acu_tensor_slice_step(all, STRIDES(0, 2), STRIDES(8, 6), STRIDES(2, 2), &odd));
    assert_fails(acu_sync(d, acu_into(even, acu_neg(odd)), NULL), ACU_ERR_SHARED, "overlap");
    acu_tensor *tensors[] = {all, first, last, even, odd};
    for (int k = 0; k < 5; k++)
        acu_tensor_release(tensors[k]);
    test_close(d);
    test_leaks_none();
}

/* More chunks than blocks are launched: these take turns. */
static void beyond_the_largest_grid(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_shape shape = ACU_SHAPE(16384 * 4096 + 4097);
    acu_op *op = acu_sum(acu_add(acu_full(shape, acu_u8(1)), 2), ACU_ALL);
    uint64_t *sum = result_of(device, op, ACU_U64, ACU_SHAPE(1));
    assert_int_equal(*sum, 3 * (uint64_t)acu_shape_elements(shape));
    free(sum);
    test_close(device);
    test_leaks_none();
}

/* Dtypes and shapes of results, without any memory. */
static void results_are_described(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_value_info info;
    size_t count = 0;
    acu_op *x = acu_mul(acu_meta(ACU_F16, ACU_SHAPE(30, 1, 7)), acu_meta(ACU_F16, ACU_SHAPE(5, 1)));
    acu_op *op = acu_argmax(acu_softmax(acu_convert(x, ACU_F32), -1), ACU_KEEP(1));
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    assert_int_equal(count, 1);
    assert_int_equal(info.dtype, ACU_I64);
    assert_true(acu_shape_equal(info.shape, ACU_SHAPE(30, 1, 7)));
    acu_op_release(op);
    op = acu_add(acu_meta(ACU_F16, ACU_SHAPE(3)), acu_meta(ACU_F16, ACU_SHAPE(4)));
    assert_fails(acu_op_describe(device, op, &info, 1, &count), ACU_ERR_SHAPE,
                 "add|f16 [4]|f16 [3]");
    acu_op_release(op);
    test_close(device);
    test_leaks_none();
}

/* Steps that touch the same tensor run as they are written, operands from left to right; so what is
 * read is what the steps before have left there. */
static void steps_are_in_order(void **state)
{
    (void)state;
    const float threes[] = {3, 3};
    acu_device *device = test_open();
    const struct {
        bool dup, last;
        float want;
    } cases[] = {{false, false, 12}, {true, false, 9}, {false, true, 12}, {true, true, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        acu_tensor *x = tensor_with(device, ACU_F32, ACU_SHAPE(2), threes);
        acu_op *doubled = acu_into(x, acu_mul(x, 2));
        acu_op *own = cases[i].dup ? acu_dup(x) : acu_value(x);
        acu_op *sum = cases[i].last ? acu_add(doubled, own) : acu_add(own, doubled);
        float *have = result_of(device, sum, ACU_F32, ACU_SHAPE(2));
        assert_true(have[0] == cases[i].want && have[1] == cases[i].want);
        free(have);
        acu_tensor_release(x);
    }
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_in_order),
        cmocka_unit_test(each_kind_on_each_dtype),
        cmocka_unit_test(operands_may_lie_anyhow),
        cmocka_unit_test(results_go_where_they_are_told),
        cmocka_unit_test(numbers_take_on_the_dtype),
        cmocka_unit_test(numbers_of_every_c_type),
        cmocka_unit_test(too_many_elements_are_refused),
        cmocka_unit_test(formats_of_scales_and_products_are_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(between_the_operands),
        cmocka_unit_test(beyond_the_largest_grid),
        cmocka_unit_test(results_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
