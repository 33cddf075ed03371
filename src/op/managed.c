/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Managed memory as ops: prefetch and advise, which say where its pages are to be. Both are foreign
 * calls of acuda's own (call.h), ordered behind what writes the tensor like anything that reads it.
 */
#include <acuda/debug.h>
#include <acuda/managed.h>

#include "base/alloc.h"
#include "base/error.h"
#include "op/arg.h"
#include "op/call.h"

typedef struct wish {
    acu_device *device; /* retained; NULL: the host */
    unsigned advice;
} wish;

static acu_status plan_managed(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    size_t base = values->count;
    acui_args_count counts;
    char words[96];
    ACUI_TRY(acui_plan_args(plan, op, fallback, values, &counts));
    const acu_tensor *x = values->list[base].tensor;
    if (!x || x->buffer->kind != ACU_MEMORY_MANAGED)
        return acui_fail(ACU_ERR_INVALID, "%s wants managed memory, not %s", acui_op_name(op),
                         x ? acui_tensor_words(x, words) : acui_val_words(&values->list[base]));
    return acui_plan_foreign(plan, op, x->buffer->device, values->list + base);
}

const acui_op_class acui_class_PREFETCH = {
    .name = "prefetch", .plan = plan_managed, .destroy = acui_args_release};
const acui_op_class acui_class_ADVISE = {
    .name = "advise", .plan = plan_managed, .destroy = acui_args_release};

static CUdevice home_of(const wish *w)
{
    return w->device ? w->device->raw : ACU_CU_DEVICE_CPU;
}

static acu_status prefetch(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)count;
    const acu_tensor *x = values[0].tensor;
    return ACUI_DEV(x->buffer->device, MemPrefetchAsync, acu_tensor_address(x), (size_t)x->span,
                    home_of(user), stream);
}

static acu_status advise(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)count;
    const acu_tensor *x = values[0].tensor;
    const wish *w = user;
    return ACUI_DEV(x->buffer->device, MemAdvise, acu_tensor_address(x), (size_t)x->span, w->advice,
                    home_of(w));
}

static void drop_wish(void *user)
{
    wish *w = user;
    acu_device_release(w->device);
    acui_free(w);
}

static acu_op *make(const acui_op_class *class, acu_op *x, acu_foreign_fn fn, acu_device *device,
                    unsigned advice, acu_site site)
{
    if (device && acui_object_check(device, ACU_OBJECT_DEVICE, class->name) != ACU_OK) {
        acu_op_release(x);
        return acui_op_failed(class, site);
    }
    acu_arg arg = acu_in(x);
    acu_op *op = acui_op_with_args(class, &arg, 1, site);
    if (op->class != class || acui_op_is_oom(op))
        return op;
    wish *w = ACUI_NEW(wish);
    if (!w)
        return acui_op_abandon(op);
    *w = (wish){.device = acu_device_retain(device), .advice = advice};
    acui_op_set_user(op, (acu_user){w, drop_wish});
    op->u.call.foreign = fn;
    return op;
}

acu_op *acu_op_prefetch(acu_op *x, acu_device *device, acu_site site)
{
    return make(&acui_class_PREFETCH, x, prefetch, device, 0, site);
}

acu_op *acu_op_advise(acu_op *x, acu_advice advice, bool not_any_more, acu_device *device,
                      acu_site site)
{
    static const unsigned codes[][2] = {
        [ACU_ADVICE_READ_MOSTLY] = {ACU_CU_MEM_ADVISE_SET_READ_MOSTLY,
                                    ACU_CU_MEM_ADVISE_UNSET_READ_MOSTLY},
        [ACU_ADVICE_PREFERRED_HOME] = {ACU_CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                       ACU_CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION},
        [ACU_ADVICE_ACCESSED_BY] = {ACU_CU_MEM_ADVISE_SET_ACCESSED_BY,
                                    ACU_CU_MEM_ADVISE_UNSET_ACCESSED_BY}};
    if ((unsigned)advice >= sizeof codes / sizeof *codes) {
        acui_fail(ACU_ERR_INVALID, "%d is no advice", (int)advice);
        acu_op_release(x);
        return acui_op_failed(&acui_class_ADVISE, site);
    }
    return make(&acui_class_ADVISE, x, advise, device, codes[advice][not_any_more], site);
}
