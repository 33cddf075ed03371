/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Complex element types and those of their parts. */
#ifndef ACUI_MEMORY_DTYPE_H
#define ACUI_MEMORY_DTYPE_H

#include <acuda/tensor.h>

static inline bool acui_is_complex(acu_dtype dtype)
{
    return dtype == ACU_C64 || dtype == ACU_C128;
}

/* f32 of c64, f64 of c128; of others, themselves. */
static inline acu_dtype acui_part_of(acu_dtype dtype)
{
    return dtype == ACU_C64 ? ACU_F32 : dtype == ACU_C128 ? ACU_F64 : dtype;
}

/* The one with such parts, or ACU_NO_DTYPE. */
static inline acu_dtype acui_whole_of(acu_dtype dtype)
{
    return dtype == ACU_F32 ? ACU_C64 : dtype == ACU_F64 ? ACU_C128 : ACU_NO_DTYPE;
}

#endif
