/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images of more elements than 32 bits count: as views of little memory, and, on a GPU, in memory
 * of that size; and images without pixels, which are refused.
 */
#include "image/pictures.h"

#include "support/one_device.h"

#include <acuda/image_filters.h>

/* All elements of the result are that number. */
static void all_are(acu_op *op, double want, const char *what)
{
    acu_tensor *ends = NULL;
    float both[2];
    acu_op *x = acu_convert(op, ACU_F32);
    acu_op *most = acu_max_of(acu_op_retain(x), ACU_ALL), *least = acu_min_of(x, ACU_ALL);
    assert_works(acu_sync(device, acu_stack(0, most, least), &ends));
    assert_works(acu_read_sync(ends, both, sizeof both));
    if (!((double)both[0] == want && (double)both[1] == want))
        fail_msg("%s: from %g to %g, not %g", what, (double)both[1], (double)both[0], want);
    acu_tensor_release(ends);
}

static void views(void **state)
{
    (void)state;
    enum { SIDE = 65536 };
    uint8_t one[3] = {77, 77, 77};
    const double matrix[6] = {SIDE / 9.0, 0, 5, 0, SIDE / 7.0, 3};
    const acu_image_options nearest = {.size = sizeof nearest, .filter = ACU_NEAREST};
    const acu_image_options back = {.size = sizeof back, .inverse = true};
    const acu_crop corner = {0, {SIDE - 9, SIDE - 5, 9, 5}};
    for (int channels = 1; channels <= 3; channels += 2) {
        acu_tensor *t = tensor_with(device, ACU_U8, ACU_SHAPE(1, 1, channels), one), *x = NULL;
        assert_works(acu_tensor_broadcast_to(t, ACU_SHAPE(SIDE, SIDE, channels), &x));
        all_are(acu_resize(x, 7, 9, NULL), 77, "linear");
        all_are(acu_resize(x, 7, 9, &nearest), 77, "nearest");
        all_are(acu_crop_resize(x, &corner, 1, 4, 4, NULL), 77, "the last corner");
        all_are(acu_warp_affine(x, matrix, 7, 9, &back), 77, "warped");
        acu_tensor_release(t);
        acu_tensor_release(x);
    }
}

/* The last row and columns of an image of 2.2 GB, read and written. */
static void in_memory(void **state)
{
    (void)state;
    if (acu_device_info_of(device)->software)
        skip(); /* the software device takes minutes for so many pixels */
    enum { H = 33000, W = 66000 };
    const acu_image_options edge = {.size = sizeof edge, .border = ACU_BORDER_REPLICATE};
    const acu_crop corner = {0, {W - 9, H - 1, 9, 1}};
    const double same[6] = {1, 0, 0, 0, 1, 0};
    acu_tensor *strip = NULL, *x = NULL, *y = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(3, W), &strip));
    assert_works(acu_sync(device, acu_fill(strip, acu_u8(200)), NULL));
    assert_works(acu_sync(device, acu_make_border(strip, H - 3, 0, 0, 0, &edge), &x));
    all_are(acu_slice(x, ACU_SHAPE(H - 1, 0), ACU_SHAPE(H, W)), 200, "the last row");
    assert_works(acu_sync(device, acu_fill(acu_slice(x, ACU_SHAPE(H - 1, 0), ACU_SHAPE(H, W)),
                                           acu_u8(9)), NULL));
    all_are(acu_crop_resize(x, &corner, 1, 4, 4, NULL), 9, "a crop of the last row");
    assert_works(acu_sync(device, acu_box_blur(x, 1, 3, NULL), &y));
    all_are(acu_slice(y, ACU_SHAPE(H - 1, 0), ACU_SHAPE(H, W)), 9, "the last row, filtered");
    acu_tensor_release(y);
    assert_works(acu_sync(device, acu_warp_affine(x, same, H, W, NULL), &y));
    all_are(acu_slice(y, ACU_SHAPE(H - 1, 0), ACU_SHAPE(H, W)), 9, "the last row, warped");
    acu_tensor_release(y);
    assert_works(acu_sync(device, acu_resize(x, H, W, NULL), &y));
    all_are(acu_slice(y, ACU_SHAPE(H - 1, 0), ACU_SHAPE(H, W)), 9, "the last row, resized");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(strip);
}

static void empty(void **state)
{
    (void)state;
    acu_op *nothing = acu_zeros(ACU_U8, ACU_SHAPE(0, 8, 3));
    assert_fails(acu_sync(device, acu_resize(nothing, 4, 4, NULL), NULL), ACU_ERR_SHAPE,
                 "resize|u8 [0, 8, 3] has no pixels");
    acu_tensor *x = NULL;
    assert_fails(acu_tensor_alloc_pitched(device, ACU_U8, ACU_SHAPE(0, 8, 3), &x), ACU_ERR_SHAPE,
                 "[0, 8, 3] has no pixels");
    assert_fails(acu_sync(device, acu_resize(acu_zeros(ACU_U8, ACU_SHAPE(4, 4)), 0, 4, NULL), NULL),
                 ACU_ERR_SHAPE, "resize|0 rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(views), DEVICE_TEST(in_memory),
                                       DEVICE_TEST(empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
