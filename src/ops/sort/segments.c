/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sorting segments of any lengths: all elements are sorted, and then, since sorting is stable, by
 * the segment that they came from. */
#include "ops/ops.h"

#include <acuda/index.h>
#include <acuda/sort.h>

typedef struct request {
    acu_sort_order order;
    bool places;
} request;

static const char *name_of(const request *r)
{
    return r->places ? "argsort_segments" : "sort_segments";
}

static acu_op *refuse(acu_planning *p, const request *r, acu_status status, const char *why)
{
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    return acu_op_fail(status, name_of(r), p->site, "%s of %s by %s: %s", name_of(r),
                       acui_value_words(&p->values[0], a), acui_value_words(&p->values[1], b), why);
}

static acu_op *plan_segments(acu_planning *p)
{
    const request *r = p->data;
    acu_op *failed = NULL;
    const acu_tensor *offsets = NULL, *x = acui_number_operand(p, name_of(r), 0, &failed);
    if (x)
        offsets = acui_tensor_operand(p, name_of(r), 1, &failed);
    if (!offsets)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(offsets);
    if (dtype != ACU_I32 && dtype != ACU_I64)
        return refuse(p, r, ACU_ERR_DTYPE, "offsets are i32 or i64");
    if (acu_tensor_shape(x).rank != 1 || acu_tensor_shape(offsets).rank != 1)
        return refuse(p, r, ACU_ERR_SHAPE, "both have one dimension");
    const double count = (double)acu_tensor_elements(x);
    acu_op *own = acu_op_take(&p->values[0], p->site), *to = acu_op_take(&p->values[1], p->site);
    acu_op *sorted = acu_op_argsort(acu_op_retain(own), 0, r->order, p->site);
    /* The number of offsets up to a place says which segment it is in. */
    acu_op *all = acu_op_arange(dtype, 0, count, 1, p->site);
    acu_op *segment = acu_op_searchsorted(to, all, true, p->site);
    segment = acu_op_gather(segment, 0, acu_op_retain(sorted), p->site);
    acu_op *by = acu_op_argsort(segment, 0, ACU_ASCENDING, p->site);
    acu_op *places = acu_op_gather(sorted, 0, by, p->site);
    if (!r->places)
        return acui_into(p, acu_op_gather(own, 0, places, p->site));
    acu_op_release(own);
    return acui_into(p, places);
}

static acu_op *make(acu_op *x, acu_op *offsets, const request *r, acu_site site)
{
    acu_custom custom = {.name = name_of(r), .fn = plan_segments, .data = r, .bytes = sizeof *r};
    return acu_op_custom(custom, (acu_op *const[]){x, offsets}, 2, site);
}

acu_op *acu_op_sort_segments(acu_op *x, acu_op *offsets, acu_sort_order order, acu_site site)
{
    return make(x, offsets, &(request){order, false}, site);
}

acu_op *acu_op_argsort_segments(acu_op *x, acu_op *offsets, acu_sort_order order, acu_site site)
{
    return make(x, offsets, &(request){order, true}, site);
}
