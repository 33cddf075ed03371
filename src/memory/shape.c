/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shapes: validity, size, text. */
#include "base/error.h"
#include "base/text.h"
#include "memory/memory.h"

#include <inttypes.h>

#define SHAPE_WORDS 96 /* what callers provide: the extents of a shape whose bytes fit have 19
                        * digits in all, and a few more */

/* The product of the extents, if they are valid and it fits; that of an empty shape without its
 * zeros too, because strides are made of it. */
static bool count_elements(acu_shape shape, int64_t *elements)
{
    if (shape.rank < 0 || shape.rank > ACU_MAX_RANK)
        return false;
    int64_t product = 1;
    bool empty = false;
    for (int d = 0; d < shape.rank; d++) {
        empty |= shape.dim[d] == 0;
        if (shape.dim[d] < 0 ||
            (shape.dim[d] && __builtin_mul_overflow(product, shape.dim[d], &product)))
            return false;
    }
    *elements = empty ? 0 : product;
    return true;
}

int64_t acu_shape_elements(acu_shape shape)
{
    int64_t elements;
    return count_elements(shape, &elements) ? elements : -1;
}

bool acu_shape_equal(acu_shape a, acu_shape b)
{
    if (a.rank != b.rank || a.rank < 0 || a.rank > ACU_MAX_RANK)
        return false;
    for (int d = 0; d < a.rank; d++)
        if (a.dim[d] != b.dim[d])
            return false;
    return true;
}

const char *acui_shape_words(acu_shape shape, char *text)
{
    acui_text words = acui_text_start(text, SHAPE_WORDS);
    int rank = shape.rank < ACU_MAX_RANK ? shape.rank : ACU_MAX_RANK;
    for (int d = 0; d < rank; d++)
        acui_text_add(&words, "%s%" PRId64, d ? ", " : "[", shape.dim[d]);
    acui_text_add(&words, rank > 0 ? "]" : "[]");
    return text;
}

acu_status acui_shape_check(acu_shape shape, acu_dtype dtype, size_t *bytes)
{
    size_t size = acu_dtype_bytes(dtype);
    if (size == 0)
        return acui_fail(ACU_ERR_DTYPE, "%d is no element type", (int)dtype);
    if (shape.rank < 0 || shape.rank > ACU_MAX_RANK)
        return acui_fail(ACU_ERR_SHAPE, "a shape has 0 to %d dimensions, this one has %d",
                         ACU_MAX_RANK, shape.rank);
    char words[SHAPE_WORDS];
    int64_t elements = 0, total = 0;
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0)
            return acui_fail(ACU_ERR_SHAPE, "shape %s: dimension %d has %" PRId64 " elements",
                             acui_shape_words(shape, words), d, shape.dim[d]);
    if (!count_elements(shape, &elements) ||
        __builtin_mul_overflow(elements, (int64_t)size, &total))
        return acui_fail(ACU_ERR_SHAPE, "shape %s of %s has more bytes than 64 bits count",
                         acui_shape_words(shape, words), acu_dtype_name(dtype));
    if (bytes)
        *bytes = (size_t)total;
    return ACU_OK;
}
