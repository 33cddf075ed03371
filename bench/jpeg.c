/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * JPEG files into device memory: IN_FLIGHT pictures of 1920 x 1080 at a time by acuda, beside
 * libjpeg-turbo on one thread, which decodes into page-locked memory, from where the picture is
 * copied. libturbojpeg makes the file, too; without it there is nothing to measure.
 */
#include "harness/harness.h"

#include <acuda/jpeg.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 32, SKIPPED = 77, QUALITY = 85, RGB = 0, CHROMA_OF_FOUR = 2 };

typedef void *turbo;

static struct {
    turbo (*encoder)(void);
    turbo (*decoder)(void);
    int (*encode)(turbo, const unsigned char *from, int width, int pitch, int height, int format,
                  unsigned char **to, unsigned long *bytes, int chroma, int quality, int flags);
    int (*decode)(turbo, const unsigned char *from, unsigned long bytes, unsigned char *to,
                  int width, int pitch, int height, int format, int flags);
    int (*destroy)(turbo);
    void (*free)(unsigned char *);
} tj;

typedef struct subject {
    bench *b;
    int height, width;
    unsigned char *file;
    unsigned long bytes;
    turbo decoder;
    acu_tensor *pinned, *x; /* the twin's */
    CUstream stream;
} subject;

static bool find_turbo(void)
{
    void *library = dlopen("libturbojpeg.so.0", RTLD_NOW);
    if (!library)
        return false;
    bench_find(library, "tjInitCompress", &tj.encoder);
    bench_find(library, "tjInitDecompress", &tj.decoder);
    bench_find(library, "tjCompress2", &tj.encode);
    bench_find(library, "tjDecompress2", &tj.decode);
    bench_find(library, "tjDestroy", &tj.destroy);
    bench_find(library, "tjFree", &tj.free);
    return true;
}

/* Large shapes and some noise, as in a photograph. */
static void make_file(subject *s)
{
    size_t pixels = (size_t)s->height * (size_t)s->width;
    unsigned char *picture = malloc(pixels * 3);
    unsigned noise = 1;
    if (!picture)
        bench_die("no memory");
    for (size_t i = 0; i < pixels * 3; i++) {
        size_t x = i / 3 % (size_t)s->width, y = i / 3 / (size_t)s->width;
        noise = noise * 1664525u + 1013904223u;
        picture[i] = (unsigned char)(100 + (x / 97 * 37 + y / 61 * 53 + i % 3 * 11) % 120 +
                                     (noise >> 28));
    }
    turbo encoder = tj.encoder();
    bench_call(tj.encode(encoder, picture, s->width, 0, s->height, RGB, &s->file, &s->bytes,
                         CHROMA_OF_FOUR, QUALITY, 0), "tjCompress2");
    tj.destroy(encoder);
    free(picture);
}

/* Microseconds for each picture. */
static double sample_acuda(void *user)
{
    subject *s = user;
    acu_future *future[IN_FLIGHT];
    int count = s->b->quick ? 3 : IN_FLIGHT;
    double start = bench_now_us();
    for (int i = 0; i < count; i++)
        MUST(acu_submit(s->b->device, acu_jpeg_decode(s->file, s->bytes, NULL), NULL, &future[i]));
    MUST(acu_wait_all(future, (size_t)count, ACU_FOREVER));
    double us = (bench_now_us() - start) / count;
    for (int i = 0; i < count; i++)
        acu_future_release(future[i]);
    return us;
}

static double sample_one(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_jpeg_decode(s->file, s->bytes, NULL), NULL));
    return bench_now_us() - start;
}

static double sample_turbo(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    bench_call(tj.decode(s->decoder, s->file, s->bytes, acu_tensor_host(s->pinned), s->width, 0,
                         s->height, RGB, 0), "tjDecompress2");
    MUST_CU(s->b->cu->MemcpyHtoDAsync(acu_tensor_address(s->x), acu_tensor_host(s->pinned),
                                      acu_tensor_bytes(s->pinned), s->stream));
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

static void rows(subject *s, const char *by)
{
    char title[160];
    snprintf(title, sizeof title, "1920 x 1080, %lu bytes, by %s", s->bytes, by);
    bench_title(s->b, title);
    const bench_row many = {.what = "32 in flight, for each", .samples = bench_count(s->b, 20, 2),
                            .warm = 2,
                            .sides = {{"acuda", sample_acuda, s, 0, 0},
                                      {"TurboJPEG, one thread", sample_turbo, s, 1.0, 0}}};
    const bench_row one = {.what = "one, waited for", .samples = bench_count(s->b, 40, 2),
                           .warm = 2,
                           .sides = {{"acuda", sample_one, s, 0, 0},
                                     {"TurboJPEG, one thread", sample_turbo, s, 0, 0}}};
    bench_compare(s->b, &many);
    bench_compare(s->b, &one);
}

int main(int argc, char **argv)
{
    bench b = bench_open("jpeg", argc, argv, NULL);
    subject s = {.b = &b, .height = b.quick ? 108 : 1080, .width = b.quick ? 192 : 1920};
    acu_shape shape = ACU_SHAPE(s.height, s.width, 3);
    if (!find_turbo()) {
        printf("libturbojpeg.so.0 is not here\n");
        bench_close(&b);
        return SKIPPED;
    }
    make_file(&s);
    s.decoder = tj.decoder();
    MUST(acu_tensor_alloc_pinned(b.device, ACU_U8, shape, &s.pinned));
    MUST(acu_sync(b.device, acu_zeros(ACU_U8, shape), &s.x));
    bench_enter(&b);
    MUST_CU(b.cu->StreamCreate(&s.stream, 1));
    bench_leave(&b);
    if (acu_vendor_load(b.device, ACU_VENDOR_NVJPEG) == ACU_OK)
        rows(&s, "nvJPEG");
    const acu_vendor_settings off = {.size = sizeof off, .off = true};
    MUST(acu_vendor_configure(ACU_VENDOR_NVJPEG, &off));
    rows(&s, "TurboJPEG");
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    tj.destroy(s.decoder);
    tj.free(s.file);
    acu_tensor_release(s.pinned);
    acu_tensor_release(s.x);
    return bench_close(&b);
}
