/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors whose elements depend on their place alone: arange, linspace, eye. */
#include "ops/ops.h"

#include <math.h>

typedef struct sequence {
    const char *name;
    acu_dtype dtype;
    acu_shape shape;
    acui_sequence params;
} sequence;

static bool is_real(acu_dtype dtype)
{
    return acu_dtype_kind_of(acui_part_of(dtype)) == ACU_KIND_FLOAT;
}

static acu_op *plan_sequence(acu_planning *p)
{
    sequence s = *(const sequence *)p->data;
    s.params.elements = acu_shape_elements(s.shape);
    if (s.params.elements < 0)
        return acui_result(p, s.name, s.dtype, s.shape); /* which says that there are too many
                                                          * elements */
    s.params.out.dtype = (int)s.dtype;
    acui_layout(&s.params.index, &s.params.out, s.shape, (const acu_tensor *[]){p->out.tensor}, 1);
    s.params.linear = acui_is_linear(&s.params.index, &s.params.out, 1);
    acu_op *out = acui_result(p, s.name, s.dtype, s.shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_struct(&s.params, sizeof s.params)};
    return acui_run(p, s.name, "acuda.make",
                    is_real(s.dtype) ? "make_d" : "make_l",
                    acui_blocks(s.params.elements, 2 * ACUI_UNROLL * ACUI_BLOCK), args, 2);
}

static acu_op *make(const sequence *s, acu_site site)
{
    if (s->dtype == ACU_F4E2M1FNX2 || acu_dtype_bytes(s->dtype) == 0 ||
        (s->params.kind == ACUI_EYE && s->dtype == ACU_F8E8M0FNU))
        return acu_op_fail(ACU_ERR_DTYPE, s->name, site, "%s can not be made of %s", s->name,
                           acu_dtype_name(s->dtype));
    if (acui_is_complex(s->dtype)) {
        sequence parts = *s;
        parts.dtype = acui_part_of(s->dtype);
        return acu_op_convert(make(&parts, site), s->dtype, site);
    }
    acu_custom custom = {.name = s->name, .fn = plan_sequence, .data = s, .bytes = sizeof *s};
    return acu_op_custom(custom, NULL, 0, site);
}

/* Whether x is an integer that a double holds exactly. */
static bool is_whole(double x)
{
    return x >= -0x1p53 && x <= 0x1p53 && (double)(int64_t)x == x;
}

/* ceil((end - start) / step), which is positive, of integers up to 2^53: the difference may be one
 * that no double is. */
static int64_t count_whole(int64_t start, int64_t end, int64_t step)
{
    int64_t span = step > 0 ? end - start : start - end;
    step = step > 0 ? step : -step;
    return (span + step - 1) / step;
}

acu_op *acu_op_arange(acu_dtype dtype, double start, double end, double step, acu_site site)
{
    double count = (end - start) / step;
    if (!(count < 0x1p53) || !isfinite(count))
        return acu_op_fail(ACU_ERR_SHAPE, "arange", site, "arange from %g to %g in steps of %g has "
                           "no end", start, end, step);
    if (count <= 0) {
        count = 0;
        end = start;
    }
    int64_t elements = (int64_t)count + ((double)(int64_t)count < count);
    if (!is_real(dtype) && !(is_whole(start) && is_whole(end) && is_whole(step)))
        return acu_op_fail(ACU_ERR_DTYPE, "arange", site, "arange of %s from %g to %g in steps of "
                           "%g: these must be integers of at most 2^53", acu_dtype_name(dtype),
                           start, end, step);
    sequence s = {.name = "arange",
                  .dtype = dtype,
                  .shape = ACU_SHAPE(elements),
                  .params = {.kind = ACUI_ARANGE, .start = start, .step = step}};
    if (!is_real(dtype)) {
        s.params.first = (int64_t)start;
        s.params.stride = (int64_t)step;
        s.shape = ACU_SHAPE(count_whole(s.params.first, (int64_t)end, s.params.stride));
    }
    return make(&s, site);
}

/* The step of linspace; unused for two elements, which are the ends. The ends may be so far apart
 * that their difference overflows. */
static double step_of(double start, double end, int64_t count)
{
    double steps = (double)(count - 1), whole = end - start;
    return count <= 2 ? 0 : isfinite(whole) ? whole / steps : end / steps - start / steps;
}

acu_op *acu_op_linspace(acu_dtype dtype, double start, double end, int64_t count, acu_site site)
{
    if (count < 0)
        return acu_op_fail(ACU_ERR_SHAPE, "linspace", site, "linspace of %lld elements",
                           (long long)count);
    if (!is_real(dtype))
        return acu_op_fail(ACU_ERR_DTYPE, "linspace", site, "linspace of %s: floating point is "
                           "needed", acu_dtype_name(dtype));
    if (!isfinite(start) || !isfinite(end))
        return acu_op_fail(ACU_ERR_INVALID, "linspace", site, "linspace from %g to %g: both must "
                           "be finite", start, end);
    sequence s = {.name = "linspace",
                  .dtype = dtype,
                  .shape = ACU_SHAPE(count),
                  .params = {.kind = ACUI_LINSPACE,
                             .start = start,
                             .step = step_of(start, end, count),
                             .end = count > 1 ? end : start}};
    return make(&s, site);
}

acu_op *acu_op_eye(acu_dtype dtype, int64_t rows, int64_t columns, int64_t diagonal, acu_site site)
{
    if (rows < 0 || columns < 0)
        return acu_op_fail(ACU_ERR_SHAPE, "eye", site, "eye of %lld rows and %lld columns",
                           (long long)rows, (long long)columns);
    sequence s = {.name = "eye",
                  .dtype = dtype,
                  .shape = ACU_SHAPE(rows, columns),
                  .params = {.kind = ACUI_EYE, .first = diagonal, .columns = columns}};
    return make(&s, site);
}
