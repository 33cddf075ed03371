/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* PTX as clang writes it: understood to the last word by the front end, and computed as C would. */
#include "softcuda/ptx_vectors.h"

#include "ptx/ptx.h"

extern const char test_ptx_clang_ptx[];

static CUmodule module;

static int setup(void **state)
{
    if (vec_setup(state) != 0)
        return -1;
    return vec.cu->ModuleLoadData(&module, test_ptx_clang_ptx) == ACU_CUDA_SUCCESS ? 0 : -1;
}

static int teardown(void **state)
{
    return vec.cu->ModuleUnload(module) == ACU_CUDA_SUCCESS ? vec_teardown(state) : -1;
}

static void launch(const char *kernel, unsigned threads, unsigned shared, void **params)
{
    vec_launch(module, kernel, (unsigned[3]){1, 1, 1}, (unsigned[3]){threads, 1, 1}, shared,
               params);
}

/* ---- front end ------------------------------------------------------------------------------ */

static void test_no_word_is_unknown(void **state)
{
    (void)state;
    ptx_error error;
    ptx_module *m = ptx_parse(test_ptx_clang_ptx, strlen(test_ptx_clang_ptx), &error);
    if (!m)
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < m->function_count; i++) {
        const ptx_function *f = m->functions[i];
        for (uint32_t j = 0; j < f->inst_count; j++) {
            const ptx_inst *inst = &f->insts[j];
            bool known = inst->op != PTX_OP_UNKNOWN;
            for (unsigned k = 0; k < inst->mod_count; k++)
                known &= inst->mods[k] != PTX_MOD_OTHER;
            if (!known)
                fail_msg("%s on line %u of %s", inst->name, inst->line, f->name);
        }
    }
    ptx_free(m);
}

static void test_shapes(void **state)
{
    (void)state;
    ptx_error error;
    ptx_module *m = ptx_parse(test_ptx_clang_ptx, strlen(test_ptx_clang_ptx), &error);
    assert_non_null(m);
    const ptx_function *sum = ptx_find_function(m, "sum");
    const ptx_function *reversed = ptx_find_function(m, "reversed");
    const ptx_function *structures = ptx_find_function(m, "structures");
    assert_true(sum && reversed && structures);
    assert_int_equal(sum->maxntid[0], 256);
    assert_int_equal(sum->shared_bytes, 32);
    assert_true(reversed->uses_dynamic_shared);
    assert_int_equal(reversed->shared_bytes, 0);
    assert_int_equal(structures->param_count, 3);
    assert_int_equal(structures->params[1]->offset, 8);
    assert_int_equal(structures->params[1]->bytes, 24);
    assert_int_equal(structures->params[2]->offset, 32);
    assert_true(ptx_find_function(m, "sorted")->local_bytes >= 64);
    assert_int_equal(ptx_find_var(m, "pointer")->reloc_count, 1);
    assert_int_equal(ptx_find_var(m, "functions")->reloc_count, 2);
    ptx_free(m);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void test_recursion(void **state)
{
    (void)state;
    int out[64], n = 12;
    CUdeviceptr to = vec_to_device(NULL, sizeof out);
    launch("recursion", 64, 0, (void *[]){&to, &n});
    vec_from_device(out, to, sizeof out);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], fibonacci(i % n));
}

static void test_structures(void **state)
{
    (void)state;
    struct {
        char tag;
        double weight;
        short step;
    } p = {'x', 2.5, 40};
    double out[32];
    int by = 3;
    CUdeviceptr to = vec_to_device(NULL, sizeof out);
    launch("structures", 32, 0, (void *[]){&to, &p, &by});
    vec_from_device(out, to, sizeof out);
    for (int i = 0; i < 32; i++)
        assert_true(out[i] == (2.5 + by + i) * 1000 + (40 - by - i) + 'x');
}

static void test_pointers(void **state)
{
    (void)state;
    int out[64];
    unsigned launches = 0;
    CUdeviceptr to = vec_to_device(NULL, sizeof out), counter = 0;
    launch("pointers", 64, 0, (void *[]){&to});
    vec_from_device(out, to, sizeof out);
    VEC_MUST(ModuleGetGlobal(&counter, NULL, module, "launches"));
    VEC_MUST(MemcpyDtoH(&launches, counter, sizeof launches));
    assert_int_equal(launches, 1);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i],
                         (i & 1 ? i * 7 : i + 7) + 4 + (i & 1) * 3 + i % 3 + 1 + (i & 1 ? 2 : 1));
}

static void test_sum(void **state)
{
    (void)state;
    enum { N = 10000 };
    static float in[N];
    float out;
    int n = N;
    for (int i = 0; i < N; i++)
        in[i] = (float)(i % 13); /* whole numbers: exact in any order */
    CUdeviceptr from = vec_to_device(in, sizeof in), to = vec_to_device(NULL, sizeof out);
    launch("sum", 256, 0, (void *[]){&from, &to, &n});
    vec_from_device(&out, to, sizeof out);
    VEC_MUST(MemFree(from));
    float expected = 0;
    for (int i = 0; i < N; i++)
        expected += in[i];
    assert_true(out == expected);
}

/* Threads with different values in a variable that is the block's would differ here. */
static void test_barrier_orders(void **state)
{
    (void)state;
    enum { BLOCKS = 5, THREADS = 64 };
    uint32_t out[1 + THREADS];
    CUdeviceptr to = vec_to_device(NULL, sizeof out);
    vec_launch(module, "last_block", (unsigned[3]){BLOCKS, 1, 1}, (unsigned[3]){THREADS, 1, 1}, 0,
               (void *[]){&to});
    vec_from_device(out, to, sizeof out);
    assert_int_equal(out[0], BLOCKS);
    for (int i = 1; i <= THREADS; i++)
        assert_int_equal(out[i], 1);
}

static void test_reversed(void **state)
{
    (void)state;
    int data[96];
    for (int i = 0; i < 96; i++)
        data[i] = i * i;
    CUdeviceptr memory = vec_to_device(data, sizeof data);
    launch("reversed", 96, sizeof data, (void *[]){&memory});
    vec_from_device(data, memory, sizeof data);
    for (int i = 0; i < 96; i++)
        assert_int_equal(data[i], (95 - i) * (95 - i));
}

static int choice(int i, int k)
{
    const int x = i * 3;
    switch ((i + k) % 9) {
    case 0:
        return x * 3;
    case 1:
        return x ^ 5;
    case 2:
        return x | 64;
    case 3:
        return 1000 / (x + 1);
    case 4:
        return x % 5;
    case 5:
        return x << 3;
    case 6:
        return x - 9;
    case 7:
        return -x;
    default:
        return k;
    }
}

static void test_choices(void **state)
{
    (void)state;
    int out[64], k = 4;
    for (int i = 0; i < 64; i++)
        out[i] = i * 3;
    CUdeviceptr memory = vec_to_device(out, sizeof out);
    launch("choices", 64, 0, (void *[]){&memory, &k});
    vec_from_device(out, memory, sizeof out);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], choice(i, k));
}

static void test_sorted(void **state)
{
    (void)state;
    enum { ROWS = 40, N = 16 };
    int data[ROWS][N], n = N;
    uint32_t seed = 9;
    for (int i = 0; i < ROWS * N; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i / N][i % N] = (int)(seed >> 20);
    }
    int before[ROWS] = {0}, after[ROWS] = {0};
    for (int i = 0; i < ROWS * N; i++)
        before[i / N] += data[i / N][i % N];
    CUdeviceptr memory = vec_to_device(data, sizeof data);
    launch("sorted", ROWS, 0, (void *[]){&memory, &n});
    vec_from_device(data, memory, sizeof data);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < N; j++) {
            after[i] += data[i][j];
            assert_true(j == 0 || data[i][j - 1] <= data[i][j]);
        }
        assert_int_equal(after[i], before[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_word_is_unknown),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_barrier_orders),
        cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_sorted),
    };
    return cmocka_run_group_tests_name("ptx_clang", tests, setup, teardown);
}
