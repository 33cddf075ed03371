/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations that call a library (blas.h, fft.h), beside the same library by hand on a stream, with
 * handles, plans and temporary memory made before; and products in a replayed graph, beside one
 * that was captured by hand. Without the libraries (on the software device), nothing.
 */
#include "harness/harness.h"

#include <stdio.h>

enum { R_32F = 0, R_16F = 2, C_32F = 4, OP_N = 0, COMPUTE_32F = 68, FULL_REDUCTION = 16 };
enum { PRODUCTS = 20, REPLAYS = 10, WORKSPACE = 32 << 20 };

typedef struct blas {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, CUstream stream);
    int (*set_workspace)(void *handle, void *memory, size_t bytes);
    int (*set_math_mode)(void *handle, int mode);
    int (*axpy)(void *handle, int n, const void *alpha, int alpha_type, const void *x, int x_type,
                int x_step, void *y, int y_type, int y_step, int sums);
    int (*gemv)(void *handle, int op, int m, int n, const float *alpha, const void *a, int lda,
                const void *x, int x_step, const float *beta, void *y, int y_step);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
    void *handle;
} blas;

typedef struct fft {
    int (*create)(int *plan);
    int (*destroy)(int plan);
    int (*set_allocation)(int plan, int on);
    int (*make)(int plan, int rank, long long *n, long long *in_embed, long long in_stride,
                long long in_distance, int in_type, long long *out_embed, long long out_stride,
                long long out_distance, int out_type, long long batch, size_t *bytes, int type);
    int (*set_stream)(int plan, CUstream stream);
    int (*set_area)(int plan, void *memory);
    int (*run)(int plan, void *from, void *to, int sign);
    int plan;
} fft;

typedef struct subject {
    bench *b;
    blas blas;
    fft fft;
    CUstream stream;
    acu_tensor *memory; /* temporary, for calls by hand */
    acu_tensor *x, *y, *z;
    acu_graph *graph;
    CUgraph raw_graph;
    CUgraphExec exec;
    int n, batch;
} subject;

static void *at(const acu_tensor *tensor)
{
    return (void *)(uintptr_t)acu_tensor_address(tensor);
}

static acu_tensor *make(const subject *s, acu_dtype dtype, acu_shape shape)
{
    acu_tensor *tensor;
    MUST(acu_sync(s->b->device, acu_convert(acu_full(shape, acu_f32(0.5f)), dtype), &tensor));
    return tensor;
}

static void drop(subject *s)
{
    acu_tensor_release(s->x);
    acu_tensor_release(s->y);
    acu_tensor_release(s->z);
    s->x = s->y = s->z = NULL;
}

/* What both sides do is waited for. */
static double sample_op(const subject *s, acu_op *op, double start)
{
    MUST(acu_sync(s->b->device, op, NULL));
    return bench_now_us() - start;
}

static double sample_end(const subject *s, double start)
{
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

/* ---- cuBLAS ---------------------------------------------------------------------------------- */

static bool open_blas(subject *s)
{
    blas *h = &s->blas;
    void *library = bench_library(s->b, ACU_VENDOR_CUBLAS);
    if (!library)
        return false;
    bench_find(library, "cublasCreate_v2", &h->create);
    bench_find(library, "cublasDestroy_v2", &h->destroy);
    bench_find(library, "cublasSetStream_v2", &h->set_stream);
    bench_find(library, "cublasSetWorkspace_v2", &h->set_workspace);
    bench_find(library, "cublasSetMathMode", &h->set_math_mode);
    bench_find(library, "cublasAxpyEx", &h->axpy);
    bench_find(library, "cublasSgemv_v2", &h->gemv);
    bench_find(library, "cublasGemmEx", &h->gemm);
    bench_enter(s->b);
    bench_call(h->create(&h->handle), "cublasCreate");
    bench_call(h->set_stream(h->handle, s->stream), "cublasSetStream");
    bench_call(h->set_workspace(h->handle, at(s->memory), WORKSPACE), "cublasSetWorkspace");
    bench_call(h->set_math_mode(h->handle, FULL_REDUCTION), "cublasSetMathMode");
    bench_leave(s->b);
    return true;
}

static double axpy_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    return sample_op(s, acu_blas_axpy(0.5, s->x, s->y), start);
}

static double axpy_by_hand(void *user)
{
    static const float half = 0.5f;
    const subject *s = user;
    double start = bench_now_us();
    bench_call(s->blas.axpy(s->blas.handle, s->n, &half, R_32F, at(s->x), R_32F, 1, at(s->y), R_32F,
                            1, R_32F), "cublasAxpyEx");
    return sample_end(s, start);
}

static double gemv_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    return sample_op(s, acu_blas_gemv(1, acu_transpose(s->z, 0, 1), s->x, 0, s->y), start);
}

static double gemv_by_hand(void *user)
{
    static const float one = 1, zero = 0;
    const subject *s = user;
    double start = bench_now_us();
    bench_call(s->blas.gemv(s->blas.handle, OP_N, s->n, s->n, &one, at(s->z), s->n, at(s->x), 1,
                            &zero, at(s->y), 1), "cublasSgemv");
    return sample_end(s, start);
}

static void vectors(subject *s)
{
    s->n = bench_count(s->b, 1 << 20, 64);
    s->x = make(s, ACU_F32, ACU_SHAPE(s->n));
    s->y = make(s, ACU_F32, ACU_SHAPE(s->n));
    bench_row row = {.what = "axpy of 2^20 f32",
                     .sides = {{"acuda", axpy_acuda, s, 0, 0},
                               {"cuBLAS", axpy_by_hand, s, 1.15, 0}}};
    bench_compare(s->b, &row);
    drop(s);
    s->n = bench_count(s->b, 16384, 32);
    s->x = make(s, ACU_F32, ACU_SHAPE(s->n));
    s->y = make(s, ACU_F32, ACU_SHAPE(s->n));
    s->z = make(s, ACU_F32, ACU_SHAPE(s->n, s->n));
    row = (bench_row){.what = "gemv, f32, 16384 x 16384",
                      .samples = 400,
                      .warm = 5,
                      .sides = {{"acuda", gemv_acuda, s, 0, 0},
                                {"cuBLAS", gemv_by_hand, s, 1.02, 0}}};
    bench_compare(s->b, &row);
    drop(s);
}

/* ---- cuBLASLt -------------------------------------------------------------------------------- */

static double layer_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    acu_product_options o = {.size = sizeof o, .epilogue = ACU_EPILOGUE_GELU,
                             .bias = acu_select(s->x, 0, 0)};
    return sample_op(s, acu_into(s->z, acu_product(s->x, s->y, &o)), start);
}

static double layer_in_steps(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    acu_op *sums = acu_add(acu_matmul(s->x, s->y), acu_select(s->x, 0, 0));
    return sample_op(s, acu_into(s->z, acu_gelu(sums)), start);
}

static double product_by_hand(void *user)
{
    static const float one = 1, zero = 0;
    const subject *s = user;
    double start = bench_now_us();
    bench_call(s->blas.gemm(s->blas.handle, OP_N, OP_N, s->n, s->n, s->n, &one, at(s->x), R_16F,
                            s->n, at(s->y), R_16F, s->n, &zero, at(s->z), R_16F, s->n, COMPUTE_32F,
                            -1),
         "cublasGemmEx");
    return sample_end(s, start);
}

static void layers(subject *s, const char *what, int n, int samples)
{
    if (acu_vendor_load(s->b->device, ACU_VENDOR_CUBLASLT) != ACU_OK)
        return;
    s->n = bench_count(s->b, n, 16);
    s->x = make(s, ACU_F16, ACU_SHAPE(s->n, s->n));
    s->y = make(s, ACU_F16, ACU_SHAPE(s->n, s->n));
    s->z = make(s, ACU_F16, ACU_SHAPE(s->n, s->n));
    bench_row row = {.what = what,
                     .samples = samples,
                     .warm = 20,
                     .sides = {{"acu_product", layer_acuda, s, 0, 0},
                               {"acu_matmul, acu_add, acu_gelu", layer_in_steps, s, 1.0, 0},
                               {"the product alone by cuBLAS", product_by_hand, s, 0, 0}}};
    bench_compare(s->b, &row);
    drop(s);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void multiply(const subject *s)
{
    static const float one = 1, zero = 0;
    bench_call(s->blas.gemm(s->blas.handle, OP_N, OP_N, s->n, s->n, s->n, &one, at(s->x), R_16F,
                            s->n, at(s->y), R_16F, s->n, &zero, at(s->z), R_16F, s->n, COMPUTE_32F,
                            -1),
         "cublasGemmEx");
}

static void load_both(subject *s)
{
    const acu_driver_table *cu = s->b->cu;
    acu_op *all[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++)
        all[i] = acu_into(s->z, acu_matmul(s->x, s->y));
    MUST(acu_graph_load(s->b->device, acu_op_zip(all, PRODUCTS, ACU_SITE), NULL, &s->graph));
    bench_enter(s->b);
    MUST_CU(cu->StreamBeginCapture(s->stream, ACU_CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < PRODUCTS; i++)
        multiply(s);
    MUST_CU(cu->StreamEndCapture(s->stream, &s->raw_graph));
    MUST_CU(cu->GraphInstantiateWithFlags(&s->exec, s->raw_graph, 0));
    bench_leave(s->b);
}

static double replay_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    return sample_op(s, acu_replay(s->graph), start);
}

static double replay_by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    MUST_CU(s->b->cu->GraphLaunch(s->exec, s->stream));
    return sample_end(s, start);
}

/* One after the other, of which the last is waited for: what the nodes of the graph cost. */
static double replays_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    for (int i = 1; i < REPLAYS; i++) {
        acu_future *future;
        MUST(acu_submit(s->b->device, acu_replay(s->graph), NULL, &future));
        acu_future_release(future);
    }
    return sample_op(s, acu_replay(s->graph), start);
}

static double replays_by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < REPLAYS; i++)
        MUST_CU(s->b->cu->GraphLaunch(s->exec, s->stream));
    return sample_end(s, start);
}

static void graphs(subject *s, const char *size, int n, int samples)
{
    char what[100];
    s->n = bench_count(s->b, n, 16);
    s->x = make(s, ACU_F16, ACU_SHAPE(s->n, s->n));
    s->y = make(s, ACU_F16, ACU_SHAPE(s->n, s->n));
    s->z = make(s, ACU_F16, ACU_SHAPE(s->n, s->n));
    load_both(s);
    snprintf(what, sizeof what, "20 products of %s f16 in a graph", size);
    bench_row row = {.what = what,
                     .samples = samples,
                     .warm = 5,
                     .sides = {{"acu_replay", replay_acuda, s, 0, 0},
                               {"captured by hand", replay_by_hand, s, 1.0, 0}}};
    bench_compare(s->b, &row);
    snprintf(what, sizeof what, "20 products of %s f16 in a graph, ten replays", size);
    row.sides[0].sample = replays_acuda;
    row.sides[1].sample = replays_by_hand;
    row.samples = samples / 2;
    bench_compare(s->b, &row);
    acu_graph_release(s->graph);
    bench_enter(s->b);
    MUST_CU(s->b->cu->GraphExecDestroy(s->exec));
    MUST_CU(s->b->cu->GraphDestroy(s->raw_graph));
    bench_leave(s->b);
    drop(s);
}

/* ---- cuFFT ----------------------------------------------------------------------------------- */

static bool open_fft(subject *s)
{
    fft *h = &s->fft;
    void *library = bench_library(s->b, ACU_VENDOR_CUFFT);
    if (!library)
        return false;
    bench_find(library, "cufftCreate", &h->create);
    bench_find(library, "cufftDestroy", &h->destroy);
    bench_find(library, "cufftSetAutoAllocation", &h->set_allocation);
    bench_find(library, "cufftXtMakePlanMany", &h->make);
    bench_find(library, "cufftSetStream", &h->set_stream);
    bench_find(library, "cufftSetWorkArea", &h->set_area);
    bench_find(library, "cufftXtExec", &h->run);
    return true;
}

static void plan_by_hand(subject *s)
{
    fft *h = &s->fft;
    long long n = s->n;
    size_t bytes;
    bench_enter(s->b);
    bench_call(h->create(&h->plan), "cufftCreate");
    bench_call(h->set_allocation(h->plan, 0), "cufftSetAutoAllocation");
    bench_call(h->make(h->plan, 1, &n, &n, 1, n, C_32F, &n, 1, n, C_32F, s->batch, &bytes, C_32F),
         "cufftXtMakePlanMany");
    if (bytes > WORKSPACE)
        bench_die("a plan needs %zu bytes", bytes);
    bench_call(h->set_area(h->plan, at(s->memory)), "cufftSetWorkArea");
    bench_call(h->set_stream(h->plan, s->stream), "cufftSetStream");
    bench_leave(s->b);
}

static double fft_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    return sample_op(s, acu_into(s->y, acu_fft(s->x, 1, ACU_FORWARD)), start);
}

static double fft_by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    bench_call(s->fft.run(s->fft.plan, at(s->x), at(s->y), -1), "cufftXtExec");
    return sample_end(s, start);
}

static void transforms(subject *s, const char *what, int batch, int samples, double goal)
{
    s->n = bench_count(s->b, 1024, 16);
    s->batch = bench_count(s->b, batch, 2);
    s->x = make(s, ACU_C64, ACU_SHAPE(s->batch, s->n));
    s->y = make(s, ACU_C64, ACU_SHAPE(s->batch, s->n));
    plan_by_hand(s);
    bench_row row = {.what = what,
                     .samples = samples,
                     .warm = 20,
                     .sides = {{"acuda", fft_acuda, s, 0, 0},
                               {"cuFFT", fft_by_hand, s, goal, 0}}};
    bench_compare(s->b, &row);
    bench_enter(s->b);
    bench_call(s->fft.destroy(s->fft.plan), "cufftDestroy");
    bench_leave(s->b);
    drop(s);
}

int main(int argc, char **argv)
{
    bench b = bench_open("libraries", argc, argv, NULL);
    subject s = {.b = &b};
    bench_title(&b, "Libraries as operations, beside the same calls by hand on a stream");
    MUST(acu_tensor_alloc(b.device, ACU_U8, ACU_SHAPE(WORKSPACE), &s.memory));
    bench_enter(&b);
    MUST_CU(b.cu->StreamCreate(&s.stream, ACU_CU_STREAM_NON_BLOCKING));
    bench_leave(&b);
    if (open_blas(&s)) {
        vectors(&s);
        layers(&s, "gelu(x w + bias), 1024 x 1024 f16", 1024, 1000);
        layers(&s, "gelu(x w + bias), 4096 x 4096 f16", 4096, 200);
        graphs(&s, "1024 x 1024", 1024, 400);
        graphs(&s, "4096 x 4096", 4096, 60);
        bench_enter(&b);
        bench_call(s.blas.destroy(s.blas.handle), "cublasDestroy");
        bench_leave(&b);
    }
    if (open_fft(&s)) {
        transforms(&s, "fft of 64 x 1024", 64, 1000, 1.15);
        transforms(&s, "fft of 65536 x 1024", 65536, 200, 1.02);
        transforms(&s, "fft of 262144 x 1024", 262144, 100, 1.02);
    }
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    acu_tensor_release(s.memory);
    return bench_close(&b);
}
