/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Formats of pixels: their channels, planes, and what their numbers mean. */
#include "image/image.h"

#include <string.h>

static const struct {
    const char *name;
    int channels;
} formats[] = {
#define ACU_X(id, name, channels, planes) {name, channels},
    ACU_PIXEL_FORMATS(ACU_X)
#undef ACU_X
};

bool acui_pixels_known(acu_pixels pixels)
{
    return (unsigned)pixels < ACU_PIXELS_COUNT;
}

const char *acu_pixels_name(acu_pixels pixels)
{
    return acui_pixels_known(pixels) ? formats[pixels].name : "?";
}

int acui_channels_of(acu_pixels pixels)
{
    return formats[pixels].channels;
}

bool acui_is_yuv(acu_pixels pixels)
{
    return pixels >= ACU_PIXELS_NV12;
}

acu_dtype acui_dtype_of(acu_pixels pixels)
{
    return pixels == ACU_PIXELS_P010 ? ACU_U16 : ACU_U8;
}

acui_chroma acui_chroma_of(acu_pixels pixels)
{
    acui_chroma c = {0};
    bool both = pixels == ACU_PIXELS_NV12 || pixels == ACU_PIXELS_NV21 ||
                pixels == ACU_PIXELS_P010;
    c.interleaved = both;
    c.swapped = pixels == ACU_PIXELS_NV21;
    c.packed = pixels == ACU_PIXELS_YUYV || pixels == ACU_PIXELS_UYVY;
    c.luma_second = pixels == ACU_PIXELS_UYVY;
    c.x = pixels == ACU_PIXELS_YUV444 ? 0 : 1;
    c.y = both || pixels == ACU_PIXELS_YUV420;
    return c;
}

/* ---- colours ------------------------------------------------------------------------------- */

/* The parts of red and blue in luma; the rest is green. */
void acui_luma_of(acu_matrix matrix, double weight[3])
{
    weight[0] = matrix == ACU_BT709 ? 0.2126 : matrix == ACU_BT2020 ? 0.2627 : 0.299;
    weight[2] = matrix == ACU_BT709 ? 0.0722 : matrix == ACU_BT2020 ? 0.0593 : 0.114;
    weight[1] = 1 - weight[0] - weight[2];
}

/* A number that is stored: black + luma * white, and middle + chroma * reach. */
typedef struct levels {
    double black, white, middle, reach;
} levels;

static levels levels_of(acu_pixels pixels, acu_range range)
{
    levels l = range == ACU_FULL ? (levels){0, 255, 128, 255} : (levels){16, 219, 128, 224};
    if (pixels == ACU_PIXELS_P010) { /* ten bits, at the top of 16 */
        l = range == ACU_FULL ? (levels){0, 1023, 512, 1023} : (levels){64, 876, 512, 896};
        l = (levels){l.black * 64, l.white * 64, l.middle * 64, l.reach * 64};
    }
    return l;
}

void acui_decode_of(acu_pixels pixels, acu_matrix matrix, acu_range range, float decode[3][4])
{
    double w[3];
    levels l = levels_of(pixels, range);
    acui_luma_of(matrix, w);
    const double u[3] = {0, -2 * (1 - w[2]) * w[2] / w[1], 2 * (1 - w[2])};
    const double v[3] = {2 * (1 - w[0]), -2 * (1 - w[0]) * w[0] / w[1], 0};
    for (int c = 0; c < 3; c++) {
        decode[c][0] = (float)(1 / l.white);
        decode[c][1] = (float)(u[c] / l.reach);
        decode[c][2] = (float)(v[c] / l.reach);
        decode[c][3] = (float)(-l.black / l.white - (u[c] + v[c]) * l.middle / l.reach);
    }
}

void acui_encode_of(acu_pixels pixels, acu_matrix matrix, acu_range range, double mix[3][3],
                    double add[3])
{
    double w[3];
    levels l = levels_of(pixels, range);
    acui_luma_of(matrix, w);
    for (int c = 0; c < 3; c++) {
        mix[0][c] = l.white * w[c];
        mix[1][c] = l.reach * ((c == 2) - w[c]) / (2 * (1 - w[2]));
        mix[2][c] = l.reach * ((c == 0) - w[c]) / (2 * (1 - w[0]));
    }
    add[0] = l.black;
    add[1] = add[2] = l.middle;
}

/* Which channel has the colour (0: red, 1: green, 2: blue); planes are decoded to RGB. */
static int place_of(acu_pixels pixels, int colour)
{
    bool reversed = pixels == ACU_PIXELS_BGR || pixels == ACU_PIXELS_BGRA;
    return reversed ? 2 - colour : colour;
}

void acui_channels_mix(acu_pixels from, acu_pixels to, int channels, acu_matrix matrix,
                       double mix[4][5])
{
    double w[3];
    acui_luma_of(matrix, w);
    memset(mix, 0, 4 * sizeof *mix);
    if (to == ACU_PIXELS_ANY || (to == from && !acui_is_yuv(to))) {
        for (int k = 0; k < channels; k++)
            mix[k][k] = 1;
        return;
    }
    if (to == ACU_PIXELS_GRAY) {
        for (int colour = 0; colour < 3; colour++)
            mix[0][place_of(from, colour)] = w[colour];
        return;
    }
    for (int colour = 0; colour < 3; colour++)
        mix[place_of(to, colour)][from == ACU_PIXELS_GRAY ? 0 : place_of(from, colour)] = 1;
    if (acui_channels_of(to) == 4 && acui_channels_of(from) == 4)
        mix[3][3] = 1;
    else
        mix[3][4] = 1;
}

void acui_mix_in_order(double m[3][4], acu_pixels pixels, double mix[4][5])
{
    memset(mix, 0, 4 * sizeof *mix);
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3; c++)
            mix[place_of(pixels, k)][place_of(pixels, c)] = m[k][c];
        mix[place_of(pixels, k)][4] = m[k][3];
    }
    mix[3][3] = 1;
}

/* ---- planes in one tensor ------------------------------------------------------------------ */

/* Rows of the tensor for two rows of the picture. */
static int64_t rows_for_two(acu_pixels pixels)
{
    acui_chroma c = acui_chroma_of(pixels);
    return c.packed ? 2 : c.y ? 3 : 4;
}

acu_shape acui_planes_shape(acu_pixels pixels, int64_t images, bool batch, int64_t height,
                            int64_t width)
{
    acu_shape s = {0};
    if (batch)
        s.dim[s.rank++] = images;
    s.dim[s.rank++] = acui_chroma_of(pixels).packed ? height : height / 2 * rows_for_two(pixels);
    s.dim[s.rank++] = width;
    if (acui_chroma_of(pixels).packed)
        s.dim[s.rank++] = 2;
    return s;
}

/* Planes after each other in a tensor with these strides; `height` of the picture. */
static void lay_out(acu_shape s, const int64_t *strides, acu_pixels pixels, int64_t height,
                    acui_plane plane[3], int64_t batch[3])
{
    acui_chroma c = acui_chroma_of(pixels);
    int d = s.rank - (c.packed ? 3 : 2);
    int64_t row = strides[d], column = strides[d + 1], width = s.dim[d + 1];
    for (int k = 0; k < 3; k++)
        batch[k] = d > 0 ? strides[0] : 0;
    plane[0] = (acui_plane){0, row, column};
    int64_t u = height * row, v = u;
    if (c.packed) {
        int64_t second = strides[d + 2];
        plane[0].offset = c.luma_second ? second : 0;
        plane[1] = (acui_plane){c.luma_second ? 0 : second, row, 2 * column};
        plane[2] = (acui_plane){plane[1].offset + column, row, 2 * column};
        return;
    }
    if (c.interleaved) {
        plane[1] = (acui_plane){c.swapped ? u + column : u, row, 2 * column};
        plane[2] = (acui_plane){c.swapped ? u : u + column, row, 2 * column};
        return;
    }
    v = u + (width >> c.x) * (height >> c.y); /* dense */
    plane[1] = (acui_plane){u, width >> c.x, 1};
    plane[2] = (acui_plane){v, width >> c.x, 1};
}

void acui_planes_lay_out(const acu_tensor *tensor, acu_shape shape, acu_pixels pixels,
                         int64_t height, acui_plane plane[3], int64_t batch[3])
{
    int64_t strides[ACU_MAX_RANK], dense = 1;
    for (int d = shape.rank - 1; d >= 0; d--) {
        strides[d] = tensor ? acu_tensor_strides(tensor)[d] : dense;
        dense *= shape.dim[d];
    }
    lay_out(shape, strides, pixels, height, plane, batch);
}

/* Whether one picture of the tensor is dense, as planes that share no rows need it. */
static bool is_dense(const acu_tensor *tensor)
{
    acu_shape s = acu_tensor_shape(tensor);
    const int64_t *strides = acu_tensor_strides(tensor);
    return strides[s.rank - 1] == 1 && strides[s.rank - 2] == s.dim[s.rank - 1];
}

/* In words, what is wrong with the shape of a tensor with all planes; NULL: nothing. */
static const char *wrong_with(acu_pixels pixels, const acu_tensor *tensor)
{
    acui_chroma c = acui_chroma_of(pixels);
    acu_shape s = acu_tensor_shape(tensor);
    int d = s.rank - (c.packed ? 3 : 2);
    if (d < 0 || d > 1)
        return c.packed ? "it is [height, width, 2], with the number of images in front if there "
                          "are several"
                        : "it has two dimensions, or three with the number of images";
    if (c.packed && s.dim[d + 2] != 2)
        return "its last dimension must be 2";
    if (s.dim[d + 1] % 2)
        return "its width must be even";
    if (!c.packed && s.dim[d] % rows_for_two(pixels))
        return c.y ? "its rows must be a multiple of 3 (those of luma, even, and half as many)"
                   : "its rows must be a multiple of 4 (those of luma, even, and as many)";
    if (!c.packed && !c.interleaved && !is_dense(tensor))
        return "its rows must be dense, as U and V have shorter ones; pass planes instead";
    return NULL;
}

acu_op *acui_planes_of(acu_planning *p, const char *name, const acu_val *value, acu_pixels pixels,
                       acui_plane plane[3], int64_t batch[3], acui_view *view)
{
    char words[ACUI_OPS_WORDS];
    if (value->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, name, p->site, "%s takes an image in a tensor, not %s",
                           name, acui_value_words(value, words));
    if (acu_tensor_dtype(value->tensor) != acui_dtype_of(pixels))
        return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s: %s is of %s, not %s", name,
                           acu_pixels_name(pixels), acu_dtype_name(acui_dtype_of(pixels)),
                           acui_value_words(value, words));
    const char *wrong = wrong_with(pixels, value->tensor);
    if (wrong)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s: %s can not be %s: %s", name,
                           acui_value_words(value, words), acu_pixels_name(pixels), wrong);
    acu_shape s = acu_tensor_shape(value->tensor);
    bool packed = acui_chroma_of(pixels).packed;
    int d = s.rank - (packed ? 3 : 2);
    *view = (acui_view){.dtype = acui_dtype_of(pixels), .rank = d + 3, .channels = 3,
                        .images = d > 0 ? s.dim[0] : 1, .width = s.dim[d + 1],
                        .height = packed ? s.dim[d] : s.dim[d] / rows_for_two(pixels) * 2};
    if (view->height > ACUI_IMAGE_SIDE || view->width > ACUI_IMAGE_SIDE)
        return acu_op_fail(ACU_ERR_LIMIT, name, p->site, "%s takes at most %d pixels along a side; "
                           "not %s", name, ACUI_IMAGE_SIDE, acui_value_words(value, words));
    acui_planes_lay_out(value->tensor, s, pixels, view->height, plane, batch);
    return NULL;
}
