/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Element types. */
#include <acuda/tensor.h>

static const struct {
    const char *name;
    size_t bytes;
    acu_dtype_kind kind;
} dtypes[ACU_DTYPE_COUNT] = {
    [ACU_NO_DTYPE] = {"?", 0, ACU_KIND_NONE},
#define ACU_X(id, word, size, kind) [ACU_##id] = {word, size, ACU_KIND_##kind},
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

acu_dtype_kind acu_dtype_kind_of(acu_dtype dtype)
{
    return (unsigned)dtype < ACU_DTYPE_COUNT ? dtypes[dtype].kind : ACU_KIND_NONE;
}
