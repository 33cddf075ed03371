/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arguments of launches, foreign calls and host calls: taken when the op is made, resolved to
 * values when it is planned. */
#ifndef ACUI_OP_ARG_H
#define ACUI_OP_ARG_H

#include "op/op.h"

#define ACUI_STRUCT_MAX 4096 /* CUDA's limit for all parameters of a kernel together */
#define ACUI_LIST_MAX ((ACUI_STRUCT_MAX - 8) / 8)

/* What the program gave. The argument has it in fewer bits, and with a sign, for messages of what
 * is wrong. */
static inline acu_access acui_arg_access_of(const acu_arg *arg)
{
    return (acu_access)arg->access;
}
static inline acu_dtype acui_arg_dtype_of(const acu_arg *arg)
{
    return (acu_dtype)arg->dtype;
}

/* Whether the access of an op, tensor or list is one. If not, the argument could not be ordered
 * behind anything. */
static inline bool acui_arg_has_access(const acu_arg *arg)
{
    return arg->access >= ACU_READ && arg->access <= ACU_UPDATE;
}
acu_status acui_arg_refuse_access(const acu_arg *arg, size_t index); /* says that it is not */

acui_scalar acui_arg_scalar_of(const acu_arg *scalar);

/* Checks that the argument is a scalar, for `function`; an op in its place is consumed. */
acu_status acui_arg_check_scalar(const acu_arg *arg, const char *function);

/* A new op of `class` that has taken all of `args`; ops among them become its inputs, in order. On
 * failure a failed op. The arguments are consumed in any case. */
acu_op *acui_op_with_args(const acui_op_class *class, const acu_arg *args, size_t count,
                          acu_site site);
void acui_args_release(acu_op *op); /* what the arguments hold; there are none afterwards */

/* Plan the arguments: appends one value each, in order, to `values`; a struct or list yields
 * ACU_NONE. Checks forms: an argument that is written must not be shared, nor written twice. */
typedef struct acui_args_count {
    uint32_t of[ACU_SCALAR + 1]; /* values of each kind */
} acui_args_count;
acu_status acui_plan_args(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values,
                          acui_args_count *counts);

/* writes.c: whether what argument `index` writes is its alone, as far as those before it go. */
acu_status acui_check_writes(const acu_op *op, const acu_val *values, size_t index);

/* Writing a prefix leaves the rest of the tensor as it is: that makes it an update. */
static inline acu_access acui_access_of(const acu_val *value, const acu_arg *arg)
{
    bool prefix = value->kind == ACU_PARTITION && value->mode == ACU_PREFIX;
    return prefix && arg->access == ACU_WRITE ? ACU_UPDATE : acui_arg_access_of(arg);
}

/* Enter into `node` what the arguments, planned to `values`, touch; the node has room for that. */
acu_status acui_add_accesses(acui_plan *plan, acui_node *node, const acu_op *op,
                             const acu_val *values);

#endif
