/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arguments of launches that have several tensors inside: lists, and structs with addresses in
 * them. */
#ifndef ACUI_OP_INSIDE_H
#define ACUI_OP_INSIDE_H

#include "op/arg.h"

/* What a list or struct becomes when an op takes it. The argument's `bytes` are then what it takes
 * among the parameters, and its access is that of all fields together. The op has a reference to
 * each tensor. */
typedef struct acui_inside {
    const void *memory; /* the struct, or a list's count: what comes before the addresses do */
    uint32_t bytes;     /* of that */
    uint32_t count;
    acu_field fields[];
} acui_inside;

/* NULL: the argument is of another kind. */
static inline const acui_inside *acui_inside_of(const acu_arg *arg)
{
    bool has = arg->kind == ACU_ARG_LIST || arg->kind == ACU_ARG_FIELDS;
    return has ? (const acui_inside *)arg->u.memory : NULL;
}
static inline size_t acui_inside_count(const acu_arg *arg)
{
    const acui_inside *inside = acui_inside_of(arg);
    return inside ? inside->count : 0;
}

/* Copies what the argument points to and retains the tensors; on failure the argument holds
 * nothing, and has no kind. */
acu_status acui_inside_keep(const acu_op *op, acu_arg *arg, size_t index);
void acui_inside_release(const acu_arg *arg); /* also of other kinds, which have nothing inside */

#endif
