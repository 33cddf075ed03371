/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations on images beside NPP called by hand on a stream, beside the same in separate steps,
 * and beside the driver's copy within the device of as many bytes, read plus written. Without NPP
 * (it comes with CUDA), its columns are left out.
 */
#include "harness/harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* NPP's, by value. */
typedef struct npp_stream {
    CUstream stream;
    int device, processors, threads, block_threads;
    size_t shared;
    int major, minor;
    unsigned flags;
    int reserved;
} npp_stream;
typedef struct npp_size {
    int width, height;
} npp_size;
typedef struct npp_point {
    int x, y;
} npp_point;
typedef struct npp_rect {
    int x, y, width, height;
} npp_rect;
enum { NPP_LINEAR = 2, NPP_MASK_5_X_5 = 201, NPP_BORDER_REPLICATE = 2 };

typedef struct npp {
    int (*resize)(const void *from, int step, npp_size size, npp_rect part, void *to, int to_step,
                  npp_size to_size, npp_rect to_part, int filter, npp_stream stream);
    int (*nv12)(const void *const from[2], int step, void *to, int to_step, npp_size size,
                npp_stream stream);
    int (*warp)(const void *from, npp_size size, int step, npp_rect part, void *to, int to_step,
                npp_rect to_part, const double matrix[2][3], int filter, npp_stream stream);
    int (*gauss)(const void *from, int step, npp_size size, npp_point at, void *to,
                 int to_step, npp_size part, int mask, int border, npp_stream stream);
    npp_stream stream;
} npp;

typedef struct subject {
    bench *b;
    npp npp;
    acu_stream *own;
    int images, height, width, to_height, to_width;
    acu_tensor *from, *to; /* of the row */
    acu_tensor *a, *z;     /* that are copied */
    size_t copied;
    acu_op *(*make)(struct subject *s);
    acu_op *(*make_steps)(struct subject *s);
    void (*by_npp)(struct subject *s);
    int refused; /* what NPP answered last in place of success */
} subject;

/* ---- NPP ----------------------------------------------------------------------------------- */

static void *open_npp(const char *stem)
{
    char name[128];
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/"};
    for (size_t i = 0; i < 2; i++)
        for (int version = 13; version >= 11; version--) {
            snprintf(name, sizeof name, "%s%s.so.%d", folders[i], stem, version);
            void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
            if (library)
                return library;
        }
    return NULL;
}

static void find(void *library, const char *symbol, void *field)
{
    void *address = library ? dlsym(library, symbol) : NULL;
    if (address)
        memcpy(field, &address, sizeof address);
}

static void open_by_hand(subject *s)
{
    npp *n = &s->npp;
    const acu_driver_table *cu = s->b->cu;
    find(open_npp("libnppig"), "nppiResize_8u_C3R_Ctx", &n->resize);
    find(open_npp("libnppig"), "nppiWarpAffine_8u_C3R_Ctx", &n->warp);
    find(open_npp("libnppif"), "nppiFilterGaussBorder_8u_C3R_Ctx", &n->gauss);
    find(open_npp("libnppicc"), "nppiNV12ToRGB_8u_P2C3R_Ctx", &n->nv12);
    static const struct {
        unsigned attribute;
        size_t offset;
    } facts[] = {{16, offsetof(npp_stream, processors)}, {39, offsetof(npp_stream, threads)},
                 {1, offsetof(npp_stream, block_threads)}, {75, offsetof(npp_stream, major)},
                 {76, offsetof(npp_stream, minor)}};
    bench_enter(s->b);
    MUST_CU(cu->StreamCreate(&n->stream.stream, 1));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        MUST_CU(cu->DeviceGetAttribute((int *)(void *)((char *)&n->stream + facts[i].offset),
                                       facts[i].attribute, 0));
    n->stream.shared = 48 << 10;
    n->stream.flags = 1;
    bench_leave(s->b);
}

/* NPP's answers below 0 are errors, those above are warnings. */
static void note_npp(subject *s, int status, const char *what)
{
    if (status < 0 && s->refused == 0)
        printf("%s answered %d: NPP is left out\n", what, status);
    if (status < 0)
        s->refused = status;
}

/* Whether NPP does it at all. */
static bool tried_npp(subject *s)
{
    s->refused = 0;
    s->by_npp(s);
    MUST_CU(s->b->cu->StreamSynchronize(s->npp.stream.stream));
    return s->refused == 0;
}

static char *address_of(const acu_tensor *tensor)
{
    return (char *)(uintptr_t)acu_tensor_address(tensor);
}

static void resize_by_npp(subject *s)
{
    npp_size from = {s->width, s->height}, to = {s->to_width, s->to_height};
    size_t bytes = (size_t)s->width * (size_t)s->height * 3;
    size_t to_bytes = (size_t)s->to_width * (size_t)s->to_height * 3;
    for (int i = 0; i < s->images; i++)
        note_npp(s, s->npp.resize(address_of(s->from) + (size_t)i * bytes, 3 * s->width, from,
                               (npp_rect){0, 0, s->width, s->height},
                               address_of(s->to) + (size_t)i * to_bytes, 3 * s->to_width, to,
                               (npp_rect){0, 0, s->to_width, s->to_height}, NPP_LINEAR,
                               s->npp.stream), "nppiResize");
}

static const double turned[6] = {0.9, 0.1, 20, -0.1, 0.9, 60}; /* from the source to the result */

static void warp_by_npp(subject *s)
{
    npp_size size = {s->width, s->height};
    npp_rect all = {0, 0, s->width, s->height};
    const double matrix[2][3] = {{turned[0], turned[1], turned[2]},
                                 {turned[3], turned[4], turned[5]}};
    size_t bytes = (size_t)s->width * (size_t)s->height * 3;
    for (int i = 0; i < s->images; i++)
        note_npp(s, s->npp.warp(address_of(s->from) + (size_t)i * bytes, size, 3 * s->width, all,
                             address_of(s->to) + (size_t)i * bytes, 3 * s->width, all, matrix,
                             NPP_LINEAR, s->npp.stream), "nppiWarpAffine");
}

static void gauss_by_npp(subject *s)
{
    npp_size size = {s->width, s->height};
    note_npp(s, s->npp.gauss(address_of(s->from), 3 * s->width, size, (npp_point){0, 0},
                          address_of(s->to), 3 * s->width, size, NPP_MASK_5_X_5,
                          NPP_BORDER_REPLICATE, s->npp.stream), "nppiFilterGaussBorder");
}

static void nv12_by_npp(subject *s)
{
    const char *luma = address_of(s->from);
    const void *const planes[2] = {luma, luma + (size_t)s->width * (size_t)s->height};
    note_npp(s, s->npp.nv12(planes, s->width, address_of(s->to), 3 * s->width,
                         (npp_size){s->width, s->height}, s->npp.stream), "nppiNV12ToRGB");
}

/* ---- what is done -------------------------------------------------------------------------- */

static const acu_image_options network = {.size = sizeof network,
                                          .layout = ACU_CHW,
                                          .dtype = ACU_F16,
                                          .mean = {0.485f, 0.456f, 0.406f},
                                          .deviation = {0.229f, 0.224f, 0.225f}};

static acu_op *resize(subject *s)
{
    return acu_into(s->to, acu_resize(s->from, s->to_height, s->to_width, NULL));
}
static acu_op *warp(subject *s)
{
    const acu_image_options edge = {.size = sizeof edge, .border = ACU_BORDER_REPLICATE};
    return acu_into(s->to, acu_warp_affine(s->from, turned, s->height, s->width, &edge));
}
static acu_op *gauss(subject *s)
{
    const acu_image_options edge = {.size = sizeof edge, .border = ACU_BORDER_REPLICATE};
    return acu_into(s->to, acu_gaussian_blur(s->from, 5, 5, 1, &edge));
}
static acu_op *nv12(subject *s)
{
    return acu_into(s->to, acu_color(s->from, ACU_PIXELS_NV12, ACU_PIXELS_RGB, NULL));
}
static acu_op *to_tensor(subject *s)
{
    acu_frame frame = {.pixels = ACU_PIXELS_NV12, .plane = {acu_value(s->from)}};
    return acu_into(s->to, acu_image_to_tensor(&frame, 1, s->to_height, s->to_width, &network));
}
static acu_op *to_tensor_steps(subject *s)
{
    acu_op *rgb = acu_color(s->from, ACU_PIXELS_NV12, ACU_PIXELS_RGB, NULL);
    acu_op *small = acu_resize(rgb, s->to_height, s->to_width, NULL);
    return acu_into(s->to, acu_normalize(acu_permute(small, 0, 3, 1, 2), &network));
}

static double sample_of(subject *s, acu_op *(*make)(subject *s))
{
    const acu_submit_options options = {.size = sizeof options, .stream = s->own};
    acu_future *future;
    double start = bench_now_us();
    MUST(acu_submit(s->b->device, make(s), &options, &future));
    MUST(acu_future_wait(future, ACU_FOREVER));
    double us = bench_now_us() - start;
    acu_future_release(future);
    return us;
}
static double sample_acuda(void *user)
{
    return sample_of(user, ((subject *)user)->make);
}
static double sample_steps(void *user)
{
    return sample_of(user, ((subject *)user)->make_steps);
}
static double sample_npp(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    s->by_npp(s);
    MUST_CU(s->b->cu->StreamSynchronize(s->npp.stream.stream));
    if (s->refused)
        bench_die("NPP answered %d after it had succeeded", s->refused);
    return bench_now_us() - start;
}
static double sample_copy(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST_CU(s->b->cu->MemcpyDtoDAsync(acu_tensor_address(s->z), acu_tensor_address(s->a), s->copied,
                                      s->npp.stream.stream));
    MUST_CU(s->b->cu->StreamSynchronize(s->npp.stream.stream));
    return bench_now_us() - start;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Everything is the same gray, before and after. */
static void check(subject *s, const char *what, double want)
{
    acu_tensor *most = NULL, *least = NULL;
    float have[2];
    acu_device *device = s->b->device;
    MUST(acu_sync(device, acu_max_of(acu_convert(s->to, ACU_F32), ACU_ALL), &most));
    MUST(acu_sync(device, acu_min_of(acu_convert(s->to, ACU_F32), ACU_ALL), &least));
    MUST(acu_read_sync(most, &have[0], sizeof *have));
    MUST(acu_read_sync(least, &have[1], sizeof *have));
    if ((double)have[0] > want + 1 || (double)have[1] < want - 1)
        bench_wrong("%s: pixels are from %g to %g, not %g", what, (double)have[1], (double)have[0],
                    want);
    acu_tensor_release(most);
    acu_tensor_release(least);
}

typedef struct row {
    const char *what;
    acu_op *(*make)(subject *s), *(*make_steps)(subject *s);
    void (*by_npp)(subject *s);
    double npp_goal, steps_goal, copy_goal;
    acu_shape from, to;
    acu_dtype dtype; /* of the result */
    double want;
} row;

static void compare(subject *s, const row *r)
{
    bench *b = s->b;
    MUST(acu_tensor_alloc(b->device, ACU_U8, r->from, &s->from));
    MUST(acu_tensor_alloc(b->device, r->dtype, r->to, &s->to));
    size_t both = acu_tensor_bytes(s->from) + acu_tensor_bytes(s->to);
    s->copied = both / 2 & ~(size_t)15;
    MUST(acu_tensor_alloc(b->device, ACU_U8, ACU_SHAPE((int64_t)s->copied), &s->a));
    MUST(acu_tensor_alloc(b->device, ACU_U8, ACU_SHAPE((int64_t)s->copied), &s->z));
    MUST(acu_sync(b->device, acu_fill(s->from, acu_u8(128)), NULL));
    s->make = r->make;
    s->make_steps = r->make_steps;
    s->by_npp = r->by_npp;
    sample_acuda(s);
    check(s, r->what, r->want);
    bench_row table = {.what = r->what, .samples = 100, .warm = 5,
                       .sides = {{"acuda", sample_acuda, s, 0, 0}}};
    int sides = 1;
    bench_enter(b);
    const bool beside_npp = r->by_npp && tried_npp(s);
    bench_leave(b);
    if (beside_npp)
        table.sides[sides++] = (bench_side){"NPP", sample_npp, s, r->npp_goal, 0};
    if (r->make_steps)
        table.sides[sides++] = (bench_side){"steps", sample_steps, s, r->steps_goal, 0};
    table.sides[sides] = (bench_side){"copy", sample_copy, s, r->copy_goal, 0};
    bench_compare(b, &table);
    acu_tensor_release(s->from);
    acu_tensor_release(s->to);
    acu_tensor_release(s->a);
    acu_tensor_release(s->z);
}

static void resize_rows(subject *s)
{
    bool quick = s->b->quick;
    s->images = quick ? 2 : 64;
    s->height = quick ? 36 : 1080;
    s->width = quick ? 64 : 1920;
    s->to_height = s->to_width = quick ? 20 : 640;
    const int64_t n = s->images, h = s->height, w = s->width, size = s->to_height;
    const row rows[] = {
        {"resize 64 RGB images, 1080p to 640 x 640", resize, NULL,
         s->npp.resize ? resize_by_npp : NULL, 0.8, 0, 1.3, ACU_SHAPE(n, h, w, 3),
         ACU_SHAPE(n, size, size, 3), ACU_U8, 128},
        {"image_to_tensor of 64 NV12 frames, 1080p to f16 640 x 640", to_tensor, to_tensor_steps,
         NULL, 0, 0.4, 1.3, ACU_SHAPE(n, h * 3 / 2, w), ACU_SHAPE(n, 3, size, size), ACU_F16, 0.3},
        {"warp_affine of 64 RGB images, 1080p", warp, NULL, s->npp.warp ? warp_by_npp : NULL, 1, 0,
         1.5, ACU_SHAPE(n, h, w, 3), ACU_SHAPE(n, h, w, 3), ACU_U8, 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        compare(s, &rows[i]);
}

static void color_rows(subject *s)
{
    bool quick = s->b->quick;
    s->images = 1;
    s->height = quick ? 36 : 2160;
    s->width = quick ? 64 : 3840;
    const int64_t h = s->height, w = s->width;
    const row rows[] = {
        {"NV12 to RGB, 4K", nv12, NULL, s->npp.nv12 ? nv12_by_npp : NULL, 1, 0, 1.5,
         ACU_SHAPE(h * 3 / 2, w), ACU_SHAPE(h, w, 3), ACU_U8, 130},
        {"Gaussian 5 x 5, RGB, 4K", gauss, NULL, s->npp.gauss ? gauss_by_npp : NULL, 1, 0, 1.5,
         ACU_SHAPE(h, w, 3), ACU_SHAPE(h, w, 3), ACU_U8, 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        compare(s, &rows[i]);
}

int main(int argc, char **argv)
{
    bench b = bench_open("image", argc, argv, NULL);
    subject s = {.b = &b};
    open_by_hand(&s);
    MUST(acu_stream_create(b.device, 0, &s.own));
    bench_title(&b, s.npp.resize ? "Images, beside NPP on a stream"
                                 : "Images (there is no NPP here)");
    resize_rows(&s);
    color_rows(&s);
    acu_stream_release(s.own);
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.npp.stream.stream));
    bench_leave(&b);
    return bench_close(&b);
}
