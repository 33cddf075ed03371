/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that poses as NPP's libnppig and libnppidei for the software device. Pixels are those
 * of half-pixel sampling, the nearest or linear; other filters are as the linear one. It reports
 * itself as version 12.4, or as what npp_version says. */
#include "../vendor/fake.h"

#include <stdio.h>

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct { int width, height; } size;
typedef struct { int x, y, width, height; } rect;
typedef struct {
    void *stream;
    int device, processors, processor_threads, block_threads;
    size_t block_shared;
    int major, minor;
    unsigned flags;
    int reserved;
} context;

enum { NEAREST = 1, SUPER = 8, NULL_POINTER = -8, RECTANGLE = -57, STEP = -14, LAUNCH = -1000 };

/* One image to another: all that a call says. `map`: places of pixels; `border`: a colour instead
 * of scaling. */
typedef struct work {
    enum { U8, U16, F32 } type;
    int channels, filter, count;
    const char *from;
    char *to;
    int from_step, to_step;
    size from_size, to_size;
    rect from_part, to_part;
    const char *map[2];
    int map_step[2];
    bool border;
    int top, left;
    double color[4];
    const void *list; /* of a batch, in device memory */
} work;

typedef struct pair { /* of a batch */
    const void *from;
    int from_step;
    void *to;
    int to_step;
} pair;

const struct npp_version { int major, minor, build; } *nppGetLibVersion(void);

const struct npp_version *nppGetLibVersion(void)
{
    static struct npp_version version = {12, 4, 1};
    const char *later = getenv("FAKE_NPP_LATER");
    if (later)
        version = (struct npp_version){13, 2, 0};
    return &version;
}

/* ---- pixels ---- */

static size_t bytes_of(const work *w)
{
    return w->type == U8 ? 1 : w->type == U16 ? 2 : 4;
}

static double get(const work *w, const char *image, int x, int y, int c)
{
    const char *at = image + (long)y * w->from_step +
                     ((long)x * w->channels + c) * (long)bytes_of(w);
    uint16_t wide;
    float real;
    if (w->type == U8)
        return (uint8_t)*at;
    memcpy(&wide, at, sizeof wide);
    if (w->type == U16)
        return wide;
    memcpy(&real, at, sizeof real);
    return (double)real;
}

static void put(const work *w, char *image, int x, int y, int c, double value)
{
    char *at = image + (long)y * w->to_step + ((long)x * w->channels + c) * (long)bytes_of(w);
    uint16_t wide = w->type == F32 ? 0 : (uint16_t)nearbyint(value);
    float real = (float)value;
    if (w->type == U8)
        *at = (char)(uint8_t)wide;
    else if (w->type == U16)
        memcpy(at, &wide, sizeof wide);
    else
        memcpy(at, &real, sizeof real);
}

static int clamp(int x, int low, int count)
{
    return x < low ? low : x >= low + count ? low + count - 1 : x;
}

/* At a place where (0, 0) is the centre of the first pixel. */
static double sample(const work *w, const char *image, double x, double y, int c)
{
    const rect *r = &w->from_part;
    if (w->filter == NEAREST)
        return get(w, image, clamp((int)floor(x + 0.5), r->x, r->width),
                   clamp((int)floor(y + 0.5), r->y, r->height), c);
    int left = (int)floor(x), top = (int)floor(y);
    double sum = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            double wx = i ? x - left : 1 - (x - left), wy = j ? y - top : 1 - (y - top);
            sum += wx * wy * get(w, image, clamp(left + i, r->x, r->width),
                                 clamp(top + j, r->y, r->height), c);
        }
    return sum;
}

static double place(int i, int to, int to_length, int from, int from_length)
{
    return from + (i - to + 0.5) * from_length / to_length - 0.5;
}

static void scale(const work *w, const char *from, char *to)
{
    const rect *r = &w->from_part, *t = &w->to_part;
    for (int y = t->y; y < t->y + t->height; y++)
        for (int x = t->x; x < t->x + t->width; x++)
            for (int c = 0; c < w->channels; c++)
                put(w, to, x, y, c, sample(w, from, place(x, t->x, t->width, r->x, r->width),
                                           place(y, t->y, t->height, r->y, r->height), c));
}

static float map_at(const work *w, const char *map, int k, int x, int y)
{
    float value;
    memcpy(&value, map + (long)y * w->map_step[k] + (long)x * 4, sizeof value);
    return value;
}

static void remap(const work *w, const char *from, char *to, const char *const map[2])
{
    for (int y = 0; y < w->to_size.height; y++)
        for (int x = 0; x < w->to_size.width; x++) {
            double u = (double)map_at(w, map[0], 0, x, y), v = (double)map_at(w, map[1], 1, x, y);
            if (!(u >= 0 && v >= 0 && u <= w->from_size.width - 1 && v <= w->from_size.height - 1))
                continue;
            for (int c = 0; c < w->channels; c++)
                put(w, to, x, y, c, sample(w, from, u, v, c));
        }
}

static void border(const work *w, const char *from, char *to)
{
    for (int y = 0; y < w->to_size.height; y++)
        for (int x = 0; x < w->to_size.width; x++) {
            int i = x - w->left, j = y - w->top;
            bool in = i >= 0 && j >= 0 && i < w->from_size.width && j < w->from_size.height;
            for (int c = 0; c < w->channels; c++)
                put(w, to, x, y, c, in ? get(w, from, i, j, c) : w->color[c]);
        }
}

/* ---- on the stream ---- */

static uint64_t extent(size s, int step, uint64_t row)
{
    return (uint64_t)(s.height - 1) * (uint64_t)step + row * (uint64_t)s.width;
}

static void run_one(fake_driver *d, const work *w)
{
    uint64_t pixel = (uint64_t)w->channels * bytes_of(w);
    const char *from = fake_memory(d, w->from, extent(w->from_size, w->from_step, pixel));
    char *to = fake_memory(d, w->to, extent(w->to_size, w->to_step, pixel));
    const char *map[2] = {NULL, NULL};
    for (int k = 0; k < 2 && w->map[k]; k++)
        map[k] = fake_memory(d, w->map[k], extent(w->to_size, w->map_step[k], 4));
    if (!from || !to || (w->map[0] && (!map[0] || !map[1])))
        return;
    if (w->border)
        border(w, from, to);
    else if (w->map[0])
        remap(w, from, to, map);
    else
        scale(w, from, to);
}

static void run(fake_driver *d, const void *data)
{
    const work *w = data;
    if (!w->list) {
        run_one(d, w);
        return;
    }
    const char *list = fake_memory(d, w->list, (uint64_t)w->count * sizeof(pair));
    for (int i = 0; list && i < w->count; i++) {
        work each = *w;
        pair p;
        memcpy(&p, list + (size_t)i * sizeof p, sizeof p);
        each.from = p.from;
        each.to = p.to;
        each.from_step = p.from_step;
        each.to_step = p.to_step;
        run_one(d, &each);
    }
}

static bool is_in(rect r, size s)
{
    return r.x >= 0 && r.y >= 0 && r.width > 0 && r.height > 0 && r.x + r.width <= s.width &&
           r.y + r.height <= s.height;
}

static int enqueue(const work *w, const context *c)
{
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    bool right = c->processors > 0 && c->block_threads > 0 && c->block_shared > 0 &&
                 c->major > 0 && c->flags == 1 && c->stream && c->reserved == 0;
    atomic_fetch_add(&fake.refused, !right);
    if (!w->list && (!w->from || !w->to))
        return NULL_POINTER;
    if (!is_in(w->from_part, w->from_size) || !is_in(w->to_part, w->to_size))
        return RECTANGLE;
    if (!w->list && (w->from_step < w->from_size.width || w->to_step < w->to_size.width))
        return STEP;
    return fake_enqueue(c->stream, run, w, sizeof *w, LAUNCH);
}

/* ---- the calls ---- */

static rect all_of(size s)
{
    return (rect){0, 0, s.width, s.height};
}

#define RESIZE(name, type_, channels_)                                                             \
    int nppiResize_##name##R_Ctx(const void *from, int from_step, size from_size, rect from_part,  \
                                 void *to, int to_step, size to_size, rect to_part, int filter,    \
                                 context c);                                                       \
    int nppiResize_##name##R_Ctx(const void *from, int from_step, size from_size, rect from_part,  \
                                 void *to, int to_step, size to_size, rect to_part, int filter,    \
                                 context c)                                                        \
    {                                                                                              \
        const work w = {.type = type_, .channels = channels_, .filter = filter, .from = from,      \
                        .to = to, .from_step = from_step, .to_step = to_step,                      \
                        .from_size = from_size, .to_size = to_size, .from_part = from_part,        \
                        .to_part = to_part};                                                       \
        return enqueue(&w, &c);                                                                    \
    }

#define BATCH(name, type_, channels_)                                                              \
    int nppiResizeBatch_##name##R_Ctx(size from_size, rect from_part, size to_size, rect to_part,  \
                                      int filter, void *list, unsigned count, context c);          \
    int nppiResizeBatch_##name##R_Ctx(size from_size, rect from_part, size to_size, rect to_part,  \
                                      int filter, void *list, unsigned count, context c)           \
    {                                                                                              \
        const work w = {.type = type_, .channels = channels_, .filter = filter,                    \
                        .from_size = from_size, .to_size = to_size, .from_part = from_part,        \
                        .to_part = to_part, .list = list, .count = (int)count};                    \
        return count < 2 ? RECTANGLE : enqueue(&w, &c);                                            \
    }

#define REMAP(name, type_, channels_)                                                              \
    int nppiRemap_##name##R_Ctx(const void *from, size from_size, int from_step, rect from_part,   \
                                const float *x, int x_step, const float *y, int y_step, void *to,  \
                                int to_step, size to_size, int filter, context c);                 \
    int nppiRemap_##name##R_Ctx(const void *from, size from_size, int from_step, rect from_part,   \
                                const float *x, int x_step, const float *y, int y_step, void *to,  \
                                int to_step, size to_size, int filter, context c)                  \
    {                                                                                              \
        const work w = {.type = type_, .channels = channels_, .filter = filter, .from = from,      \
                        .to = to, .from_step = from_step, .to_step = to_step,                      \
                        .from_size = from_size, .to_size = to_size, .from_part = from_part,        \
                        .to_part = all_of(to_size), .map = {(const char *)x, (const char *)y},     \
                        .map_step = {x_step, y_step}};                                             \
        return enqueue(&w, &c);                                                                    \
    }

/* `COLOR(i)`: of channel i. */
#define BORDER(name, type_, channels_, parameter, COLOR)                                           \
    int nppiCopyConstBorder_##name##R_Ctx(const void *from, int from_step, size from_size,         \
                                          void *to, int to_step, size to_size, int top, int left,  \
                                          parameter, context c);                                   \
    int nppiCopyConstBorder_##name##R_Ctx(const void *from, int from_step, size from_size,         \
                                          void *to, int to_step, size to_size, int top, int left,  \
                                          parameter, context c)                                    \
    {                                                                                              \
        work w = {.type = type_, .channels = channels_, .from = from, .to = to,                    \
                  .from_step = from_step, .to_step = to_step, .from_size = from_size,              \
                  .to_size = to_size, .from_part = all_of(from_size),                              \
                  .to_part = all_of(to_size), .border = true, .top = top, .left = left};           \
        for (int i = 0; i < channels_; i++)                                                        \
            w.color[i] = (double)COLOR(i);                                                         \
        return enqueue(&w, &c);                                                                    \
    }

#define ONE(i) color
#define MANY(i) color[i]
#define EACH(X) X(8u_C1, U8, 1) X(8u_C3, U8, 3) X(8u_C4, U8, 4) X(32f_C1, F32, 1)                  \
    X(32f_C3, F32, 3) X(32f_C4, F32, 4)
#define EACH_16(X) X(16u_C1, U16, 1) X(16u_C3, U16, 3) X(16u_C4, U16, 4)

EACH(RESIZE)
EACH_16(RESIZE)
EACH(REMAP)
EACH_16(REMAP)
EACH(BATCH)
BORDER(8u_C1, U8, 1, uint8_t color, ONE)
BORDER(16u_C1, U16, 1, uint16_t color, ONE)
BORDER(32f_C1, F32, 1, float color, ONE)
BORDER(8u_C3, U8, 3, const uint8_t *color, MANY)
BORDER(8u_C4, U8, 4, const uint8_t *color, MANY)
BORDER(16u_C3, U16, 3, const uint16_t *color, MANY)
BORDER(16u_C4, U16, 4, const uint16_t *color, MANY)
BORDER(32f_C3, F32, 3, const float *color, MANY)
BORDER(32f_C4, F32, 4, const float *color, MANY)
