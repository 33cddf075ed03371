/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elements around a tensor: a number, or the tensor's own. */
#include "ops/arrange/move.h"

#include <inttypes.h>

typedef struct padding {
    const char *name;
    acu_shape before, after;
    int mode; /* acui_move_mode */
} padding;

/* `what` has one number of 0 or more for each dimension of x. */
static acu_op *check(acu_planning *p, const padding *pad, acu_shape what, int rank)
{
    char words[ACUI_OPS_WORDS];
    if (what.rank != rank)
        return acu_op_fail(ACU_ERR_SHAPE, pad->name, p->site,
                           "%s of %s has %d numbers: it takes one "
                           "for each dimension",
                           pad->name, acui_value_words(&p->values[0], words), what.rank);
    for (int d = 0; d < rank; d++)
        if (what.dim[d] < 0 || what.dim[d] > INT64_MAX / 4)
            return acu_op_fail(ACU_ERR_SHAPE, pad->name, p->site,
                               "%s of %s by %" PRId64 " along dimension %d: acu_slice makes it "
                               "smaller",
                               pad->name, acui_value_words(&p->values[0], words), what.dim[d], d);
    return NULL;
}

/* Only a number can be put around nothing. */
static acu_op *check_source(acu_planning *p, const padding *pad, acu_shape own)
{
    char words[ACUI_OPS_WORDS];
    for (int d = 0; d < own.rank && pad->mode != ACUI_MOVE_FILL; d++)
        if (own.dim[d] == 0 && pad->before.dim[d] + pad->after.dim[d] > 0)
            return acu_op_fail(ACU_ERR_SHAPE, pad->name, p->site,
                               "%s of %s along dimension %d: it has no elements to go on with",
                               pad->name, acui_value_words(&p->values[0], words), d);
    return NULL;
}

static void set_axis(acui_axis *axis, int mode, int64_t before)
{
    int64_t n = axis->source;
    if (axis->extent == n)
        return;
    if (n == 1 && mode != ACUI_MOVE_FILL) { /* the same element everywhere */
        axis->from = 0;
        return;
    }
    axis->mode = mode;
    int64_t period = acui_period(mode, n);
    axis->offset = -(period ? before % period : before);
}

/* The bits of the number that fills, which is the second operand. */
static acu_op *read_number(acu_planning *p, const padding *pad, acu_dtype dtype, uint64_t bits[2])
{
    char why[ACUI_OPS_WORDS];
    const acu_val *number = &p->values[1];
    if (number->kind != ACU_SCALAR)
        return acu_op_fail(ACU_ERR_INVALID, pad->name, p->site,
                           "%s takes a number to fill with, not "
                           "%s",
                           pad->name, acui_value_words(number, why));
    bits[0] = number->bits;
    bits[1] = number->imaginary;
    bool zero = number->bits == 0 && number->imaginary == 0 && dtype != ACU_F8E8M0FNU;
    if (number->dtype == dtype || zero)
        return NULL;
    if (!acui_class_of(dtype) && !acui_is_complex(dtype))
        return acu_op_fail(ACU_ERR_DTYPE, pad->name, p->site,
                           "%s of %s takes 0 or a scalar of that "
                           "dtype",
                           pad->name, acu_dtype_name(dtype));
    if (!acui_stored_bits(number, dtype, bits, why))
        return acu_op_fail(ACU_ERR_DTYPE, pad->name, p->site, "%s: %s", pad->name, why);
    return NULL;
}

static acu_op *plan_pad(acu_planning *p)
{
    const padding *pad = p->data;
    acu_op *failed = NULL;
    const acu_tensor *x = acui_tensor_operand(p, pad->name, 0, &failed);
    if (!x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x);
    acu_shape shape = acu_tensor_shape(x);
    acui_arranging a = {.name = pad->name, .element = acu_dtype_bytes(dtype)};
    failed = check(p, pad, pad->before, shape.rank);
    if (!failed)
        failed = check(p, pad, pad->after, shape.rank);
    if (!failed)
        failed = check_source(p, pad, shape);
    if (!failed && pad->mode == ACUI_MOVE_FILL)
        failed = read_number(p, pad, dtype, a.fill);
    if (failed)
        return failed;
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = shape.dim[d] > INT64_MAX / 4
                           ? INT64_MAX
                           : shape.dim[d] + pad->before.dim[d] + pad->after.dim[d];
    if (acu_shape_elements(shape) < 0)
        return acui_result(p, pad->name, dtype, shape); /* which says that there are too many */
    acui_box box;
    acui_box_init(&box, p->out.tensor, dtype, shape, x);
    for (int d = 0; d < shape.rank; d++)
        set_axis(&box.axis[d], pad->mode, pad->before.dim[d]);
    acu_op *out = acui_result_apart(p, pad->name, dtype, shape);
    return acu_op_status(out, NULL) == ACU_OK ? acui_arrange(p, &a, out, &box, 0, 1) : out;
}

static acu_op *pad(const padding *pad, acu_op *const *operands, size_t count, acu_site site)
{
    acu_custom custom = {.name = pad->name, .fn = plan_pad, .data = pad, .bytes = sizeof *pad};
    return acu_op_custom(custom, operands, count, site);
}

acu_op *acu_op_pad(acu_op *x, acu_shape before, acu_shape after, acu_op *number, acu_site site)
{
    padding constant = {"pad", before, after, ACUI_MOVE_FILL};
    return pad(&constant, (acu_op *const[]){x, number}, 2, site);
}

acu_op *acu_op_pad_by(acu_pad_mode mode, acu_op *x, acu_shape before, acu_shape after,
                      acu_site site)
{
    static const int modes[] = {[ACU_PAD_EDGE] = ACUI_MOVE_EDGE,
                                [ACU_PAD_REFLECT] = ACUI_MOVE_REFLECT,
                                [ACU_PAD_SYMMETRIC] = ACUI_MOVE_SYMMETRIC,
                                [ACU_PAD_WRAP] = ACUI_MOVE_WRAP};
    if ((unsigned)mode >= sizeof modes / sizeof *modes) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "pad", site, "%d is no way to pad", (int)mode);
    }
    padding by = {"pad", before, after, modes[mode]};
    return pad(&by, &x, 1, site);
}
