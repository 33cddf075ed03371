/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products with sparse matrices (sparse.h), beside cuSPARSE by hand on a stream, with descriptions
 * and temporary memory made before. Without cuSPARSE (on the software device), nothing.
 */
#include "harness/harness.h"

#include <acuda/sparse.h>


enum { R_32F = 0, INDEX_32 = 2, BY_ROWS = 2, MV_CSR_2 = 3, MM_CSR_2 = 6 };

typedef struct calls {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, CUstream stream);
    int (*create_csr)(void **a, int64_t rows, int64_t cols, int64_t count, void *offsets,
                      void *columns, void *values, int offset_type, int column_type, int base,
                      int type);
    int (*destroy_csr)(void *a);
    int (*create_vector)(void **x, int64_t n, void *at, int type);
    int (*destroy_vector)(void *x);
    int (*create_dense)(void **x, int64_t rows, int64_t cols, int64_t ld, void *at, int type,
                        int order);
    int (*destroy_dense)(void *x);
    int (*mv_bytes)(void *handle, int op, const float *alpha, void *a, void *x, const float *beta,
                    void *y, int compute, int algorithm, size_t *bytes);
    int (*mv)(void *handle, int op, const float *alpha, void *a, void *x, const float *beta,
              void *y, int compute, int algorithm, void *memory);
    int (*mm_bytes)(void *handle, int op_a, int op_b, const float *alpha, void *a, void *x,
                    const float *beta, void *y, int compute, int algorithm, size_t *bytes);
    int (*mm)(void *handle, int op_a, int op_b, const float *alpha, void *a, void *x,
              const float *beta, void *y, int compute, int algorithm, void *memory);
} calls;

typedef struct subject {
    bench *b;
    calls c;
    void *handle;
    CUstream stream;
    int n, width; /* of the square matrix; of the dense one, 0: a vector */
    acu_tensor *offsets, *columns, *values, *x, *y, *memory;
    void *raw_a, *raw_x, *raw_y;
} subject;

static const float one = 1, zero = 0;

static void *at(const acu_tensor *tensor)
{
    return (void *)(uintptr_t)acu_tensor_address(tensor);
}

static double sample_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    acu_op *y = acu_csr_matmul(s->offsets, s->columns, s->values, s->n, s->x);
    MUST(acu_sync(s->b->device, acu_into(s->y, y), NULL));
    return bench_now_us() - start;
}

static double sample_by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    if (s->width)
        bench_call(s->c.mm(s->handle, 0, 0, &one, s->raw_a, s->raw_x, &zero, s->raw_y, R_32F,
                           MM_CSR_2, at(s->memory)), "cusparseSpMM");
    else
        bench_call(s->c.mv(s->handle, 0, &one, s->raw_a, s->raw_x, &zero, s->raw_y, R_32F,
                           MV_CSR_2, at(s->memory)), "cusparseSpMV");
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

/* A vector of indices on the host, to be filled, and then on the device. */
static int32_t *new_indices(const subject *s, int64_t n, acu_tensor **host)
{
    MUST(acu_tensor_alloc_pinned(s->b->device, ACU_I32, ACU_SHAPE(n), host));
    return acu_tensor_host(*host);
}

static acu_tensor *to_device(const subject *s, acu_tensor *host)
{
    acu_tensor *made;
    MUST(acu_sync(s->b->device, acu_to_device(s->b->device, host), &made));
    acu_tensor_release(host);
    return made;
}

/* `each` elements in every row, at columns that differ from row to row. */
static void make_matrix(subject *s, int n, int each)
{
    acu_tensor *on_host[2];
    int32_t *offsets = new_indices(s, n + 1, &on_host[0]);
    int32_t *columns = new_indices(s, (int64_t)n * each, &on_host[1]);
    for (int row = 0; row <= n; row++)
        offsets[row] = row * each;
    for (int row = 0; row < n; row++)
        for (int i = 0; i < each; i++) /* ascending: one in each part of the row */
            columns[row * each + i] = (int)((int64_t)n * i / each) +
                                      (int)((unsigned)(row * each + i) * 2654435761U %
                                            (unsigned)(n / each));
    s->n = n;
    s->offsets = to_device(s, on_host[0]);
    s->columns = to_device(s, on_host[1]);
    MUST(acu_sync(s->b->device, acu_randn(ACU_F32, ACU_SHAPE((int64_t)n * each), 1, 0),
                  &s->values));
}

static void describe(subject *s)
{
    const calls *c = &s->c;
    size_t bytes = 0;
    int64_t count = acu_shape_elements(acu_tensor_shape(s->columns));
    bench_call(c->create_csr(&s->raw_a, s->n, s->n, count, at(s->offsets), at(s->columns),
                             at(s->values), INDEX_32, INDEX_32, 0, R_32F), "cusparseCreateCsr");
    if (s->width) {
        bench_call(c->create_dense(&s->raw_x, s->n, s->width, s->width, at(s->x), R_32F, BY_ROWS),
                   "cusparseCreateDnMat");
        bench_call(c->create_dense(&s->raw_y, s->n, s->width, s->width, at(s->y), R_32F, BY_ROWS),
                   "cusparseCreateDnMat");
        bench_call(c->mm_bytes(s->handle, 0, 0, &one, s->raw_a, s->raw_x, &zero, s->raw_y, R_32F,
                               MM_CSR_2, &bytes), "cusparseSpMM_bufferSize");
    } else {
        bench_call(c->create_vector(&s->raw_x, s->n, at(s->x), R_32F), "cusparseCreateDnVec");
        bench_call(c->create_vector(&s->raw_y, s->n, at(s->y), R_32F), "cusparseCreateDnVec");
        bench_call(c->mv_bytes(s->handle, 0, &one, s->raw_a, s->raw_x, &zero, s->raw_y, R_32F,
                               MV_CSR_2, &bytes), "cusparseSpMV_bufferSize");
    }
    MUST(acu_tensor_alloc(s->b->device, ACU_U8, ACU_SHAPE((int64_t)bytes + 1), &s->memory));
}

static void product(subject *s, const char *what, int n, int each, int width, double goal)
{
    acu_device *device = s->b->device;
    make_matrix(s, bench_count(s->b, n, 64), bench_count(s->b, each, 4));
    s->width = width;
    acu_shape shape = width ? ACU_SHAPE(s->n, width) : ACU_SHAPE(s->n);
    MUST(acu_sync(device, acu_randn(ACU_F32, shape, 2, 0), &s->x));
    MUST(acu_sync(device, acu_zeros(ACU_F32, shape), &s->y));
    bench_enter(s->b);
    describe(s);
    bench_leave(s->b);
    bench_row row = {.what = what,
                     .samples = 400,
                     .warm = 20,
                     .sides = {{"acuda", sample_acuda, s, 0, 0},
                               {"cuSPARSE", sample_by_hand, s, goal, 0}}};
    bench_compare(s->b, &row);
    s->c.destroy_csr(s->raw_a);
    (width ? s->c.destroy_dense : s->c.destroy_vector)(s->raw_x);
    (width ? s->c.destroy_dense : s->c.destroy_vector)(s->raw_y);
    acu_tensor *all[] = {s->offsets, s->columns, s->values, s->x, s->y, s->memory};
    for (int i = 0; i < 6; i++)
        acu_tensor_release(all[i]);
}

static bool open_cusparse(subject *s)
{
    void *library = bench_library(s->b, ACU_VENDOR_CUSPARSE);
    if (!library)
        return false;
    bench_find(library, "cusparseCreate", &s->c.create);
    bench_find(library, "cusparseDestroy", &s->c.destroy);
    bench_find(library, "cusparseSetStream", &s->c.set_stream);
    bench_find(library, "cusparseCreateCsr", &s->c.create_csr);
    bench_find(library, "cusparseDestroySpMat", &s->c.destroy_csr);
    bench_find(library, "cusparseCreateDnVec", &s->c.create_vector);
    bench_find(library, "cusparseDestroyDnVec", &s->c.destroy_vector);
    bench_find(library, "cusparseCreateDnMat", &s->c.create_dense);
    bench_find(library, "cusparseDestroyDnMat", &s->c.destroy_dense);
    bench_find(library, "cusparseSpMV_bufferSize", &s->c.mv_bytes);
    bench_find(library, "cusparseSpMV", &s->c.mv);
    bench_find(library, "cusparseSpMM_bufferSize", &s->c.mm_bytes);
    bench_find(library, "cusparseSpMM", &s->c.mm);
    return true;
}

int main(int argc, char **argv)
{
    bench b = bench_open("sparse", argc, argv, NULL);
    subject s = {.b = &b};
    bench_title(&b, "Products with sparse matrices, beside cuSPARSE by hand on a stream");
    if (open_cusparse(&s)) {
        bench_enter(&b);
        MUST_CU(b.cu->StreamCreate(&s.stream, ACU_CU_STREAM_NON_BLOCKING));
        bench_call(s.c.create(&s.handle), "cusparseCreate");
        bench_call(s.c.set_stream(s.handle, s.stream), "cusparseSetStream");
        bench_leave(&b);
        product(&s, "f32, 2^16 rows of 32 elements, a vector", 1 << 16, 32, 0, 1.15);
        product(&s, "f32, 2^18 rows of 96 elements, 64 columns", 1 << 18, 96, 64, 1.02);
        bench_enter(&b);
        s.c.destroy(s.handle);
        MUST_CU(b.cu->StreamDestroy(s.stream));
        bench_leave(&b);
    }
    return bench_close(&b);
}
