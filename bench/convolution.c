/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Convolutions by cuDNN as operations (dnn.h), beside cuDNN by hand on a stream: by its functions
 * of before the backend API, with the fastest algorithm that it finds among those that round as
 * acuda does, and descriptions and temporary memory made before. What it says of how an algorithm
 * rounds is not relied on: the numbers are compared. Without cuDNN (on the software device),
 * nothing.
 */
#include "harness/harness.h"

#include <acuda/dnn.h>

#include <stdio.h>

enum { NCHW = 0, IS_FLOAT = 0, IS_HALF = 2, CORRELATION = 1 };
enum { AS_IT_LIKES = 0, ON_TENSOR_CORES = 1, FMA = 3 }; /* how it may multiply */
enum { MEMORY = 512 << 20 };

/* What cuDNN answers for each algorithm. */
typedef struct found {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} found;

typedef struct calls {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, CUstream stream);
    int (*new_tensor)(void **t);
    int (*set_tensor)(void *t, int layout, int type, int n, int c, int h, int w);
    int (*drop_tensor)(void *t);
    int (*new_filter)(void **f);
    int (*set_filter)(void *f, int type, int layout, int k, int c, int h, int w);
    int (*drop_filter)(void *f);
    int (*new_conv)(void **c);
    int (*set_conv)(void *c, int pad_h, int pad_w, int down, int right, int dilation_h,
                    int dilation_w, int mode, int type);
    int (*set_math)(void *c, int math);
    int (*drop_conv)(void *c);
    int (*find)(void *handle, void *x, const void *x_at, void *w, const void *w_at, void *conv,
                void *y, void *y_at, int most, int *count, found *list, void *memory,
                size_t bytes);
    int (*run)(void *handle, const float *alpha, void *x, const void *x_at, void *w,
               const void *w_at, void *conv, int algorithm, void *memory, size_t bytes,
               const float *beta, void *y, void *y_at);
} calls;

typedef struct subject {
    bench *b;
    calls c;
    void *handle;
    CUstream stream;
    acu_tensor *x, *w, *y, *memory;
    acu_tensor *want; /* what acuda computed */
    void *raw_x, *raw_w, *raw_y, *conv;
    int algorithm;
} subject;

static void *at(const acu_tensor *tensor)
{
    return (void *)(uintptr_t)acu_tensor_address(tensor);
}

static double sample_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    acu_dnn_conv_options o = {.size = sizeof o, .padding = {1, 1}, .measure = true,
                              .most_bytes = MEMORY};
    MUST(acu_sync(s->b->device, acu_into(s->y, acu_dnn_conv(s->x, s->w, &o)), NULL));
    return bench_now_us() - start;
}

static double sample_by_hand(void *user)
{
    static const float one = 1, zero = 0;
    const subject *s = user;
    double start = bench_now_us();
    bench_call(s->c.run(s->handle, &one, s->raw_x, at(s->x), s->raw_w, at(s->w), s->conv,
                        s->algorithm, at(s->memory), MEMORY, &zero, s->raw_y, at(s->y)),
               "cudnnConvolutionForward");
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

static void describe_tensor(const calls *c, void **t, const acu_tensor *tensor, int type)
{
    acu_shape shape = acu_tensor_shape(tensor);
    bench_call(c->new_tensor(t), "cudnnCreateTensorDescriptor");
    bench_call(c->set_tensor(*t, NCHW, type, (int)shape.dim[0], (int)shape.dim[1],
                             (int)shape.dim[2], (int)shape.dim[3]), "cudnnSetTensor4dDescriptor");
}

static void describe(subject *s, acu_dtype dtype)
{
    const calls *c = &s->c;
    acu_shape w = acu_tensor_shape(s->w);
    int type = dtype == ACU_F16 ? IS_HALF : IS_FLOAT;
    describe_tensor(c, &s->raw_x, s->x, type);
    describe_tensor(c, &s->raw_y, s->y, type);
    bench_call(c->new_filter(&s->raw_w), "cudnnCreateFilterDescriptor");
    bench_call(c->set_filter(s->raw_w, type, NCHW, (int)w.dim[0], (int)w.dim[1], (int)w.dim[2],
                             (int)w.dim[3]), "cudnnSetFilter4dDescriptor");
    bench_call(c->new_conv(&s->conv), "cudnnCreateConvolutionDescriptor");
    bench_call(c->set_conv(s->conv, 1, 1, 1, 1, 1, 1, CORRELATION, IS_FLOAT),
               "cudnnSetConvolution2dDescriptor");
}

/* The largest |a - b|, or |a|. */
static double most(const subject *s, acu_op *a, acu_op *b)
{
    double number;
    acu_op *difference = b ? acu_sub(a, b) : a;
    MUST(acu_read_f64_wait(s->b->device, acu_max_of(acu_abs(difference), ACU_ALL), &number));
    return number;
}

/* Whether the algorithm computes what acuda did, but for another order of sums. */
static bool agrees(subject *s, const found *f, acu_dtype dtype)
{
    double limit = dtype == ACU_F32 ? 5e-5 : 1e-2; /* tf32's rounding is some 5e-4 */
    bench_enter(s->b);
    s->algorithm = f->algorithm;
    bench_call(s->c.set_math(s->conv, f->math), "cudnnSetConvolutionMathType");
    sample_by_hand(s);
    bench_leave(s->b);
    double size = most(s, acu_convert(s->want, ACU_F32), NULL);
    double far = most(s, acu_convert(s->y, ACU_F32), acu_convert(s->want, ACU_F32)) / size;
    printf("cuDNN's algorithm %d, math type %d: %.3f ms, %.1e from acuda's result%s\n",
           f->algorithm, f->math, (double)f->time, far, far <= limit ? "" : ": passed over");
    return far <= limit;
}

static void choose(subject *s, acu_dtype dtype)
{
    enum { MOST = 16 };
    int math = dtype == ACU_F16 ? ON_TENSOR_CORES : dtype == ACU_F32 ? FMA : AS_IT_LIKES;
    int count = 0;
    found list[MOST];
    bench_enter(s->b);
    bench_call(s->c.set_math(s->conv, math), "cudnnSetConvolutionMathType");
    bench_call(s->c.find(s->handle, s->raw_x, at(s->x), s->raw_w, at(s->w), s->conv, s->raw_y,
                         at(s->y), MOST, &count, list, at(s->memory), MEMORY),
               "cudnnFindConvolutionForwardAlgorithmEx");
    bench_leave(s->b);
    for (int i = 0; i < count; i++)
        if (list[i].status == 0 && agrees(s, &list[i], dtype))
            return;
    bench_die("cuDNN has no algorithm that rounds as acuda does");
}

static void convolution(subject *s, acu_dtype dtype, int batch, int channels, int side, double goal)
{
    acu_device *device = s->b->device;
    int n = bench_count(s->b, batch, 1), c = bench_count(s->b, channels, 2);
    char what[100];
    snprintf(what, sizeof what, "3 x 3, [%d, %d, %d, %d] to %d, %s", batch, channels, side, side,
             channels, acu_dtype_name(dtype));
    acu_op *x = acu_randn(ACU_F32, ACU_SHAPE(n, c, side, side), 1, 0);
    acu_op *w = acu_randn(ACU_F32, ACU_SHAPE(c, c, 3, 3), 2, 0);
    MUST(acu_sync(device, acu_convert(x, dtype), &s->x));
    MUST(acu_sync(device, acu_convert(w, dtype), &s->w));
    MUST(acu_sync(device, acu_zeros(dtype, ACU_SHAPE(n, c, side, side)), &s->y));
    sample_acuda(s);
    MUST(acu_sync(device, acu_dup(s->y), &s->want));
    bench_enter(s->b);
    describe(s, dtype);
    bench_leave(s->b);
    choose(s, dtype);
    bench_row row = {.what = what,
                     .samples = 200,
                     .warm = 10,
                     .sides = {{"acu_dnn", sample_acuda, s, 0, 0},
                               {"cuDNN", sample_by_hand, s, goal, 0}}};
    bench_compare(s->b, &row);
    s->c.drop_tensor(s->raw_x);
    s->c.drop_tensor(s->raw_y);
    s->c.drop_filter(s->raw_w);
    s->c.drop_conv(s->conv);
    acu_tensor_release(s->x);
    acu_tensor_release(s->w);
    acu_tensor_release(s->y);
    acu_tensor_release(s->want);
}

static bool open_cudnn(subject *s)
{
    void *library = bench_library(s->b, ACU_VENDOR_CUDNN);
    if (!library)
        return false;
    bench_find(library, "cudnnCreate", &s->c.create);
    bench_find(library, "cudnnDestroy", &s->c.destroy);
    bench_find(library, "cudnnSetStream", &s->c.set_stream);
    bench_find(library, "cudnnCreateTensorDescriptor", &s->c.new_tensor);
    bench_find(library, "cudnnSetTensor4dDescriptor", &s->c.set_tensor);
    bench_find(library, "cudnnDestroyTensorDescriptor", &s->c.drop_tensor);
    bench_find(library, "cudnnCreateFilterDescriptor", &s->c.new_filter);
    bench_find(library, "cudnnSetFilter4dDescriptor", &s->c.set_filter);
    bench_find(library, "cudnnDestroyFilterDescriptor", &s->c.drop_filter);
    bench_find(library, "cudnnCreateConvolutionDescriptor", &s->c.new_conv);
    bench_find(library, "cudnnSetConvolution2dDescriptor", &s->c.set_conv);
    bench_find(library, "cudnnSetConvolutionMathType", &s->c.set_math);
    bench_find(library, "cudnnDestroyConvolutionDescriptor", &s->c.drop_conv);
    bench_find(library, "cudnnFindConvolutionForwardAlgorithmEx", &s->c.find);
    bench_find(library, "cudnnConvolutionForward", &s->c.run);
    return true;
}

int main(int argc, char **argv)
{
    bench b = bench_open("convolution", argc, argv, NULL);
    subject s = {.b = &b};
    bench_title(&b, "Convolutions by cuDNN, beside cuDNN by hand on a stream");
    if (open_cudnn(&s)) {
        MUST(acu_tensor_alloc(b.device, ACU_U8, ACU_SHAPE(MEMORY), &s.memory));
        bench_enter(&b);
        MUST_CU(b.cu->StreamCreate(&s.stream, ACU_CU_STREAM_NON_BLOCKING));
        bench_call(s.c.create(&s.handle), "cudnnCreate");
        bench_call(s.c.set_stream(s.handle, s.stream), "cudnnSetStream");
        bench_leave(&b);
        convolution(&s, ACU_F16, 8, 64, 28, 1.15);
        convolution(&s, ACU_F16, 256, 256, 56, 1.02);
        convolution(&s, ACU_F32, 64, 128, 56, 1.02);
        convolution(&s, ACU_TF32, 64, 128, 56, 1.02);
        bench_enter(&b);
        s.c.destroy(s.handle);
        MUST_CU(b.cu->StreamDestroy(s.stream));
        bench_leave(&b);
        acu_tensor_release(s.memory);
    }
    return bench_close(&b);
}
