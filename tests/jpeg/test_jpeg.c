/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* JPEG files by TurboJPEG, where it is installed, and by nvJPEG: on the software device by a
 * library that poses as it. */
#include "jpeg/picture.h"
#include "jpeg/pictures.h"
#include "vendor/with_library.h"

#include <acuda/acuda.h>

#include <string.h>
#include <unistd.h>

enum { H = PICTURE_HEIGHT, W = PICTURE_WIDTH, NEAR = 16 };

typedef enum decoder { TURBO, NV, DECODERS } decoder;

typedef struct file {
    const uint8_t *data;
    size_t bytes;
    bool gray;
} file;

#define FILE_OF(name, gray) {picture_##name, sizeof picture_##name, gray}
static const file files[] = {FILE_OF(baseline, false), FILE_OF(progressive, false),
                             FILE_OF(gray, true)};
static const file baseline = FILE_OF(baseline, false);

/* ---- a device, and the decoder that it uses -------------------------------------------------- */

static void switch_off(acu_vendor vendor, bool off)
{
    acu_vendor_settings settings = {.size = sizeof settings, .off = off};
    assert_works(acu_vendor_configure(vendor, &settings));
}

/* NULL: it is not here. */
static acu_device *open_with(decoder by)
{
    bool turbo = by == TURBO;
    fake = NULL;
    if (!turbo && !test_on_gpu())
        with_fake(ACU_VENDOR_NVJPEG, "jpeg/libfake_nvjpeg.so");
    else
        switch_off(ACU_VENDOR_NVJPEG, turbo);
    acu_device *device = test_open();
    if (acu_vendor_load(device, turbo ? ACU_VENDOR_TURBOJPEG : ACU_VENDOR_NVJPEG) == ACU_OK)
        return device;
    print_message("skipped: %s\n", acu_last_error()->message);
    assert_true(turbo || test_on_gpu());
    test_close(device);
    return NULL;
}

static void with_each(void (*test)(acu_device *device, decoder by))
{
    for (decoder by = TURBO; by < DECODERS; by++) {
        acu_device *device = open_with(by);
        if (!device)
            continue;
        test(device, by);
        with_end(device);
    }
}

#define EACH(name)                                                                                 \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        with_each(name##_by);                                                                      \
    }

/* ---- pictures -------------------------------------------------------------------------------- */

static acu_image_options options_of(acu_pixels pixels, acu_layout layout)
{
    return (acu_image_options){.size = sizeof(acu_image_options), .pixels = pixels,
                               .layout = layout};
}

static int want_at(const file *f, acu_pixels pixels, int x, int y, int channel)
{
    if (f->gray)
        return picture_at(x, y, 0);
    if (pixels == ACU_PIXELS_GRAY)
        return picture_luma(x, y);
    return picture_at(x, y, pixels == ACU_PIXELS_BGR ? 2 - channel : channel);
}

/* The tensor, of any strides, is the picture. */
static void assert_picture(acu_tensor *t, const file *f, acu_pixels pixels, acu_layout layout)
{
    static uint8_t have[H * W * 3];
    int channels = pixels == ACU_PIXELS_GRAY ? 1 : 3;
    int step = layout == ACU_CHW ? 1 : channels, plane = layout == ACU_CHW ? H * W : 1;
    acu_tensor *dense;
    assert_int_equal(acu_tensor_dtype(t), ACU_U8);
    assert_works(acu_sync(acu_tensor_device(t), acu_dup(t), &dense));
    assert_int_equal(acu_tensor_bytes(dense), H * W * channels);
    assert_works(acu_read_sync(dense, have, acu_tensor_bytes(dense)));
    acu_tensor_release(dense);
    for (int i = 0; i < H * W * channels; i++) {
        int c = i % channels, x = i / channels % W, y = i / channels / W;
        int at = (y * W + x) * step + c * plane, want = want_at(f, pixels, x, y, c);
        if (abs(have[at] - want) > NEAR)
            fail_msg("%d, %d, channel %d is %d, not %d", x, y, c, have[at], want);
    }
}

static void every_format_by(acu_device *device, decoder by)
{
    static const acu_pixels all[] = {ACU_PIXELS_RGB, ACU_PIXELS_BGR, ACU_PIXELS_GRAY};
    (void)by;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int k = 0; k < 6; k++) {
            acu_image_options o = options_of(all[k / 2], k % 2 ? ACU_CHW : ACU_HWC);
            acu_tensor *t;
            assert_works(acu_sync(device, acu_jpeg_decode(files[i].data, files[i].bytes, &o), &t));
            assert_int_equal(acu_tensor_shape(t).rank, k < 4 ? 3 : 2);
            assert_int_equal(acu_tensor_shape(t).dim[0], k == 1 || k == 3 ? 3 : H);
            assert_null(acu_tensor_host(t));
            assert_picture(t, &files[i], o.pixels, o.layout);
            acu_tensor_release(t);
        }
}
EACH(every_format)

/* RGB is what one gets without asking; the program's bytes are not needed any more. */
static void composes_by(acu_device *device, decoder by)
{
    (void)by;
    uint8_t *lent = malloc(baseline.bytes);
    memcpy(lent, baseline.data, baseline.bytes);
    acu_op *photo = acu_jpeg_decode(lent, baseline.bytes, NULL);
    memset(lent, 0, baseline.bytes);
    free(lent);
    acu_tensor *small;
    uint8_t have[2][3][3];
    acu_image_options area = {.size = sizeof area, .filter = ACU_AREA};
    assert_works(acu_sync(device, acu_resize(photo, 2, 3, &area), &small));
    assert_works(acu_read_sync(small, have, sizeof have));
    acu_tensor_release(small);
    assert_in_range(have[0][0][0], 40 - NEAR, 40 + NEAR);   /* red grows to the right, */
    assert_in_range(have[1][2][0], 200 - NEAR, 200 + NEAR); /* green downwards */
    assert_in_range(have[1][2][1], 169 - NEAR, 169 + NEAR);
}
EACH(composes)

/* Windows of other tensors, in rows with gaps, and with gaps between pixels. */
static void where_told_by(acu_device *device, decoder by)
{
    (void)by;
    const acu_shape shapes[] = {ACU_SHAPE(H, W + 2, 3), ACU_SHAPE(H, 2 * W, 3),
                                ACU_SHAPE(3, H, W + 2), ACU_SHAPE(3, H, 2 * W)};
    for (int i = 0; i < 4; i++) {
        acu_layout layout = i < 2 ? ACU_HWC : ACU_CHW;
        acu_image_options o = options_of(ACU_PIXELS_RGB, layout);
        bool spread = i % 2;
        acu_shape start = {.rank = 3}, end = shapes[i], step = ACU_SHAPE(1, 1, 1);
        int column = layout == ACU_HWC ? 1 : 2;
        start.dim[column] = spread ? 0 : 1;
        end.dim[column] = spread ? 2 * W : W + 1;
        step.dim[column] = spread ? 2 : 1;
        acu_tensor *whole, *window;
        assert_works(acu_sync(device, acu_full(shapes[i], acu_u8(7)), &whole));
        acu_op *part = acu_slice_step(whole, start, end, step);
        assert_works(acu_sync(device, part, &window));
        assert_works(acu_sync(device, acu_into(window, acu_jpeg_decode(baseline.data,
                                                                       baseline.bytes, &o)),
                              NULL));
        assert_picture(window, &baseline, ACU_PIXELS_RGB, layout);
        uint8_t *all = malloc(acu_tensor_bytes(whole));
        assert_works(acu_read_sync(whole, all, acu_tensor_bytes(whole)));
        size_t outside = spread ? (layout == ACU_HWC ? 3 : 1) : 0;
        assert_int_equal(all[outside], 7);
        free(all);
        acu_tensor_release(window);
        acu_tensor_release(whole);
    }
}
EACH(where_told)

/* ---- files in tensors ------------------------------------------------------------------------ */

static acu_op *bytes_of(const file *f)
{
    return acu_const(ACU_U8, ACU_SHAPE((int64_t)f->bytes), f->data);
}

static void from_tensors_by(acu_device *device, decoder by)
{
    (void)by;
    acu_tensor *t, *apart;
    for (int i = 0; i < 3; i++) {
        acu_op *x = bytes_of(&baseline);
        if (i == 1)
            x = acu_to_host(x);
        if (i == 2) { /* every second byte of a tensor */
            assert_works(acu_sync(device, acu_zeros(ACU_U8, ACU_SHAPE(2 * (int64_t)baseline.bytes)),
                                  &t));
            assert_works(acu_sync(device, acu_slice_step(t, ACU_SHAPE(0), acu_tensor_shape(t),
                                                         ACU_SHAPE(2)), &apart));
            x = acu_first(acu_copy(apart, x));
            acu_tensor_release(apart);
            acu_tensor_release(t);
        }
        assert_works(acu_sync(device, acu_jpeg_decode_from(x, H, W, NULL), &t));
        assert_picture(t, &baseline, ACU_PIXELS_RGB, ACU_HWC);
        acu_tensor_release(t);
    }
}
EACH(from_tensors)

static void from_a_file_by(acu_device *device, decoder by)
{
    (void)by;
    char path[] = "/tmp/acuda-test-jpeg-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, baseline.data, baseline.bytes), (ssize_t)baseline.bytes);
    close(descriptor);
    acu_file *f;
    acu_tensor *bytes, *t;
    assert_works(acu_file_open(path, ACU_FILE_READ, &f));
    unlink(path);
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE((int64_t)baseline.bytes),
                                         &bytes));
    assert_works(acu_sync(device, acu_jpeg_decode_from(acu_file_read(f, 0, bytes), H, W, NULL),
                          &t));
    assert_picture(t, &baseline, ACU_PIXELS_RGB, ACU_HWC);
    acu_tensor_release(t);
    acu_tensor_release(bytes);
    acu_file_release(f);
}
EACH(from_a_file)

static void fails(acu_device *device, acu_op *op, acu_status status, const char *words)
{
    assert_fails(acu_sync(device, op, NULL), status, words);
    assert_string_equal(acu_last_error()->op, "jpeg_decode");
}

static void another_size_by(acu_device *device, decoder by)
{
    (void)by;
    file cmyk = FILE_OF(cmyk, false);
    fails(device, acu_jpeg_decode_from(bytes_of(&baseline), H, W + 1, NULL), ACU_ERR_SHAPE,
          "the file has 18 rows of 25 pixels|the program said 18 of 26");
    fails(device, acu_jpeg_decode_from(acu_zeros(ACU_U8, ACU_SHAPE(100)), H, W, NULL),
          ACU_ERR_INVALID, "begins with 00 00");
    fails(device, acu_jpeg_decode_from(bytes_of(&cmyk), H, W, NULL), ACU_ERR_NOT_SUPPORTED,
          "4 components");
    fails(device, acu_jpeg_decode_from(acu_zeros(ACU_U8, ACU_SHAPE(10, 10)), H, W, NULL),
          ACU_ERR_SHAPE, "u8 [bytes], and not u8 [10, 10]");
    fails(device, acu_jpeg_decode_from(acu_zeros(ACU_F32, ACU_SHAPE(10)), H, W, NULL),
          ACU_ERR_DTYPE, "and not f32 [10]");
    fails(device, acu_jpeg_decode_from(acu_zeros(ACU_U8, ACU_SHAPE(10)), 0, W, NULL),
          ACU_ERR_SHAPE, "0 rows of 25");
}
EACH(another_size)

/* ---- many at a time -------------------------------------------------------------------------- */

static void many_by(acu_device *device, decoder by)
{
    enum { MANY = 24 };
    acu_future *future[MANY];
    (void)by;
    for (int i = 0; i < MANY; i++) {
        const file *f = &files[i % 3];
        future[i] = test_submit(device, acu_jpeg_decode(f->data, f->bytes, NULL));
    }
    for (int i = 0; i < MANY; i++) {
        assert_works(acu_future_wait(future[i], ACU_FOREVER));
        assert_picture(acu_future_tensor(future[i], 0), &files[i % 3], ACU_PIXELS_RGB, ACU_HWC);
        acu_future_release(future[i]);
    }
}
EACH(many)

/* ---- headers --------------------------------------------------------------------------------- */

static void headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        acu_jpeg_info info = {.size = sizeof info};
        size_t needed = 0;
        assert_works(acu_jpeg_info_of(files[i].data, files[i].bytes, &info));
        assert_int_equal(info.height, H);
        assert_int_equal(info.width, W);
        assert_int_equal(info.components, files[i].gray ? 1 : 3);
        assert_int_equal(info.progressive, i == 1);
        for (size_t n = 0; n <= files[i].bytes; n++) { /* memory of its own, for sanitizers */
            uint8_t *part = malloc(n + !n);
            memcpy(part, files[i].data, n);
            acu_status status = acu_jpeg_info_of(part, n, &info);
            free(part);
            needed += status != ACU_OK;
            assert_int_equal(status, n < needed ? ACU_ERR_INVALID : ACU_OK);
        }
        assert_in_range(needed, 20, 600);
    }
    acu_jpeg_info cmyk = {.size = sizeof cmyk};
    assert_works(acu_jpeg_info_of(picture_cmyk, sizeof picture_cmyk, &cmyk));
    assert_int_equal(cmyk.components, 4);
}

/* Where the frame's segment begins. */
static size_t frame_of(const file *f)
{
    size_t at = 2;
    while (f->data[at + 1] != 0xC0)
        at += 2 + (size_t)(f->data[at + 2] << 8 | f->data[at + 3]);
    return at;
}

static void broken_headers(void **state)
{
    (void)state;
    static uint8_t bytes[sizeof picture_baseline];
    size_t frame = frame_of(&baseline);
    const struct {
        size_t at;
        uint8_t value;
        acu_status status;
        const char *words;
    } cases[] = {
        {0, 0x89, ACU_ERR_INVALID, "no JPEG file|89 D8"},
        {2, 0x00, ACU_ERR_INVALID, "byte 2 should begin a segment"},
        {3, 0xDA, ACU_ERR_INVALID, "marker DA at byte 3, before the size"},
        {frame + 1, 0xC3, ACU_ERR_NOT_SUPPORTED, "lossless|marker C3"},
        {frame + 1, 0xC9, ACU_ERR_NOT_SUPPORTED, "arithmetically|marker C9"},
        {frame + 3, 0x08, ACU_ERR_INVALID, "is too short"},
        {frame + 3, 0x00, ACU_ERR_INVALID, "has 0 bytes"},
        {frame + 4, 12, ACU_ERR_NOT_SUPPORTED, "12 bits a sample"},
        {frame + 6, 0, ACU_ERR_NOT_SUPPORTED, "does not say the height"},
        {frame + 8, 0, ACU_ERR_INVALID, "0 pixels wide"},
        {frame + 9, 2, ACU_ERR_INVALID, "2 components"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        acu_jpeg_info info = {.size = sizeof info, .height = -1};
        memcpy(bytes, picture_baseline, sizeof bytes);
        bytes[cases[i].at] = cases[i].value;
        assert_fails(acu_jpeg_info_of(bytes, sizeof bytes, &info), cases[i].status,
                     cases[i].words);
        assert_int_equal(info.height, -1);
    }
    acu_jpeg_info info = {0};
    assert_fails(acu_jpeg_info_of(bytes, sizeof bytes, &info), ACU_ERR_INVALID, "size");
    info.size = sizeof info;
    assert_fails(acu_jpeg_info_of(NULL, 3, &info), ACU_ERR_INVALID, "NULL");
}

/* ---- what fails ------------------------------------------------------------------------------ */

static void refusals_by(acu_device *device, decoder by)
{
    acu_image_options o = options_of(ACU_PIXELS_NV12, ACU_HWC);
    const file *f = &baseline;
    (void)by;
    fails(device, acu_jpeg_decode(f->data, f->bytes, &o), ACU_ERR_NOT_SUPPORTED,
          "RGB, BGR or gray, and not NV12");
    fails(device, acu_jpeg_decode_from(bytes_of(f), H, W, &o), ACU_ERR_NOT_SUPPORTED, "NV12");
    fails(device, acu_jpeg_decode(NULL, 10, NULL), ACU_ERR_INVALID, "NULL");
    fails(device, acu_jpeg_decode(f->data, 100, NULL), ACU_ERR_INVALID, "after 100 bytes");
    fails(device, acu_jpeg_decode(picture_cmyk, sizeof picture_cmyk, NULL),
          ACU_ERR_NOT_SUPPORTED, "CMYK");
    o = (acu_image_options){0};
    fails(device, acu_jpeg_decode(f->data, f->bytes, &o), ACU_ERR_INVALID, "size");
}
EACH(refusals)

/* A file whose end is missing, or in the middle of which there are other bytes. */
static void broken_files(void **state)
{
    (void)state;
    acu_device *device = open_with(TURBO);
    if (!device)
        skip();
    acu_tensor *y;
    assert_works(acu_sync(device, acu_zeros(ACU_U8, ACU_SHAPE(H, W, 3)), &y));
    acu_op *cut = acu_jpeg_decode(baseline.data, baseline.bytes - 60, NULL);
    fails(device, acu_copy(y, cut), ACU_ERR_INVALID, "tjDecompress2 answered: |remature end");
    uint8_t other[sizeof picture_progressive];
    memcpy(other, picture_progressive, sizeof other);
    memset(other + sizeof other - 150, 0xA5, 100);
    assert_true(acu_sync(device, acu_jpeg_decode(other, sizeof other, NULL), NULL) ==
                ACU_ERR_INVALID);
    /* What was to be written is not there, and is once something writes it. */
    assert_fails(acu_sync(device, acu_dup(y), NULL), ACU_ERR_DEPENDENCY, "");
    assert_works(acu_sync(device, acu_copy(y, acu_jpeg_decode(baseline.data, baseline.bytes,
                                                              NULL)), NULL));
    assert_picture(y, &baseline, ACU_PIXELS_RGB, ACU_HWC);
    acu_tensor_release(y);
    with_end(device);
}

static void what_nvjpeg_answers(void **state)
{
    static const struct {
        int number;
        acu_status status;
        const char *words;
    } cases[] = {{3, ACU_ERR_INVALID, "nvjpegDecodeJpegHost|NVJPEG_STATUS_BAD_JPEG|is broken"},
                 {4, ACU_ERR_NOT_SUPPORTED, "NVJPEG_STATUS_JPEG_NOT_SUPPORTED"},
                 {5, ACU_ERR_DEVICE_MEMORY, "NVJPEG_STATUS_ALLOCATOR_FAILURE"},
                 {10, ACU_ERR_INVALID, "NVJPEG_STATUS_INCOMPLETE_BITSTREAM"},
                 {99, ACU_ERR_DRIVER, "answered 99"}};
    (void)state;
    test_software_only();
    acu_device *device = open_with(NV);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        atomic_store(&fake->fail_call, cases[i].number);
        fails(device, acu_jpeg_decode(baseline.data, baseline.bytes, NULL), cases[i].status,
              cases[i].words);
        atomic_store(&fake->fail_call, 0);
        assert_works(acu_sync(device, acu_jpeg_decode(baseline.data, baseline.bytes, NULL), NULL));
    }
    with_end(device);
}

/* A GPU that has no engine for baseline files: they are decoded as all others. */
static void without_an_engine(void **state)
{
    (void)state;
    test_software_only();
    with_fake(ACU_VENDOR_NVJPEG, "jpeg/libfake_nvjpeg.so");
    atomic_store(&fake->less, true);
    acu_device *device = open_with(NV);
    every_format_by(device, NV);
    with_end(device);
    atomic_store(&fake->less, false);
}

static acu_op *one(void)
{
    acu_image_options o = options_of(ACU_PIXELS_RGB, ACU_CHW);
    return acu_jpeg_decode_from(bytes_of(&baseline), H, W, &o);
}

static void without_memory_by(acu_device *device, decoder by)
{
    (void)by;
    test_fail_each_alloc(device, one);
}
EACH(without_memory)

static void prefer_turbo(void)
{
    switch_off(ACU_VENDOR_NVJPEG, true);
}

#if ACUDA_WITH_SOFTCUDA
static void prefer_nvjpeg(void)
{
    with_fake(ACU_VENDOR_NVJPEG, "jpeg/libfake_nvjpeg.so");
}
#endif

/* Each call that is made of the driver, failing once. */
static void without_the_driver(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_with(TURBO);
    if (device) {
        with_end(device);
        test_fail_each_call(prefer_turbo, one);
    }
#if ACUDA_WITH_SOFTCUDA
    test_fail_each_call(prefer_nvjpeg, one);
    assert_int_equal(atomic_load(&fake->overlaps), 0);
    assert_int_equal(atomic_load(&fake->created), atomic_load(&fake->destroyed));
#endif
}

/* ---- finding them ---------------------------------------------------------------------------- */

static void neither(void **state)
{
    (void)state;
    switch_off(ACU_VENDOR_NVJPEG, true);
    switch_off(ACU_VENDOR_TURBOJPEG, true);
    acu_device *device = test_open();
    fails(device, acu_jpeg_decode(baseline.data, baseline.bytes, NULL), ACU_ERR_NOT_FOUND,
          "TurboJPEG is switched off by acu_vendor_configure");
    acu_vendor_settings settings = {.size = sizeof settings, .path = "/none/libturbojpeg.so"};
    assert_works(acu_vendor_configure(ACU_VENDOR_TURBOJPEG, &settings));
    fails(device, acu_jpeg_decode(baseline.data, baseline.bytes, NULL), ACU_ERR_NOT_FOUND,
          "looked for /none/libturbojpeg.so|apt install libturbojpeg0 has it");
    test_close(device);
    test_leaks_none();
}

static void in_process(void **state)
{
    (void)state;
    test_in_process("neither");
}

int main(int count, char **words)
{
    static const test_case cases[] = {{"neither", neither}};
    if (count > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, words[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format),   cmocka_unit_test(composes),
        cmocka_unit_test(where_told),     cmocka_unit_test(from_tensors),
        cmocka_unit_test(from_a_file),    cmocka_unit_test(another_size),
        cmocka_unit_test(many),           cmocka_unit_test(headers),
        cmocka_unit_test(broken_headers), cmocka_unit_test(refusals),
        cmocka_unit_test(broken_files),   cmocka_unit_test(what_nvjpeg_answers),
        cmocka_unit_test(without_memory), cmocka_unit_test(without_the_driver),
        cmocka_unit_test(in_process),     cmocka_unit_test(without_an_engine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
