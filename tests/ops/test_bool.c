/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A bool is true if its byte is anything but 0: every operation gives the same for bytes from 0 to
 * 255 as for the same bytes made 0 or 1, and yields 0 or 1.
 */
#include "ops/elements.h"

enum { N = 3000 }; /* some whole chunks of vectors, and a rest */

typedef struct operands {
    acu_tensor *any[3], *clean[3]; /* the same truth, as any byte and as 0 or 1 */
} operands;

/* With any byte, as a bool; `step` elements apart. */
static acu_tensor *bools(acu_device *device, const uint8_t *bytes, int64_t step)
{
    acu_tensor *all = tensor_with(device, ACU_U8, ACU_SHAPE(N, step), bytes), *as = NULL, *t = NULL;
    acu_tensor *column = NULL;
    assert_works(acu_tensor_reinterpret(all, ACU_BOOL, &as));
    assert_works(acu_tensor_slice(as, (const int64_t[]){0, 0}, (const int64_t[]){N, 1}, &column));
    assert_works(acu_tensor_reshape(column, ACU_SHAPE(N), &t));
    acu_tensor_release(column);
    acu_tensor_release(as);
    acu_tensor_release(all);
    return t;
}

static operands make(acu_device *device, int64_t step)
{
    static test_random numbers = {.state = 3};
    static uint8_t bytes[2 * N], truth[2 * N];
    operands o;
    for (int k = 0; k < 3; k++) {
        for (int64_t i = 0; i < N * step; i++) {
            uint64_t r = test_next(&numbers);
            bytes[i] = r & 1 ? 0 : (uint8_t)(r >> 8 & 7 ? r >> 16 : 1);
            truth[i] = bytes[i] != 0;
        }
        o.any[k] = bools(device, bytes, step);
        o.clean[k] = bools(device, truth, step);
    }
    return o;
}

static void release(operands *o)
{
    for (int k = 0; k < 3; k++) {
        acu_tensor_release(o->any[k]);
        acu_tensor_release(o->clean[k]);
    }
}

/* Two ops must yield the same bytes, and if these are bool, 0 or 1. */
static void same(acu_device *device, const char *what, acu_op *any, acu_op *clean)
{
    acu_tensor *a = NULL, *c = NULL;
    assert_works(acu_sync(device, any, &a));
    assert_works(acu_sync(device, clean, &c));
    size_t bytes = acu_tensor_bytes(a);
    assert_int_equal(bytes, acu_tensor_bytes(c));
    uint8_t *x = malloc(bytes), *y = malloc(bytes);
    assert_works(acu_read_sync(a, x, bytes));
    assert_works(acu_read_sync(c, y, bytes));
    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i] || (acu_tensor_dtype(a) == ACU_BOOL && x[i] > 1))
            fail_msg("%s: byte %zu is %d, not %d", what, i, x[i], y[i]);
    free(x);
    free(y);
    acu_tensor_release(a);
    acu_tensor_release(c);
}

static const struct {
    const char *name;
    int operands;
    bool of_bool;
} kinds[] = {
#define ANY true
#define BITS true
#define NUMBER false
#define INTEGER false
#define FLOAT false
#define ANY_C true
#define NUMBER_C false
#define FLOAT_C false
#define COMPLEX false
#define PARTS false
#define ACU_X(id, name, operands, of, result) {name, operands, of},
    ACU_ELEMENTWISE_OPS(ACU_X)
#undef ACU_X
};

static acu_op *elementwise(int kind, acu_tensor *const *x)
{
    acu_op *ops[3];
    for (int k = 0; k < kinds[kind].operands; k++)
        ops[k] = acu_value(x[k]);
    return acu_op_elementwise((acu_elementwise)kind, ops, (size_t)kinds[kind].operands, ACU_SITE);
}

static void elementwise_ops(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int64_t step = 1; step <= 2; step++) {
        operands o = make(device, step);
        int tried = 0;
        for (int kind = 0; kind < ACU_ELEMENTWISE_COUNT; kind++)
            if (kinds[kind].of_bool) {
                same(device, kinds[kind].name, elementwise(kind, o.any),
                     elementwise(kind, o.clean));
                tried++;
            }
        assert_true(tried >= 18);
        same(device, "max(x, true)", acu_max(o.any[0], acu_scalar(acu_bool(true))),
             acu_max(o.clean[0], acu_scalar(acu_bool(true))));
        release(&o);
    }
    test_close(device);
    test_leaks_none();
}

static void reductions_and_conversions(void **state)
{
    static const acu_dtype to[] = {ACU_BOOL, ACU_U8,  ACU_I16,  ACU_U32, ACU_I64,
                                   ACU_F16,  ACU_F32, ACU_BF16, ACU_F64, ACU_F8E4M3FN};
    (void)state;
    acu_device *device = test_open();
    for (int64_t step = 1; step <= 2; step++) {
        operands o = make(device, step);
        acu_tensor *x = o.any[0], *y = o.clean[0];
        for (size_t i = 0; i < sizeof to / sizeof *to; i++)
            same(device, acu_dtype_name(to[i]), acu_convert(x, to[i]), acu_convert(y, to[i]));
        same(device, "sum", acu_sum(x, ACU_ALL), acu_sum(y, ACU_ALL));
        same(device, "prod", acu_prod(x, ACU_ALL), acu_prod(y, ACU_ALL));
        same(device, "min", acu_min_of(x, ACU_ALL), acu_min_of(y, ACU_ALL));
        same(device, "max", acu_max_of(x, ACU_ALL), acu_max_of(y, ACU_ALL));
        same(device, "any", acu_any(x, ACU_ALL), acu_any(y, ACU_ALL));
        same(device, "all", acu_all(x, ACU_ALL), acu_all(y, ACU_ALL));
        same(device, "argmin", acu_argmin(x, ACU_ALL), acu_argmin(y, ACU_ALL));
        same(device, "argmax", acu_argmax(x, ACU_ALL), acu_argmax(y, ACU_ALL));
        const acu_shape turned = ACU_SHAPE(50, N / 50);
        same(device, "max along columns",
             acu_max_of(acu_reshape(acu_dup(x), turned), ACU_DIMS(0)),
             acu_max_of(acu_reshape(acu_dup(y), turned), ACU_DIMS(0)));
        release(&o);
    }
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_ops),
        cmocka_unit_test(reductions_and_conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
