/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Expressions: what they compute, in each dtype, on any layout; that they
 * are compiled once; errors. */
#include "ops/elements.h"

enum { N = 5000 };

/* A device, if there is a compiler for it. */
static acu_device *open_with_compiler(void)
{
    acu_device *device = test_open();
    acu_code *code = NULL;
    acu_status status = acu_compile(device, "", NULL, &code);
    acu_code_release(code);
    if (status == ACU_ERR_NOT_FOUND) {
        test_close(device);
        print_message("%s\n", acu_last_error()->message);
        skip();
    }
    assert_works(status);
    return device;
}

static void *some_reals(acu_dtype dtype, size_t count, double from)
{
    void *memory = calloc(count, acu_dtype_bytes(dtype));
    for (size_t i = 0; i < count; i++)
        put_real(dtype, memory, i, from + (double)(i * 37 % 1000) / 500);
    return memory;
}

static void expressions_compute(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F64, ACU_F16, ACU_BF16};
    acu_device *device = open_with_compiler();
    acu_expression *e = NULL;
    assert_works(acu_expression_create("a * x + tanh(y) / 2", &e));
    assert_int_equal(acu_expression_operands(e), 3);
    assert_string_equal(acu_expression_operand(e, 1), "x");
    for (int d = 0; d < 4; d++) {
        void *x = some_reals(dtypes[d], N, -1), *y = some_reals(dtypes[d], N, 0.25);
        acu_tensor *tx = tensor_with(device, dtypes[d], ACU_SHAPE(N), x);
        acu_tensor *ty = tensor_with(device, dtypes[d], ACU_SHAPE(N), y);
        for (int again = 0; again < 2; again++) {
            void *have = result_of(device, acu_fused(e, 1.5, tx, ty), dtypes[d], ACU_SHAPE(N));
            for (size_t i = 0; i < N; i++) {
                double want = 1.5 * real_at(dtypes[d], x, i) + tanh(real_at(dtypes[d], y, i)) / 2;
                double near = 0.51 * unit_at(dtypes[d], want) +
                              (dtypes[d] == ACU_F64 ? 1e-15 : 4e-7);
                assert_true(fabs(real_at(dtypes[d], have, i) - want) <= near);
            }
            free(have);
        }
        free(x);
        free(y);
        acu_tensor_release(tx);
        acu_tensor_release(ty);
    }
    acu_expression_release(e);
    test_close(device);
    test_leaks_none();
}

/* One or two operands are read in larger pieces than more: a whole piece, and a remainder. */
static void large_pieces(void **state)
{
    (void)state;
    acu_device *device = open_with_compiler();
    acu_expression *e = NULL;
    assert_works(acu_expression_create("x + 2 * relu(y)", &e));
    float *x = some_reals(ACU_F32, N, -1), *y = some_reals(ACU_F32, N, -0.5);
    acu_tensor *tx = tensor_with(device, ACU_F32, ACU_SHAPE(N), x);
    acu_tensor *ty = tensor_with(device, ACU_F32, ACU_SHAPE(N), y);
    float *have = result_of(device, acu_fused(e, tx, ty), ACU_F32, ACU_SHAPE(N));
    for (size_t i = 0; i < N; i++)
        assert_true(have[i] == fmaf(2, y[i] < 0 ? 0 : y[i], x[i]));
    free(have);
    free(x);
    free(y);
    acu_tensor_release(tx);
    acu_tensor_release(ty);
    acu_expression_release(e);
    test_close(device);
    test_leaks_none();
}

/* Precedence, comparisons, choices, functions: against C's own. */
static void what_is_written_is_meant(void **state)
{
    (void)state;
    acu_device *device = open_with_compiler();
    acu_expression *e = NULL;
    assert_works(acu_expression_create(
        "x > 1 && !(y <= .5) ? max(x, y) - -2e0 * 3 / 4 : where(x != y, clamp(x, -0.5, y), 7) + sqrt(abs(x)) * (x < y)",
        &e));
    float *x = some_reals(ACU_F32, N, -1), *y = some_reals(ACU_F32, 50, 0);
    acu_tensor *tx = tensor_with(device, ACU_F32, ACU_SHAPE(100, 50), x);
    acu_tensor *ty = tensor_with(device, ACU_F32, ACU_SHAPE(50), y); /* broadcast */
    float *have = result_of(device, acu_fused(e, tx, ty), ACU_F32, ACU_SHAPE(100, 50));
    for (size_t i = 0; i < N; i++) {
        float a = x[i], b = y[i % 50];
        float want = a > 1 && !(b <= .5f) ? fmaxf(a, b) - -2.0f * 3 / 4
                                          : (a != b ? (a < -0.5f ? -0.5f
                                                       : a > b   ? b
                                                                 : a)
                                                    : 7) +
                                                sqrtf(fabsf(a)) * (float)(a < b);
        if (fabsf(have[i] - want) > 1e-6f * (1 + fabsf(want)))
            fail_msg("(%g, %g): %g, not %g", (double)a, (double)b, (double)have[i], (double)want);
    }
    free(have);
    /* in place */
    assert_works(acu_sync(device, acu_into(tx, acu_fused(e, tx, ty)), NULL));
    acu_expression_release(e);
    free(x);
    free(y);
    acu_tensor_release(tx);
    acu_tensor_release(ty);
    test_close(device);
    test_leaks_none();
}

/* The same, where signs, comparisons and choices stand side by side. */
static void what_stands_side_by_side_is_meant(void **state)
{
    (void)state;
    acu_device *device = open_with_compiler();
    acu_expression *e = NULL;
    assert_works(acu_expression_create("x - -y + + x * - - -2 + (x < y == 1) - "
                                       "(1 == x < y < 2 != 0) + "
                                       "(x + y ? x > 0 && y || x > .5 : !!x - !-y) / -4 + "
                                       "(x < 0 ? y < 1 ? 1 : x + 2 : 3)",
                                       &e));
    float *x = some_reals(ACU_F32, N, -1), *y = some_reals(ACU_F32, N, 0.25);
    acu_tensor *tx = tensor_with(device, ACU_F32, ACU_SHAPE(N), x);
    acu_tensor *ty = tensor_with(device, ACU_F32, ACU_SHAPE(N), y);
    float *have = result_of(device, acu_fused(e, tx, ty), ACU_F32, ACU_SHAPE(N));
    for (size_t i = 0; i < N; i++) {
        float a = x[i], b = y[i];
        int less = a < b;
        int chosen = a + b != 0 ? (a > 0 && b != 0) || a > .5f : (a != 0) - (b == 0);
        float want = a - -b + a * -2 + (float)(less == 1) - (float)((1 == (less < 2)) != 0) +
                     (float)chosen / -4 + (a < 0 ? b < 1 ? 1 : a + 2 : 3);
        if (fabsf(have[i] - want) > 1e-6f * (1 + fabsf(want)))
            fail_msg("(%g, %g): %g, not %g", (double)a, (double)b, (double)have[i], (double)want);
    }
    free(have);
    free(x);
    free(y);
    acu_tensor_release(tx);
    acu_tensor_release(ty);
    acu_expression_release(e);
    test_close(device);
    test_leaks_none();
}

/* All of the 2048 bytes may be used, also by what becomes longest in the kernel's source. */
static void long_expressions_are_read(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "exp(a)+", "1+", "1<1+", "1<1==", "1==1<1&&", "1||1&&1==1<1+", "1||", "(1?1:1)+",
        "(1<1?1:1<1)-", "-1-", "!1+", "!!!!!!!!!!!!!!!!!!!!1+", "(!1?!1:!1)*", "max(1,1)+",
        "(!(!(!(!(!1)))))<", "(1?1:1?1:1?1:1?1:1?1:1?1:1)&&"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char text[2100] = "";
        size_t length = 0, bytes = strlen(pieces[i]);
        for (; length + bytes + 1 <= 2048; length += bytes)
            memcpy(text + length, pieces[i], bytes);
        text[length++] = 'a';
        memset(text + length, ' ', 2048 - length);
        acu_expression *e = NULL;
        assert_works(acu_expression_create(text, &e));
        acu_expression_release(e);
        text[2048] = ' ';
        assert_fails(acu_expression_create(text, &e), ACU_ERR_INVALID, "2049 bytes|2048");
    }
    test_leaks_none();
}

static void errors_name_the_column(void **state)
{
    (void)state;
    acu_expression *e = NULL;
    assert_fails(acu_expression_create("a * (x + 1", &e), ACU_ERR_INVALID, "column 11|')'|ends");
    assert_fails(acu_expression_create("a * * b", &e), ACU_ERR_INVALID,
                 "column 5|a name, a number or '('");
    assert_fails(acu_expression_create("a b", &e), ACU_ERR_INVALID, "column 3|operator");
    assert_fails(acu_expression_create("foo(a)", &e), ACU_ERR_INVALID, "column 1|no function foo");
    assert_fails(acu_expression_create("1 + max(a)", &e), ACU_ERR_INVALID,
                 "column 5|max takes 2 arguments|got 1");
    assert_fails(acu_expression_create("1.2.3 * a", &e), ACU_ERR_INVALID, "column 1|two points");
    assert_fails(acu_expression_create("a * 12345678901234567890123456789012345678901", &e),
                 ACU_ERR_INVALID, "column 5|the number is too long");
    assert_works(acu_expression_create("a * 1234567890123456789012345678901234567890", &e));
    acu_expression_release(e);
    assert_fails(acu_expression_create("2 * 3", &e), ACU_ERR_INVALID, "no operands");
    assert_fails(acu_expression_create("a+b+c+d+e+f+g+h+i", &e), ACU_ERR_INVALID,
                 "column 17|more than 8");
    assert_fails(acu_expression_create("", &e), ACU_ERR_INVALID, "column 1|it ends");
    char deep[300] = "";
    for (int i = 0; i < 100; i++)
        strcat(deep, "(");
    assert_fails(acu_expression_create(deep, &e), ACU_ERR_INVALID, "too deeply");
    assert_fails(acu_expression_create(NULL, &e), ACU_ERR_INVALID, "NULL");
    acu_device *device = test_open();
    float zeros[4] = {0};
    acu_tensor *f = tensor_with(device, ACU_F32, ACU_SHAPE(4), zeros),
               *i = tensor_with(device, ACU_I32, ACU_SHAPE(4), zeros);
    assert_works(acu_expression_create("p + q", &e));
    assert_fails(acu_sync(device, acu_fused(e, f), NULL), ACU_ERR_ARGUMENTS, "2 operands|got 1");
    assert_fails(acu_sync(device, acu_fused(e, f, i), NULL), ACU_ERR_DTYPE, "q is i32 [4]");
    assert_fails(acu_sync(device, acu_fused(e, f, acu_zeros(ACU_F32, ACU_SHAPE(3))), NULL),
                 ACU_ERR_SHAPE, "q is f32 [3]");
    assert_fails(acu_sync(device, acu_fused(e, 1, 2), NULL), ACU_ERR_INVALID, "must be a tensor");
    acu_expression_release(e);
    acu_tensor_release(f);
    acu_tensor_release(i);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_compute),
        cmocka_unit_test(large_pieces),
        cmocka_unit_test(what_is_written_is_meant),
        cmocka_unit_test(what_stands_side_by_side_is_meant),
        cmocka_unit_test(long_expressions_are_read),
        cmocka_unit_test(errors_name_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
