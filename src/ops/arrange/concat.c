/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Joining tensors, along an existing dimension or a new one; and cutting one into views. */
#include "ops/arrange/move.h"

#include <inttypes.h>

typedef struct joining {
    const char *name;
    int dimension;
    bool anew; /* along a new dimension */
} joining;

/* ---- joining --------------------------------------------------------------------------------- */

static acu_op *refuse(acu_planning *p, const joining *j, size_t i, acu_status status,
                      const char *why)
{
    char first[ACUI_OPS_WORDS], other[ACUI_OPS_WORDS];
    return acu_op_fail(status, j->name, p->site, "%s of %s and, as operand %zu, %s: %s", j->name,
                       acui_value_words(&p->values[0], first), i,
                       acui_value_words(&p->values[i], other), why);
}

/* Checks operand i beside the first one, whose shape `shape` was but for the extent of `dimension`,
 * which grows. */
static acu_op *join_one(acu_planning *p, const joining *j, size_t i, int dimension,
                        acu_shape *shape)
{
    acu_op *failed = NULL;
    const acu_tensor *x = acui_tensor_operand(p, j->name, i, &failed);
    if (!x)
        return failed;
    acu_shape own = acu_tensor_shape(x);
    if (acu_tensor_dtype(x) != acu_tensor_dtype(p->values[0].tensor))
        return refuse(p, j, i, ACU_ERR_DTYPE, "all must have one dtype");
    if (own.rank != acu_tensor_shape(p->values[0].tensor).rank)
        return refuse(p, j, i, ACU_ERR_SHAPE, "all must have as many dimensions");
    for (int d = 0; d < own.rank; d++)
        if ((j->anew || d != dimension) &&
            own.dim[d] != acu_tensor_shape(p->values[0].tensor).dim[d])
            return refuse(p, j, i, ACU_ERR_SHAPE,
                          j->anew
                              ? "all must have one shape"
                              : "they differ in another dimension than the one along which they "
                                "are joined");
    if (i == 0)
        return NULL;
    int64_t more = j->anew ? 1 : own.dim[dimension];
    if (shape->dim[dimension] > INT64_MAX - more)
        return refuse(p, j, i, ACU_ERR_SHAPE,
                      "together they have more elements than 64 bits count");
    shape->dim[dimension] += more;
    return NULL;
}

/* The first operand's shape, with the new dimension if there is one; finds the dimension. */
static acu_op *begin(acu_planning *p, const joining *j, int *dimension, acu_shape *shape)
{
    acu_op *failed = NULL;
    const acu_tensor *x = acui_tensor_operand(p, j->name, 0, &failed);
    if (!x)
        return failed;
    *shape = acu_tensor_shape(x);
    *dimension = acui_dimension(j->dimension, shape->rank + j->anew);
    if (*dimension < 0)
        return acui_no_dimension(p, j->name, j->dimension);
    if (!j->anew)
        return NULL;
    if (shape->rank == ACU_MAX_RANK)
        return refuse(p, j, 0, ACU_ERR_SHAPE, "there can be no further dimension");
    for (int d = shape->rank++; d > *dimension; d--)
        shape->dim[d] = shape->dim[d - 1];
    shape->dim[*dimension] = 1;
    return NULL;
}

/* Operand i as a box of the result, which begins at `start` along the dimension; gives its end. */
static int64_t place(acui_box *box, const acu_planning *p, const joining *j, size_t i,
                     int dimension, acu_shape shape, const acu_tensor *named, int64_t start)
{
    const acu_tensor *x = p->values[i].tensor;
    acu_shape own = acu_tensor_shape(x);
    int64_t extent = j->anew ? 1 : own.dim[dimension];
    acu_dtype dtype = acu_tensor_dtype(x);
    acui_box_init(box, named, dtype, shape, x);
    for (int d = 0; j->anew && d < shape.rank; d++) {
        int of = d < dimension ? d : d - 1;
        box->axis[d].from =
            d == dimension ? 0 : acu_tensor_strides(x)[of] * (int64_t)acu_dtype_bytes(dtype);
    }
    box->axis[dimension].extent = extent;
    box->to_base = start * box->axis[dimension].to;
    return start + extent;
}

static acu_op *plan_joining(acu_planning *p)
{
    const joining *j = p->data;
    acu_shape shape;
    int dimension = 0;
    acu_op *failed = begin(p, j, &dimension, &shape);
    for (size_t i = 0; i < p->count && !failed; i++)
        failed = join_one(p, j, i, dimension, &shape);
    if (failed)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(p->values[0].tensor);
    acui_arranging a = {.name = j->name, .element = acu_dtype_bytes(dtype)};
    acui_box boxes[ACUI_MOVES];
    int64_t start = 0;
    const acu_tensor *named = p->out.tensor;
    acu_op *out = acui_result_apart(p, j->name, dtype, shape);
    for (size_t first = 0; first < p->count && acu_op_status(out, NULL) == ACU_OK;) {
        size_t count = p->count - first < ACUI_MOVES ? p->count - first : ACUI_MOVES;
        for (size_t i = 0; i < count; i++)
            start = place(&boxes[i], p, j, first + i, dimension, shape, named, start);
        out = acui_arrange(p, &a, out, boxes, first, count);
        first += count;
    }
    return out;
}

static acu_op *join(const joining *j, acu_op *const *parts, size_t count, acu_site site)
{
    acu_custom custom = {.name = j->name, .fn = plan_joining, .data = j, .bytes = sizeof *j};
    if (count == 0)
        return acu_op_fail(ACU_ERR_ARGUMENTS, j->name, site,
                           "%s of no tensors: it takes one or more", j->name);
    return acu_op_custom(custom, parts, count, site);
}

acu_op *acu_op_concat(int dimension, acu_op *const *parts, size_t count, acu_site site)
{
    return join(&(joining){"concat", dimension, false}, parts, count, site);
}

acu_op *acu_op_stack(int dimension, acu_op *const *parts, size_t count, acu_site site)
{
    return join(&(joining){"stack", dimension, true}, parts, count, site);
}

/* ---- cutting --------------------------------------------------------------------------------- */

typedef struct cutting {
    int dimension;
    bool equal;
    int64_t start, size, total; /* of this part; or, if all are equal, number, 1 and their number */
} cutting;

static acu_op *plan_part(acu_planning *p)
{
    cutting c = *(const cutting *)p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_tensor_operand(p, "split", 0, &failed);
    if (!x)
        return failed;
    acu_shape start = {.rank = acu_tensor_shape(x).rank}, end = acu_tensor_shape(x);
    int d = acui_dimension(c.dimension, end.rank);
    if (d < 0)
        return acui_no_dimension(p, "split", c.dimension);
    int64_t extent = end.dim[d], each = c.equal ? extent / c.total : 1;
    if (each * c.total != extent)
        return acu_op_fail(ACU_ERR_SHAPE, "split", p->site,
                           c.equal ? "split of dimension %d of %s into %" PRId64
                                     " equal parts: the extent is no multiple of that"
                                   : "split of dimension %d of %s: the sizes add up to %" PRId64,
                           c.dimension, acui_value_words(&p->values[0], words), c.total);
    start.dim[d] = c.start * each;
    end.dim[d] = (c.start + c.size) * each;
    return acu_op_slice(acu_op_take(&p->values[0], p->site), start, end, ACU_NO_STEP, p->site);
}

static acu_op *part(acu_op *x, const cutting *c, acu_site site)
{
    acu_custom custom = {.name = "split", .fn = plan_part, .data = c, .bytes = sizeof *c};
    if (c->total < 0) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_SHAPE, "split", site,
                           "split: sizes are 0 or more, and add up to "
                           "an extent");
    }
    return acu_op_custom(custom, &x, 1, site);
}

/* -1: some are negative, or they are too large. */
static int64_t total_of(const int64_t *sizes, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] < 0 || sizes[i] > INT64_MAX - total)
            return -1;
        total += sizes[i];
    }
    return total;
}

void acu_op_split(acu_op *x, int dimension, const int64_t *sizes, acu_op **parts, size_t count,
                  acu_site site)
{
    cutting c = {.dimension = dimension, .equal = !sizes};
    c.total = sizes ? total_of(sizes, count) : (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        c.size = sizes ? sizes[i] : 1;
        parts[i] = part(acu_op_retain(x), &c, site);
        c.start += c.size;
    }
    acu_op_release(x);
}
