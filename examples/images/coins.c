/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Coins are found in photographs: libpng decodes each frame on the host; on the device it is
 * letterboxed and normalised in one kernel, a small network (examples/data/train_coins.py) says
 * where coins are, of boxes that overlap the best are kept, and drawn into the frame, which comes
 * back. While the device has up to four frames in work, the host decodes the next one.
 *
 *     coins [OUT.png [PHOTO.png [FRAMES]]]    OUT.png: the first frame, with boxes
 *
 * Each frame is the photograph again; after the first one the network looks at a part of it, as
 * through a camera that moves.
 */
#include "../example.h"

#include <png.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT = 4, LAYERS = 6, HEIGHT = 192, WIDTH = 256, CELL = 8, MOST = 64 };
enum { ROWS = HEIGHT / CELL, COLUMNS = WIDTH / CELL, CELLS = ROWS * COLUMNS };

typedef struct layer {
    int64_t filters, channels, side, stride;
    acu_tensor *weight, *bias;
} layer;

typedef struct frame {
    acu_future *future;
    acu_tensor *pixels; /* as decoded, in page-locked memory */
    int number;
} frame;

typedef struct program {
    acu_device *device;
    layer layer[LAYERS];
    acu_tensor *cells; /* column and row of each cell's middle: f32 [2, CELLS] */
    frame frame[IN_FLIGHT];
    const char *photo, *out;
    struct timespec start;
    int done, coins, right; /* coins in the last frame; known ones that were found in the first */
} program;

/* The middles of those in coins.png. */
static const float known[24][2] = {
    {44, 53},  {101, 56}, {155, 51},  {216, 51},  {275, 52},  {335, 44},  {46, 124},  {102, 126},
    {153, 127}, {206, 125}, {271, 120}, {337, 124}, {44, 196}, {102, 195}, {154, 198}, {212, 193},
    {274, 194}, {348, 186}, {46, 260}, {113, 265}, {172, 261}, {244, 264}, {301, 263}, {358, 267}};

/* ---- files --------------------------------------------------------------------------------- */

static const char *data_file(const char *given, const char *name, char *path, size_t bytes)
{
    snprintf(path, bytes, "examples/data/%s", name);
    if (access(path, R_OK) != 0)
        snprintf(path, bytes, EXAMPLES_DATA "/%s", name);
    return given ? given : path;
}

static void stop(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(1);
}

/* RGB, [height, width, 3], in page-locked memory. */
static acu_tensor *decode(acu_device *device, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    acu_tensor *pixels;
    if (!png_image_begin_read_from_file(&image, path))
        stop(path, image.message);
    image.format = PNG_FORMAT_RGB;
    check(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(image.height, image.width, 3),
                                  &pixels));
    if (!png_image_finish_read(&image, NULL, acu_tensor_host(pixels), 0, NULL))
        stop(path, image.message);
    return pixels;
}

static void encode(const char *path, acu_tensor *pixels)
{
    acu_shape shape = acu_tensor_shape(pixels);
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB,
                       .height = (png_uint_32)shape.dim[0], .width = (png_uint_32)shape.dim[1]};
    if (!png_image_write_to_file(&image, path, 0, acu_tensor_host(pixels), 0, NULL))
        stop(path, image.message);
}

static acu_tensor *read_tensor(program *m, FILE *file, const char *path, acu_shape shape)
{
    acu_tensor *tensor;
    size_t count = (size_t)acu_shape_elements(shape);
    float *numbers = malloc(count * sizeof *numbers);
    if (!numbers || fread(numbers, sizeof *numbers, count, file) != count)
        stop(path, "too short");
    check(acu_tensor_alloc(m->device, ACU_F32, shape, &tensor));
    check(acu_write_sync(tensor, numbers, count * sizeof *numbers));
    free(numbers);
    return tensor;
}

static void read_network(program *m)
{
    static const layer layers[LAYERS] = {{8, 1, 3, 2, NULL, NULL},   {16, 8, 3, 2, NULL, NULL},
                                         {24, 16, 3, 2, NULL, NULL}, {24, 24, 3, 1, NULL, NULL},
                                         {24, 24, 3, 1, NULL, NULL}, {5, 24, 1, 1, NULL, NULL}};
    char path[512];
    float middle[2][CELLS];
    FILE *file = fopen(data_file(NULL, "coins.f32", path, sizeof path), "rb");
    if (!file)
        stop(path, "not found");
    for (int k = 0; k < LAYERS; k++) {
        layer *l = &m->layer[k];
        *l = layers[k];
        acu_shape shape = ACU_SHAPE(l->filters, l->channels, l->side, l->side);
        l->weight = read_tensor(m, file, path, shape);
        l->bias = read_tensor(m, file, path, ACU_SHAPE(l->filters));
    }
    fclose(file);
    for (int i = 0; i < CELLS; i++) {
        middle[0][i] = (float)(i % COLUMNS) + 0.5f;
        middle[1][i] = (float)(i / COLUMNS) + 0.5f;
    }
    check(acu_tensor_alloc(m->device, ACU_F32, ACU_SHAPE(2, CELLS), &m->cells));
    check(acu_write_sync(m->cells, middle, sizeof middle));
}

/* ---- what happens to a frame --------------------------------------------------------------- */

/* Five numbers for each cell, [5, CELLS]. */
static acu_op *network(const program *m, acu_op *x)
{
    for (int k = 0; k < LAYERS; k++) {
        const layer *l = &m->layer[k];
        acu_window_options by = {.size = sizeof by, .stride = {l->stride, l->stride},
                                 .padding = {l->side / 2, l->side / 2}};
        x = acu_conv(x, l->weight, l->bias, &by);
        x = k < LAYERS - 1 ? acu_relu(x) : x;
    }
    return acu_reshape(x, ACU_SHAPE(5, CELLS));
}

static acu_op *rows_of(acu_op *numbers, int first, int end)
{
    return acu_slice(acu_op_retain(numbers), ACU_SHAPE(first, 0), ACU_SHAPE(end, CELLS));
}

/* Boxes in the photograph, f32 [CELLS, 4]; `part` of it is at `to` in the network's picture. */
static acu_op *boxes_of(const program *m, acu_op *numbers, acu_region part, acu_region to)
{
    acu_op *middle = acu_mul(acu_add(rows_of(numbers, 1, 3), m->cells), acu_f32(CELL));
    acu_op *half = acu_mul(acu_exp(rows_of(numbers, 3, 5)), acu_f32(16)); /* 32 pixels, halved */
    acu_op *low = acu_sub(acu_op_retain(middle), acu_op_retain(half));
    acu_op *boxes = acu_concat(0, low, acu_add(middle, half)); /* [4, CELLS] */
    float scale = (float)(part.width / to.width);
    float x = (float)(part.x - to.x * part.width / to.width);
    float y = (float)(part.y - to.y * part.height / to.height);
    const float shift[4] = {x, y, x, y};
    boxes = acu_add(acu_mul(boxes, acu_f32(scale)), acu_const(ACU_F32, ACU_SHAPE(4, 1), shift));
    return acu_permute(boxes, 1, 0);
}

/* The picture with boxes, which of the boxes are coins, and the boxes: all on the host. */
static acu_op *find_coins(const program *m, acu_tensor *pixels, acu_region part)
{
    static const float red[4] = {255, 40, 40, 0};
    acu_op *photo = acu_to_device(m->device, pixels);
    acu_image_options o = {.size = sizeof o, .layout = ACU_CHW, .dtype = ACU_F32,
                           .pixels = ACU_PIXELS_GRAY, .fit = ACU_LETTERBOX, .pad = {114},
                           .mean = {0.5f}};
    acu_frame one = {.pixels = ACU_PIXELS_RGB, .plane = {acu_op_retain(photo)}, .region = part};
    acu_op *numbers = network(m, acu_image_to_tensor(&one, 1, HEIGHT, WIDTH, &o));
    acu_region from, to;
    check(acu_image_fit(ACU_LETTERBOX, part.height, part.width, HEIGHT, WIDTH, &from, &to));
    acu_op *boxes = boxes_of(m, numbers, part, to);
    acu_op *scores = acu_sigmoid(acu_select(numbers, 0, 0));
    acu_op *best = acu_nms(acu_op_retain(boxes), scores, 0.4, 0.5, MOST);
    acu_op *copy = acu_dup(photo);
    acu_op *drawn = acu_draw_some_boxes(copy, acu_op_retain(boxes), acu_op_retain(best), red, 2,
                                        NULL);
    return acu_zip(acu_to_host(drawn), acu_to_host(best), acu_to_host(acu_dup(boxes)));
}

/* ---- frames -------------------------------------------------------------------------------- */

static double seconds_since(struct timespec start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9;
}

/* How many of the known coins have a box around the same middle. */
static int known_found(const int64_t *which, const float (*boxes)[4])
{
    int found = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; k < MOST && which[k] >= 0; k++) {
            const float *box = boxes[which[k]];
            float x = (box[0] + box[2]) / 2 - known[i][0], y = (box[1] + box[3]) / 2 - known[i][1];
            found += x * x + y * y < 5 * 5;
        }
    return found;
}

static void finish(program *m, frame *f)
{
    acu_tensor *picture, *best, *boxes;
    check(acu_future_wait(f->future, ACU_FOREVER));
    check(acu_future_take(f->future, 0, &picture));
    check(acu_future_take(f->future, 1, &best));
    check(acu_future_take(f->future, 2, &boxes));
    const int64_t *which = acu_tensor_host(best);
    m->coins = 0;
    while (m->coins < MOST && which[m->coins] >= 0)
        m->coins++;
    if (f->number == 0) {
        m->right = known_found(which, acu_tensor_host(boxes));
        printf("%d coins in the first frame\n", m->coins);
    }
    if (f->number == 0 && m->out)
        encode(m->out, picture);
    acu_tensor_release(picture);
    acu_tensor_release(best);
    acu_tensor_release(boxes);
    acu_tensor_release(f->pixels);
    acu_future_release(f->future);
    f->future = NULL;
    m->done++;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%d frames, %.1f a second, %d coins \b", m->done,
                m->done / seconds_since(m->start), m->coins);
}

/* The part of a photograph at which the camera looks. */
static acu_region part_of(int number, double width, double height)
{
    if (number == 0)
        return (acu_region){0, 0, width, height};
    double part = 0.6 + 0.1 * (number % 4), at = 0.25 * (number % 5);
    return (acu_region){at * (1 - part) * width, (1 - at) * (1 - part) * height, part * width,
                        part * height};
}

static void begin(program *m, frame *f, int number)
{
    f->number = number;
    f->pixels = decode(m->device, m->photo);
    acu_shape shape = acu_tensor_shape(f->pixels);
    acu_region part = part_of(number, (double)shape.dim[1], (double)shape.dim[0]);
    check(acu_submit(m->device, find_coins(m, f->pixels, part), NULL, &f->future));
}

int main(int argc, char **argv)
{
    char path[512];
    program m = {.device = open_device(), .out = argc > 1 ? argv[1] : NULL};
    int frames = argc > 3 ? atoi(argv[3]) : 8;
    m.photo = data_file(argc > 2 ? argv[2] : NULL, "coins.png", path, sizeof path);
    read_network(&m);
    clock_gettime(CLOCK_MONOTONIC, &m.start);
    for (int i = 0; i < frames + IN_FLIGHT; i++) {
        frame *f = &m.frame[i % IN_FLIGHT];
        if (f->future)
            finish(&m, f);
        if (i < frames)
            begin(&m, f, i);
    }
    printf("%s%d frames, %.1f a second\n", isatty(STDERR_FILENO) ? "\n" : "", m.done,
           m.done / seconds_since(m.start));
    if (argc < 3)
        printf("%d of the 24 coins in coins.png were found where they are\n", m.right);
    for (int k = 0; k < LAYERS; k++) {
        acu_tensor_release(m.layer[k].weight);
        acu_tensor_release(m.layer[k].bias);
    }
    acu_tensor_release(m.cells);
    check(acu_close(m.device));
    return argc > 2 || (m.right == 24 && frames > 0) ? 0 : 1;
}
