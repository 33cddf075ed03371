/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of matrices: acu_matmul beside cuBLAS called by hand on a stream, from the same library
 * with the same settings, and beside acuda's own kernel. Without cuBLAS, only the kernel.
 */
#include "harness/harness.h"

#include <stdio.h>

/* Values of cuBLAS's enumerations. */
enum { OP_N = 0, FULL_REDUCTION = 16, R_32F = 0, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_TF32 = 77 };

enum { MOST_TIMES = 20 };

typedef struct by_hand {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, CUstream stream);
    int (*set_math_mode)(void *handle, int mode);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, long long a_stride, const void *b, int b_type,
                int ldb, long long b_stride, const void *beta, void *c, int c_type, int ldc,
                long long c_stride, int batches, int compute, int algorithm);
    int (*gemm_one)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
    void *handle; /* NULL: there is no cuBLAS */
    CUstream stream;
} by_hand;

typedef struct work {
    const char *what;
    acu_dtype dtype;
    int type, compute;
    int n, batches, times; /* products in a sample, one after the other */
    int samples;
} work;

typedef struct subject {
    bench *b;
    by_hand hand;
    const work *work;
    acu_tensor *a, *x, *c;
} subject;

/* ---- cuBLAS ---------------------------------------------------------------------------------- */

static void open_by_hand(subject *s)
{
    by_hand *h = &s->hand;
    void *library = bench_library(s->b, ACU_VENDOR_CUBLAS);
    if (!library)
        return;
    bench_find(library, "cublasCreate_v2", &h->create);
    bench_find(library, "cublasDestroy_v2", &h->destroy);
    bench_find(library, "cublasSetStream_v2", &h->set_stream);
    bench_find(library, "cublasSetMathMode", &h->set_math_mode);
    bench_find(library, "cublasGemmStridedBatchedEx", &h->gemm);
    bench_find(library, "cublasGemmEx", &h->gemm_one);
    bench_enter(s->b);
    MUST_CU(s->b->cu->StreamCreate(&h->stream, 1));
    bench_call(h->create(&h->handle), "cublasCreate");
    bench_call(h->set_stream(h->handle, h->stream), "cublasSetStream");
    bench_call(h->set_math_mode(h->handle, FULL_REDUCTION), "cublasSetMathMode");
    bench_leave(s->b);
}

static void close_by_hand(subject *s)
{
    if (!s->hand.handle)
        return;
    bench_enter(s->b);
    bench_call(s->hand.destroy(s->hand.handle), "cublasDestroy");
    MUST_CU(s->b->cu->StreamDestroy(s->hand.stream));
    bench_leave(s->b);
}

static void *address_of(const acu_tensor *tensor)
{
    return (void *)(uintptr_t)acu_tensor_address(tensor);
}

/* By rows, c = a x is, by columns, the product of x and a. */
static void multiply_by_hand(const subject *s)
{
    static const float one = 1, zero = 0;
    const work *w = s->work;
    const by_hand *h = &s->hand;
    int n = w->n;
    long long stride = (long long)n * n;
    if (w->batches == 1)
        bench_call(h->gemm_one(h->handle, OP_N, OP_N, n, n, n, &one, address_of(s->x), w->type, n,
                              address_of(s->a), w->type, n, &zero, address_of(s->c), w->type, n,
                              w->compute, -1), "cublasGemmEx");
    else
        bench_call(h->gemm(h->handle, OP_N, OP_N, n, n, n, &one, address_of(s->x), w->type, n,
                          stride, address_of(s->a), w->type, n, stride, &zero, address_of(s->c),
                          w->type, n, stride, w->batches, w->compute, -1),
                  "cublasGemmStridedBatchedEx");
}

/* ---- samples --------------------------------------------------------------------------------- */

static acu_op *product(const subject *s)
{
    return acu_into(s->c, acu_matmul(s->a, s->x));
}

static double sample_acuda(void *user)
{
    subject *s = user;
    acu_op *all[MOST_TIMES];
    double start = bench_now_us();
    for (int i = 0; i < s->work->times; i++)
        all[i] = product(s);
    acu_op *op = s->work->times > 1 ? acu_op_zip(all, (size_t)s->work->times, ACU_SITE) : all[0];
    MUST(acu_sync(s->b->device, op, NULL));
    return bench_now_us() - start;
}

static double sample_by_hand(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < s->work->times; i++)
        multiply_by_hand(s);
    MUST_CU(s->b->cu->StreamSynchronize(s->hand.stream));
    return bench_now_us() - start;
}

static double sample_kernel(void *user)
{
    subject *s = user;
    acu_vendor_settings settings = {.size = sizeof settings, .off = true};
    MUST(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    double took = sample_acuda(s);
    settings.off = false;
    MUST(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    return took;
}

/* ---- what is multiplied ---------------------------------------------------------------------- */

static const work works[] = {
    {"f32, 1024 x 1024", ACU_F32, R_32F, COMPUTE_32F, 1024, 1, 1, 400},
    {"f32, 4096 x 4096", ACU_F32, R_32F, COMPUTE_32F, 4096, 1, 1, 60},
    {"f32, 8192 x 8192", ACU_F32, R_32F, COMPUTE_32F, 8192, 1, 1, 20},
    {"tf32, 4096 x 4096", ACU_TF32, R_32F, COMPUTE_TF32, 4096, 1, 1, 60},
    {"f16, 1024 x 1024", ACU_F16, R_16F, COMPUTE_32F, 1024, 1, 1, 400},
    {"f16, 4096 x 4096", ACU_F16, R_16F, COMPUTE_32F, 4096, 1, 1, 60},
    {"f16, 8192 x 8192", ACU_F16, R_16F, COMPUTE_32F, 8192, 1, 1, 20},
    {"bf16, 1024 x 1024", ACU_BF16, R_16BF, COMPUTE_32F, 1024, 1, 1, 400},
    {"bf16, 4096 x 4096", ACU_BF16, R_16BF, COMPUTE_32F, 4096, 1, 1, 60},
    {"bf16, 8192 x 8192", ACU_BF16, R_16BF, COMPUTE_32F, 8192, 1, 1, 20},
    {"f16, 1024 x 1024, 20 times", ACU_F16, R_16F, COMPUTE_32F, 1024, 1, MOST_TIMES, 400},
    {"f32, 64 of 64 x 64, 20 times", ACU_F32, R_32F, COMPUTE_32F, 64, 64, MOST_TIMES, 400},
    {"f16, 64 of 64 x 64, 20 times", ACU_F16, R_16F, COMPUTE_32F, 64, 64, MOST_TIMES, 400},
};

/* All elements of the result, converted and summed up, are 3 n / 8. */
static void check(subject *s, const char *who)
{
    acu_tensor *mean = NULL;
    float have;
    MUST(acu_sync(s->b->device, acu_mean(acu_convert(s->c, ACU_F32), ACU_ALL), &mean));
    MUST(acu_read_sync(mean, &have, sizeof have));
    if (have != 0.375f * (float)s->work->n)
        bench_wrong("%s: the product by %s is %g on average, not %g", s->work->what, who,
                    (double)have, 0.375 * s->work->n);
    acu_tensor_release(mean);
}

static acu_op *filled(acu_tensor *tensor, float value)
{
    return acu_into(tensor, acu_convert(acu_full(acu_tensor_shape(tensor), acu_f32(value)),
                                        acu_tensor_dtype(tensor)));
}

static void check_all(subject *s)
{
    acu_device *device = s->b->device;
    MUST(acu_sync(device, acu_zip(filled(s->a, 0.5f), filled(s->x, 0.75f)), NULL));
    sample_acuda(s);
    check(s, "acu_matmul");
    MUST(acu_sync(device, filled(s->c, 0), NULL));
    sample_kernel(s);
    check(s, "the kernel");
    if (!s->hand.handle)
        return;
    MUST(acu_sync(device, filled(s->c, 0), NULL));
    bench_enter(s->b);
    sample_by_hand(s);
    bench_leave(s->b);
    check(s, "hand");
}

static acu_op *random_of(acu_tensor *tensor, uint64_t seed)
{
    acu_op *numbers = acu_rand(ACU_F32, acu_tensor_shape(tensor), seed, 0);
    return acu_into(tensor, acu_convert(acu_sub(numbers, 0.5), acu_tensor_dtype(tensor)));
}

/* Two rows: the kernel and cuBLAS in turn would be work of one form whose length changes from one
 * time to the next, as in no program. */
static void compare_sides(subject *s)
{
    const work *w = s->work;
    char what[80];
    bool goal = w->dtype == ACU_F16 || w->dtype == ACU_BF16 || w->dtype == ACU_TF32;
    bench_row row = {.what = w->what,
                     .samples = w->samples,
                     .warm = 20,
                     .sides = {{"acuda", sample_acuda, s, 0, 0}}};
    if (s->hand.handle)
        row.sides[1] = (bench_side){"cuBLAS", sample_by_hand, s, 1.05, 0};
    bench_compare(s->b, &row);
    if (!s->hand.handle)
        return;
    snprintf(what, sizeof what, "%s by acuda's kernel", w->what);
    row.what = what;
    row.samples = w->samples < 20 ? w->samples : 20;
    row.warm = 5;
    row.sides[0] = (bench_side){"acuda's kernel", sample_kernel, s, 0, 0};
    row.sides[1].p50_goal = goal ? 2 : 0;
    bench_compare(s->b, &row);
}

static void compare(subject *s, const work *w)
{
    bench *b = s->b;
    acu_shape shape = ACU_SHAPE(w->batches, w->n, w->n);
    s->work = w;
    MUST(acu_tensor_alloc(b->device, w->dtype, shape, &s->a));
    MUST(acu_tensor_alloc(b->device, w->dtype, shape, &s->x));
    MUST(acu_tensor_alloc(b->device, w->dtype, shape, &s->c));
    check_all(s);
    MUST(acu_sync(b->device, acu_zip(random_of(s->a, 1), random_of(s->x, 2)), NULL));
    compare_sides(s);
    acu_tensor_release(s->a);
    acu_tensor_release(s->x);
    acu_tensor_release(s->c);
}

int main(int argc, char **argv)
{
    bench b = bench_open("matmul", argc, argv, NULL);
    subject s = {.b = &b};
    open_by_hand(&s);
    bench_title(&b, s.hand.handle ? "Products of matrices, beside cuBLAS on a stream"
                                  : "Products of matrices (there is no cuBLAS here)");
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        work w = works[i];
        if (b.quick) {
            w.n = w.n > 64 ? 48 : 16;
            w.batches = w.batches > 1 ? 3 : 1;
            w.times = w.times > 1 ? 2 : 1;
        }
        compare(&s, &w);
    }
    close_by_hand(&s);
    return bench_close(&b);
}
