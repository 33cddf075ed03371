/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors as images: which dimension is what, results, and launches over their pixels. */
#include "image/image.h"

#include <string.h>

bool acui_is_pixel_dtype(acu_dtype dtype)
{
    return dtype == ACU_U8 || dtype == ACU_U16 || dtype == ACU_F16 || dtype == ACU_BF16 ||
           dtype == ACU_F32;
}

double acui_full_of(acu_dtype dtype)
{
    return dtype == ACU_U8 ? 255 : dtype == ACU_U16 ? 65535 : 1;
}

static void read_shape(acu_shape s, const int64_t *strides, acu_layout layout, acui_view *v)
{
    *v = (acui_view){.rank = s.rank, .images = 1, .channels = 1};
    int d = s.rank == 4; /* the first dimension of one image */
    bool first = s.rank > 2 && layout == ACU_CHW;
    if (s.rank == 4) {
        v->images = s.dim[0];
        v->image = strides[0];
    }
    if (s.rank > 2) {
        int c = first ? d : s.rank - 1;
        v->channels = s.dim[c];
        v->channel = strides[c];
    }
    d += first;
    v->height = s.dim[d];
    v->row = strides[d];
    v->width = s.dim[d + 1];
    v->column = strides[d + 1];
}

void acui_view_read(const acu_tensor *tensor, acu_layout layout, acui_view *view)
{
    read_shape(acu_tensor_shape(tensor), acu_tensor_strides(tensor), layout, view);
    view->dtype = acu_tensor_dtype(tensor);
}

acu_op *acui_view_of(acu_planning *p, const char *name, const acu_val *value, acu_layout layout,
                     acui_view *view)
{
    char words[ACUI_OPS_WORDS];
    if (value->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, name, p->site, "%s takes an image in a tensor, not %s",
                           name, acui_value_words(value, words));
    int rank = acu_tensor_shape(value->tensor).rank;
    if (acu_tensor_elements(value->tensor) == 0)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s takes an image, and %s has no pixels",
                           name, acui_value_words(value, words));
    if (rank < 2 || rank > 4)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s takes an image of 2, 3 or 4 "
                           "dimensions, not %s", name, acui_value_words(value, words));
    acui_view_read(value->tensor, layout, view);
    if (!acui_is_pixel_dtype(view->dtype))
        return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s takes images of u8, u16, f16, bf16 "
                           "or f32, not %s", name, acui_value_words(value, words));
    if (view->channels > 4)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s takes images of 1 to 4 channels: %s "
                           "has %lld in %s, the layout that was given", name,
                           acui_value_words(value, words), (long long)view->channels,
                           layout == ACU_CHW ? "CHW" : "HWC");
    if (view->height > ACUI_IMAGE_SIDE || view->width > ACUI_IMAGE_SIDE ||
        view->images > ACUI_IMAGE_SIDE)
        return acu_op_fail(ACU_ERR_LIMIT, name, p->site, "%s takes at most %d pixels along a side, "
                           "and as many images; not %s", name, ACUI_IMAGE_SIDE,
                           acui_value_words(value, words));
    return NULL;
}

acu_shape acui_view_shape(acu_layout layout, int rank, int64_t images, int64_t height,
                          int64_t width, int64_t channels)
{
    if (rank == 2)
        return ACU_SHAPE(height, width);
    acu_shape all = layout == ACU_CHW ? ACU_SHAPE(images, channels, height, width)
                                      : ACU_SHAPE(images, height, width, channels);
    if (rank == 4)
        return all;
    return ACU_SHAPE(all.dim[1], all.dim[2], all.dim[3]);
}

acu_op *acui_view_result(acu_planning *p, const char *name, acu_dtype dtype, acu_layout layout,
                         acu_shape shape, acui_view *view)
{
    const acu_tensor *given = p->out.tensor; /* which acui_result takes, if it fits */
    int64_t strides[ACU_MAX_RANK], dense = 1;
    acu_op *out = acui_result(p, name, dtype, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    for (int d = shape.rank - 1; d >= 0; d--) {
        strides[d] = given ? acu_tensor_strides(given)[d] : dense;
        dense *= shape.dim[d];
    }
    read_shape(shape, strides, layout, view);
    view->dtype = dtype;
    return out;
}

static void drop(const acu_arg *args, size_t count, acu_planning *p)
{
    acu_op_release(acu_op_launch(NULL, NULL, args, count, p->site)); /* refused; consumes them */
}

acu_op *acui_image_launch(acu_planning *p, const char *name, const char *family,
                          const char *kernel, int64_t width, int64_t height, int64_t images,
                          const acu_arg *args, size_t count)
{
    acu_kernel *found;
    if (acu_kernel_find(p->device, family, kernel, &found) != ACU_OK) {
        acu_op *failed = acu_op_fail(acu_last_error()->status, name, p->site, NULL);
        drop(args, count, p);
        return failed;
    }
    const int64_t most = 65535; /* along y and z; blocks take several turns beyond */
    int64_t rows = acui_parts(height, ACUI_IMAGE_ROWS);
    /* Where there are enough blocks, each takes several turns: what its columns need is worked out
     * once. */
    if (rows * images * acui_parts(width, ACUI_IMAGE_COLUMNS) > 16384)
        rows = acui_parts(rows, 4);
    acu_config config =
        ACU_GRID_BLOCK(acui_parts(width, ACUI_IMAGE_COLUMNS), rows < most ? rows : most,
                       images < most ? images : most, ACUI_BLOCK, 1, 1);
    acu_op *launch = acu_op_launch(found, &config, args, count, p->site);
    acu_kernel_release(found);
    return acu_op_nth(acu_op_named(launch, name), 0, p->site);
}
