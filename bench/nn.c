/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Attention, convolution and Fourier transforms, by acuda's own kernels; QUEUED of each are
 * submitted to one stream before they are waited for. The twin is PyTorch's, on the same machine:
 * bench/twins/nn.py prints the same rows, by cuDNN and the like. Transforms have cuFFT beside them,
 * and the others cuDNN by dnn.h, where it is found.
 */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>

enum { QUEUED = 4 };

typedef struct work {
    const char *what;
    acu_dtype dtype;
    acu_shape shape[3]; /* of the operands */
    acu_op *(*make)(const struct work *w, acu_tensor *const *x);
    bool causal;
    double operations; /* of one, without those that `causal` spares */
} work;

typedef struct subject {
    bench *b;
    const work *work;
    acu_stream *stream;
    acu_tensor *x[3];
    double us; /* the shortest time of one */
} subject;

static acu_op *attention(const work *w, acu_tensor *const *x)
{
    acu_attention_options by = {.size = sizeof by, .causal = w->causal};
    return acu_attention(x[0], x[1], x[2], &by);
}
static acu_op *conv(const work *w, acu_tensor *const *x)
{
    acu_window_options by = {.size = sizeof by, .padding = {1, 1}};
    (void)w;
    return acu_conv(x[0], x[1], 0, &by);
}

/* The same by cuDNN. */
static acu_op *dnn_attention(const work *w, acu_tensor *const *x)
{
    acu_attention_options by = {.size = sizeof by, .causal = w->causal};
    return acu_dnn_attention(x[0], x[1], x[2], &by);
}

static acu_op *dnn_conv(const work *w, acu_tensor *const *x)
{
    acu_dnn_conv_options by = {.size = sizeof by, .padding = {1, 1}, .measure = true};
    (void)w;
    return acu_dnn_conv(x[0], x[1], &by);
}

static acu_op *fft(const work *w, acu_tensor *const *x)
{
    (void)w;
    return acu_into(x[1], acu_fft(x[0], 1, ACU_FORWARD));
}

/* The operand and the result; 5 n log2 n operations, by custom. */
#define FFT(text, type, lines, n, log2n)                                                           \
    {text, type, {{.rank = 2, .dim = {lines, n}}, {.rank = 2, .dim = {lines, n}}},                 \
     fft, false, 5.0 * lines * n * log2n}
#define HEADS(n, heads, width) {.rank = 4, .dim = {1, heads, n, width}}
static const work works[] = {
    {"attention, 16 x 128, 4096, causal, bf16", ACU_BF16,
     {HEADS(4096, 16, 128), HEADS(4096, 16, 128), HEADS(4096, 16, 128)}, attention, true,
     2.0 * 16 * 4096 * 4096 * 128},
    {"attention, 16 x 128, 4096, bf16", ACU_BF16,
     {HEADS(4096, 16, 128), HEADS(4096, 16, 128), HEADS(4096, 16, 128)}, attention, false,
     4.0 * 16 * 4096 * 4096 * 128},
    {"attention, 16 x 64, 4096, causal, f16", ACU_F16,
     {HEADS(4096, 16, 64), HEADS(4096, 16, 64), HEADS(4096, 16, 64)}, attention, true,
     2.0 * 16 * 4096 * 4096 * 64},
    {"attention, 16 x 128 on 4 groups, 4096, causal, bf16", ACU_BF16,
     {HEADS(4096, 16, 128), HEADS(4096, 4, 128), HEADS(4096, 4, 128)}, attention, true,
     2.0 * 16 * 4096 * 4096 * 128},
    {"attention, 16 x 128, 2048, causal, f32", ACU_F32,
     {HEADS(2048, 16, 128), HEADS(2048, 16, 128), HEADS(2048, 16, 128)}, attention, true,
     2.0 * 16 * 2048 * 2048 * 128},
    {"conv 3 x 3, [32, 64, 56, 56] to 64, f32", ACU_F32,
     {{.rank = 4, .dim = {32, 64, 56, 56}}, {.rank = 4, .dim = {64, 64, 3, 3}}}, conv, false,
     2.0 * 32 * 64 * 56 * 56 * 64 * 9},
    {"conv 3 x 3, [32, 64, 56, 56] to 64, f16", ACU_F16,
     {{.rank = 4, .dim = {32, 64, 56, 56}}, {.rank = 4, .dim = {64, 64, 3, 3}}}, conv, false,
     2.0 * 32 * 64 * 56 * 56 * 64 * 9},
    FFT("fft, 64 of 2^20, c64", ACU_C64, 64, 1048576, 20),
    FFT("fft, 65536 of 1024, c64", ACU_C64, 65536, 1024, 10),
    FFT("fft, 64 of 10^6, c64", ACU_C64, 64, 1000000, 20),
    FFT("fft, 64 of 65537, c64", ACU_C64, 64, 65537, 16),
    FFT("fft, 64 of 2^18, c128", ACU_C128, 64, 262144, 18),
};

static void use_cufft(bool use)
{
    acu_vendor_settings settings = {.size = sizeof settings, .off = !use};
    MUST(acu_vendor_configure(ACU_VENDOR_CUFFT, &settings));
}

static double sample(void *user)
{
    subject *s = user;
    const acu_submit_options options = {.size = sizeof options, .stream = s->stream};
    acu_future *futures[QUEUED];
    double start = bench_now_us();
    for (int i = 0; i < QUEUED; i++)
        MUST(acu_submit(s->b->device, s->work->make(s->work, s->x), &options, &futures[i]));
    MUST(acu_wait_all(futures, QUEUED, ACU_FOREVER));
    double us = (bench_now_us() - start) / QUEUED;
    for (int i = 0; i < QUEUED; i++)
        acu_future_release(futures[i]);
    s->us = us < s->us ? us : s->us;
    return us;
}

static acu_shape shape_for(const bench *b, acu_shape shape)
{
    for (int d = 1; b->quick && d < shape.rank; d++)
        if (shape.dim[d] > 128)
            shape.dim[d] = shape.rank == 2 ? 5000 : 10;
        else if (d == 1 && shape.dim[d] <= 16)
            shape.dim[d] /= 4;
        else if (shape.dim[d] == 56)
            shape.dim[d] = 5;
    shape.dim[0] = b->quick ? 1 : shape.dim[0];
    return shape;
}

static double sample_cufft(void *user)
{
    subject *s = user;
    double own = s->us; /* the best time is that of own kernels */
    use_cufft(true);
    double us = sample(user);
    use_cufft(false);
    s->us = own;
    return us;
}

/* What computes the same by cuDNN; NULL: nothing. */
static acu_op *(*by_cudnn(const work *w))(const work *, acu_tensor *const *)
{
    bool small = w->dtype == ACU_F16 || w->dtype == ACU_BF16;
    return w->make == conv ? dnn_conv : w->make == attention && small ? dnn_attention : NULL;
}

static double sample_cudnn(void *user)
{
    const subject *s = user;
    work w = *s->work;
    subject other = *s;
    w.make = by_cudnn(&w);
    other.work = &w;
    return sample(&other);
}

static void measure(bench *b, acu_stream *stream, const work *w)
{
    subject s = {.b = b, .work = w, .stream = stream, .us = 1e30};
    for (int i = 0; i < 3 && w->shape[i].rank; i++) {
        acu_op *x = acu_randn(ACU_F32, shape_for(b, w->shape[i]), (uint64_t)(1 + i), 0);
        MUST(acu_sync(b->device, acu_convert(x, w->dtype), &s.x[i]));
    }
    bench_row row = {.what = w->what, .samples = 20, .warm = 2,
                     .sides = {{"acuda", sample, &s, 0, 0}}};
    use_cufft(true);
    if (w->make == fft && acu_vendor_load(b->device, ACU_VENDOR_CUFFT) == ACU_OK)
        row.sides[1] = (bench_side){"cuFFT", sample_cufft, &s, 2, 0};
    use_cufft(false);
    if (by_cudnn(w) && acu_vendor_load(b->device, ACU_VENDOR_CUDNN) == ACU_OK)
        row.sides[1] = (bench_side){"acu_dnn", sample_cudnn, &s, 2, 0};
    bench_compare(b, &row);
    char what[100];
    if (!b->quick) {
        snprintf(what, sizeof what, "%.80s: rate", w->what);
        bench_at_least(b, what, "TFLOP/s", w->operations / s.us / 1e6, NAN);
    }
    for (int i = 0; i < 3; i++)
        acu_tensor_release(s.x[i]);
}

int main(int argc, char **argv)
{
    bench b = bench_open("nn", argc, argv, NULL);
    acu_stream *stream;
    MUST(acu_stream_create(b.device, 0, &stream));
    bench_title(&b, "Attention, convolution and Fourier transforms; 4 of them queued, the time of "
                    "one");
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        measure(&b, stream, &works[i]);
    acu_stream_release(stream);
    return bench_close(&b);
}
