/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Element types and shapes. */
#include "base/error.h"
#include "memory/memory.h"

#include <stdio.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[ACU_DTYPE_COUNT] = {
    [ACU_NO_DTYPE] = {"?", 0},
#define ACU_X(id, name_, bytes_) [ACU_##id] = {name_, bytes_},
    ACU_DTYPES(ACU_X)
#undef ACU_X
};

const char *acu_dtype_name(acu_dtype dtype)
{
    return (unsigned)dtype < ACU_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

size_t acu_dtype_bytes(acu_dtype dtype)
{
    return (unsigned)dtype < ACU_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

int64_t acu_shape_elements(acu_shape shape)
{
    if (shape.rank < 1 || shape.rank > ACU_MAX_RANK)
        return -1;
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 1 || __builtin_mul_overflow(n, shape.dim[d], &n))
            return -1;
    return n;
}

bool acu_shape_equal(acu_shape a, acu_shape b)
{
    bool equal = a.rank == b.rank && a.rank >= 0 && a.rank <= ACU_MAX_RANK;
    for (int d = 0; equal && d < a.rank; d++)
        equal = a.dim[d] == b.dim[d];
    return equal;
}

const char *acui_shape_words(acu_shape shape, char *text)
{
    if (shape.rank < 1 || shape.rank > ACU_MAX_RANK) {
        snprintf(text, 96, "[rank %d]", shape.rank);
        return text;
    }
    int at = 0;
    for (int d = 0; d < shape.rank; d++)
        at += snprintf(text + at, 96 - (size_t)at, "%s%lld", d ? ", " : "[",
                       (long long)shape.dim[d]);
    snprintf(text + at, 96 - (size_t)at, "]");
    return text;
}

acu_status acui_shape_check(acu_shape shape, acu_dtype dtype, size_t *bytes)
{
    char words[96];
    size_t element = acu_dtype_bytes(dtype);
    if (element == 0)
        return acui_fail(ACU_ERR_DTYPE, "%d is no element type", (int)dtype);
    int64_t n = acu_shape_elements(shape);
    size_t total;
    if (n < 1 || __builtin_mul_overflow((size_t)n, element, &total) || total > INT64_MAX)
        return acui_fail(ACU_ERR_SHAPE, "%s of %s is no shape: 1 to %d dimensions of at least 1 are "
                         "needed, less than 2^63 bytes together", acui_shape_words(shape, words),
                         acu_dtype_name(dtype), ACU_MAX_RANK);
    if (bytes)
        *bytes = total;
    return ACU_OK;
}
