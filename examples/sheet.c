/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A contact sheet of photographs: all files are decoded at the same time, by nvJPEG or TurboJPEG,
 * each is brought to the size of a tile, and one picture of all is written. A file that can not be
 * decoded is named, and leaves its tile gray. Without nvJPEG and TurboJPEG (Debian's package
 * libturbojpeg0) it says so, and is of no use.
 *
 *     sheet [OUT.ppm [PHOTO.jpg ...]]                  at most 64 photographs
 */
#include "example.h"

#include <acuda/jpeg.h>

#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77, COLUMNS = 4, MOST = 64, HEIGHT = 90, WIDTH = 120, GAP = 6 };

/* The file's bytes, which the caller frees. */
static char *read_all(const char *path, size_t *bytes)
{
    char *data = NULL;
    FILE *file = fopen(path, "rb");
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long end = ftell(file);
        rewind(file);
        data = end > 0 ? malloc((size_t)end) : NULL;
        *bytes = data ? fread(data, 1, (size_t)end, file) : 0;
    }
    if (file)
        fclose(file);
    return data;
}

static acu_op *tile_of(acu_tensor *sheet, int i)
{
    int64_t top = GAP + i / COLUMNS * (HEIGHT + GAP), left = GAP + i % COLUMNS * (WIDTH + GAP);
    return acu_slice(sheet, ACU_SHAPE(top, left, 0), ACU_SHAPE(top + HEIGHT, left + WIDTH, 3));
}

/* NULL: there is nothing to decode, which it says. */
static acu_future *put_tile(acu_device *device, acu_tensor *sheet, int i, const char *path)
{
    const acu_image_options whole = {.size = sizeof whole, .fit = ACU_LETTERBOX, .antialias = true,
                                     .pad = {40, 40, 40}};
    acu_future *future;
    size_t bytes = 0;
    char *data = read_all(path, &bytes);
    if (!data) {
        fprintf(stderr, "%s: can not be read\n", path);
        return NULL;
    }
    acu_op *photo = acu_jpeg_decode(data, bytes, NULL); /* which copies the file */
    acu_op *small = acu_resize(photo, HEIGHT, WIDTH, &whole);
    acu_status status = acu_submit(device, acu_into(tile_of(sheet, i), small), NULL, &future);
    free(data);
    if (status == ACU_OK)
        return future;
    fprintf(stderr, "%s: %s\n", path, acu_last_error()->message);
    return NULL;
}

/* Whether it is there; else says why, and makes its tile gray again, whose contents are not valid
 * once writing them has failed. */
static bool finish(acu_device *device, acu_tensor *sheet, int i, acu_future *future,
                   const char *path)
{
    if (!future)
        return false;
    bool there = acu_future_wait(future, ACU_FOREVER) == ACU_OK;
    acu_future_release(future);
    if (there)
        return true;
    fprintf(stderr, "%s: %s\n", path, acu_last_error()->message);
    check(acu_submit(device, acu_fill(tile_of(sheet, i), acu_u8(90)), NULL, NULL));
    return false;
}

static void write_ppm(const char *path, acu_tensor *pixels)
{
    acu_shape shape = acu_tensor_shape(pixels);
    FILE *file = fopen(path, "wb");
    bool written = file && fprintf(file, "P6 %d %d 255\n", (int)shape.dim[1],
                                   (int)shape.dim[0]) > 0 &&
                   fwrite(acu_tensor_host(pixels), acu_tensor_bytes(pixels), 1, file) == 1;
    if (!file || fclose(file) != 0 || !written) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *own = access("examples/data/coins.jpg", R_OK) == 0 ? "examples/data/coins.jpg"
                                                                   : EXAMPLES_DATA "/coins.jpg";
    const char *const five[] = {own, own, own, own, own};
    const char *const *photos = argc > 2 ? (const char *const *)argv + 2 : five;
    int count = argc > 2 ? argc - 2 : 5, there = 0;
    acu_future *tiles[MOST];
    acu_tensor *sheet, *result;
    if (count > MOST) {
        fprintf(stderr, "%d photographs are too many: at most %d\n", count, MOST);
        return 2;
    }
    acu_device *device = open_device();
    if (acu_vendor_load(device, ACU_VENDOR_NVJPEG) != ACU_OK &&
        acu_vendor_load(device, ACU_VENDOR_TURBOJPEG) != ACU_OK) {
        printf("%s\n", acu_last_error()->message);
        return SKIPPED;
    }
    int rows = (count + COLUMNS - 1) / COLUMNS;
    check(acu_sync(device, acu_full(ACU_SHAPE(GAP + rows * (HEIGHT + GAP),
                                              GAP + COLUMNS * (WIDTH + GAP), 3), acu_u8(90)),
                   &sheet));
    for (int i = 0; i < count; i++)
        tiles[i] = put_tile(device, sheet, i, photos[i]);
    for (int i = 0; i < count; i++)
        there += finish(device, sheet, i, tiles[i], photos[i]);
    check(acu_sync(device, acu_to_host(sheet), &result));
    printf("%d of %d photographs on a sheet of %d x %d pixels\n", there, count,
           (int)acu_tensor_shape(result).dim[1], (int)acu_tensor_shape(result).dim[0]);
    if (argc > 1)
        write_ppm(argv[1], result);
    acu_tensor_release(result);
    acu_tensor_release(sheet);
    check(acu_close(device));
    return there < count;
}
