/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The elements of one tensor, several times or in another order: tile, repeat, roll, flip; and
 * triangles of matrices. */
#include "ops/arrange/move.h"

#include <inttypes.h>

enum what { TILE, REPEAT, ROLL, FLIP, TRIL, TRIU };
static const char *const names[] = {"tile", "repeat", "roll", "flip", "tril", "triu"};

typedef struct request {
    enum what what;
    int dimension;
    int64_t number; /* times, shift or diagonal */
    acu_shape times;
    acu_dims dims;
} request;

typedef struct plan {
    acu_planning *p;
    const request *r;
    const char *name;
    const acu_tensor *x;
    acu_shape shape; /* of the result */
    acui_box box;
    acui_arranging arranging;
} plan;

/* n times `by`, or a number that no shape has. */
static int64_t times(int64_t n, int64_t by)
{
    return n && by > INT64_MAX / n ? INT64_MAX : n * by;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static acu_op *refuse_times(const plan *m, int64_t n, int d)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(ACU_ERR_SHAPE, m->name, m->p->site,
                       "%s of %s, %" PRId64 " times along dimension %d", m->name,
                       acui_value_words(&m->p->values[0], words), n, d);
}

static acu_op *shape_tile(plan *m)
{
    acu_shape by = m->r->times;
    if (by.rank < 0 || by.rank > ACU_MAX_RANK)
        return acu_op_fail(ACU_ERR_SHAPE, m->name, m->p->site,
                           "tile by %d numbers: it takes at most %d", by.rank, ACU_MAX_RANK);
    int more = by.rank - m->shape.rank;
    for (int d = m->shape.rank - 1; d >= 0 && more > 0; d--)
        m->shape.dim[d + more] = m->shape.dim[d];
    for (int d = 0; d < more; d++)
        m->shape.dim[d] = 1;
    m->shape.rank += more > 0 ? more : 0;
    for (int d = 0; d < by.rank; d++) {
        int at = d + m->shape.rank - by.rank;
        if (by.dim[d] < 0)
            return refuse_times(m, by.dim[d], d);
        m->shape.dim[at] = times(m->shape.dim[at], by.dim[d]);
    }
    return NULL;
}

static acu_op *shape_of(plan *m, int *dimension)
{
    char words[ACUI_OPS_WORDS];
    if (m->r->what == TILE)
        return shape_tile(m);
    if (m->r->what == REPEAT || m->r->what == ROLL) {
        *dimension = acui_dimension(m->r->dimension, m->shape.rank);
        if (*dimension < 0)
            return acui_no_dimension(m->p, m->name, m->r->dimension);
    }
    if (m->r->what == REPEAT) {
        if (m->r->number < 0)
            return refuse_times(m, m->r->number, m->r->dimension);
        m->shape.dim[*dimension] = times(m->shape.dim[*dimension], m->r->number);
    }
    if (m->r->what < TRIL)
        return NULL;
    if (m->shape.rank < 2)
        return acu_op_fail(ACU_ERR_SHAPE, m->name, m->p->site, "%s takes matrices, not %s", m->name,
                           acui_value_words(&m->p->values[0], words));
    if (acu_tensor_dtype(m->x) == ACU_F8E8M0FNU)
        return acu_op_fail(ACU_ERR_DTYPE, m->name, m->p->site, "%s of %s, which has no zero",
                           m->name, acui_value_words(&m->p->values[0], words));
    return NULL;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void wrap(acui_axis *axis, int64_t offset)
{
    if (axis->source == 1) {
        axis->from = 0;
    } else if (axis->extent != axis->source || offset) {
        axis->mode = ACUI_MOVE_WRAP;
        axis->offset = offset;
    }
}

static acu_op *reverse(plan *m)
{
    const acu_dims *dims = &m->r->dims;
    bool turned[ACU_MAX_RANK] = {false};
    for (int i = 0; i < (dims->count ? dims->count : m->shape.rank) && i < ACU_MAX_RANK; i++) {
        int d = dims->count ? acui_dimension(dims->dim[i], m->shape.rank) : i;
        if (d < 0)
            return acui_no_dimension(m->p, m->name, dims->dim[i]);
        if (turned[d])
            return acu_op_fail(ACU_ERR_SHAPE, m->name, m->p->site,
                               "flip along dimension %d: named "
                               "twice",
                               dims->dim[i]);
        turned[d] = true;
        acui_axis *axis = &m->box.axis[d];
        m->box.from_base += (axis->extent - 1) * axis->from;
        axis->from = -axis->from;
    }
    return NULL;
}

static acu_op *place(plan *m, int dimension)
{
    acui_axis *axis = &m->box.axis[dimension];
    int64_t n = axis->source;
    switch (m->r->what) {
    case TILE:
        for (int d = 0; d < m->shape.rank; d++)
            wrap(&m->box.axis[d], 0);
        return NULL;
    case REPEAT:
        if (n == 1)
            axis->from = 0;
        else if (m->r->number > 1)
            axis->mode = ACUI_MOVE_DIVIDE;
        axis->source = m->r->number;
        return NULL;
    case ROLL:
        wrap(axis, -((m->r->number % n + n) % n));
        return NULL;
    case FLIP:
        return reverse(m);
    default:
        m->arranging.triangle = m->r->what == TRIL ? ACUI_LOWER : ACUI_UPPER;
        m->arranging.diagonal = m->r->number;
        return NULL;
    }
}

static acu_op *plan_one(acu_planning *p)
{
    const request *r = p->data;
    plan m = {.p = p, .r = r, .name = names[r->what]};
    acu_op *failed = NULL;
    int dimension = 0;
    m.x = acui_tensor_operand(p, m.name, 0, &failed);
    if (!m.x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(m.x);
    m.shape = acu_tensor_shape(m.x);
    m.arranging.name = m.name;
    m.arranging.element = acu_dtype_bytes(dtype);
    failed = shape_of(&m, &dimension);
    if (failed)
        return failed;
    if (acu_shape_elements(m.shape) <= 0)
        return acui_result(p, m.name, dtype, m.shape); /* which says if there are too many */
    acui_box_init(&m.box, p->out.tensor, dtype, m.shape, m.x);
    failed = place(&m, dimension);
    if (failed)
        return failed;
    acu_op *out = r->what < TRIL ? acui_result_apart(p, m.name, dtype, m.shape)
                                 : acui_result(p, m.name, dtype, m.shape);
    return acu_op_status(out, NULL) == ACU_OK ? acui_arrange(p, &m.arranging, out, &m.box, 0, 1)
                                              : out;
}

static acu_op *make(acu_op *x, const request *r, acu_site site)
{
    acu_custom custom = {.name = names[r->what], .fn = plan_one, .data = r, .bytes = sizeof *r};
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_tile(acu_op *x, acu_shape by, acu_site site)
{
    return make(x, &(request){.what = TILE, .times = by}, site);
}

acu_op *acu_op_repeat(acu_op *x, int dimension, int64_t number, acu_site site)
{
    return make(x, &(request){.what = REPEAT, .dimension = dimension, .number = number}, site);
}

acu_op *acu_op_roll(acu_op *x, int dimension, int64_t shift, acu_site site)
{
    return make(x, &(request){.what = ROLL, .dimension = dimension, .number = shift}, site);
}

acu_op *acu_op_flip(acu_op *x, acu_dims dims, acu_site site)
{
    return make(x, &(request){.what = FLIP, .dims = dims}, site);
}

acu_op *acu_op_triangle(acu_op *x, bool upper, int64_t diagonal, acu_site site)
{
    return make(x, &(request){.what = upper ? TRIU : TRIL, .number = diagonal}, site);
}
