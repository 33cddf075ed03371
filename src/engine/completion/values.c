/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What futures yield: tensors and scalars, which are known once the submission is planned. */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/nap.h"
#include "engine/completion/complete.h"
#include "engine/future.h"
#include "engine/order/order.h"
#include "engine/upward.h"

acu_status acui_results_make(acui_values *values, acui_results *results)
{
    size_t count = values->count;
    if (count > ACUI_FEW_RESULTS) {
        acui_result *list = acui_alloc_raw(count * (sizeof *list + 1));
        if (!list)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the values of a submission");
        results->u.more.list = list;
        results->u.more.kinds = (uint8_t *)(list + count);
    }
    results->count = count;
    acui_result *list = acui_results_list(results);
    uint8_t *kinds = acui_results_kinds(results);
    for (size_t i = 0; i < count; i++) {
        const acu_val *value = &values->list[i];
        if (value->kind == ACU_SCALAR) {
            kinds[i] = (uint8_t)(ACUI_RESULT_SCALAR + (unsigned)value->dtype);
            list[i].bits = value->bits;
        } else {
            kinds[i] = value->tensor ? ACUI_RESULT_TENSOR : ACUI_RESULT_NONE;
            list[i].tensor = value->tensor; /* the reference moves on */
        }
    }
    values->count = 0;
    return ACU_OK;
}

void acui_results_clear(acui_results *results)
{
    acui_result *list = acui_results_list(results);
    const uint8_t *kinds = acui_results_kinds(results);
    for (size_t i = 0; i < results->count; i++)
        if (kinds[i] == ACUI_RESULT_TENSOR)
            acu_tensor_release(list[i].tensor);
    if (results->count > ACUI_FEW_RESULTS)
        acui_free(list);
    results->count = 0;
}

void acui_future_give_results(acu_future *future, acui_results *results)
{
    if (future->how.early)
        acui_lock_take(&future->lock);
    bool dropped = future->dropped;
    if (!dropped) {
        future->results = *results;
        future->origin_is = ACUI_ORIGIN_OVER;
    }
    if (future->how.early)
        acui_lock_give(&future->lock);
    if (dropped)
        acui_results_clear(results);
    acui_submission_started(future->submission, future);
}

void acui_future_give_module(acu_future *future, acu_module *module)
{
    acui_lock_take(&future->lock);
    bool dropped = future->dropped;
    if (!dropped)
        future->module = module;
    acui_lock_give(&future->lock);
    if (dropped)
        acu_module_release(module);
}

/* ---- asking ---- */

/* Another thread starts a future that was scheduled, and is planning it: wait for that. */
static acu_status await_start(const acu_future *future)
{
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while (future->scheduled.stream && acui_future_state_of(future) == ACUI_FUTURE_STARTING) {
        ACUI_TRY(
            acui_refuse_wait("Asking for a value of a submission that another thread is starting"));
        acui_nap_again(&nap);
    }
    return ACU_OK;
}

/* Start it, and wait until it is planned: then its values are known. */
static acu_status know_values(acu_future *future)
{
    ACUI_TRY(acui_future_begin(future));
    return atomic_load_explicit(&future->handed.runtime, memory_order_acquire)
               ? acui_runtime_planned(future)
               : await_start(future);
}

acu_status acu_future_planned(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    ACUI_TRY(acui_future_begin(future));
    return acui_future_state_of(future) >= ACUI_FUTURE_RUNNING ? ACU_OK : ACU_NOT_READY;
}

size_t acu_future_values(acu_future *future)
{
    if (!acui_object_is(future, ACU_OBJECT_FUTURE))
        return 0;
    if (know_values(future) != ACU_OK)
        return 0;
    acui_lock_take(&future->lock);
    size_t n = future->results.count;
    acui_lock_give(&future->lock);
    return n;
}

/* The kind of the value, with future->lock held; NULL (record set) where there is none. */
static uint8_t *kind_at(acu_future *future, size_t index)
{
    size_t count = future->results.count;
    uint8_t *kinds = acui_results_kinds(&future->results);
    if (index < count && kinds[index] >= ACUI_RESULT_TENSOR)
        return &kinds[index];
    if (index < count)
        acui_fail(ACU_ERR_NOT_FOUND,
                  kinds[index] == ACUI_RESULT_TAKEN
                      ? "value %zu of the submission was taken before"
                      : "value %zu of the submission is neither a tensor nor a "
                        "scalar: it stands for a struct or a list",
                  index);
    else if (count == 0 && acui_future_state_of(future) == ACUI_FUTURE_DONE && future->fault)
        acui_error_restore(&future->fault->error); /* it may have failed when it was planned */
    else
        acui_fail(ACU_ERR_NOT_FOUND,
                  "there is no value %zu: the submission yields %zu, counted from 0", index, count);
    return NULL;
}

acu_tensor *acu_future_tensor(acu_future *future, size_t index)
{
    if (acui_object_check(future, ACU_OBJECT_FUTURE, __func__) != ACU_OK ||
        know_values(future) != ACU_OK)
        return NULL;
    acui_lock_take(&future->lock);
    const uint8_t *kind = kind_at(future, index);
    acu_tensor *tensor = kind && *kind == ACUI_RESULT_TENSOR
                             ? acui_results_list(&future->results)[index].tensor
                             : NULL;
    acui_lock_give(&future->lock);
    return tensor;
}

acu_status acu_future_take(acu_future *future, size_t index, acu_tensor **tensor)
{
    ACUI_CHECK(future, FUTURE);
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_future_take: nowhere to put the tensor");
    ACUI_TRY(know_values(future));
    acu_status status = ACU_OK;
    acui_lock_take(&future->lock);
    uint8_t *kind = kind_at(future, index);
    if (!kind) {
        status = acui_error()->status;
    } else if (*kind != ACUI_RESULT_TENSOR) {
        status = acui_fail(ACU_ERR_INVALID, "value %zu is a scalar, not a tensor", index);
    } else {
        *tensor = acui_results_list(&future->results)[index].tensor;
        *kind = ACUI_RESULT_TAKEN;
    }
    acui_lock_give(&future->lock);
    return status;
}

acu_status acu_future_scalar(acu_future *future, size_t index, acu_dtype *dtype, uint64_t *bits)
{
    ACUI_CHECK(future, FUTURE);
    if (!dtype || !bits)
        return acui_fail(ACU_ERR_INVALID, "acu_future_scalar: nowhere to put the scalar");
    ACUI_TRY(know_values(future));
    acu_status status = ACU_OK;
    acui_lock_take(&future->lock);
    const uint8_t *kind = kind_at(future, index);
    if (!kind) {
        status = acui_error()->status;
    } else if (*kind < ACUI_RESULT_SCALAR) {
        status = acui_fail(ACU_ERR_INVALID, "value %zu is a tensor, not a scalar", index);
    } else if (*kind - ACUI_RESULT_SCALAR == ACU_C128) {
        status = acui_fail(ACU_ERR_NOT_SUPPORTED, "value %zu is a scalar of c128, which does not "
                           "fit into 64 bits: a tensor of one element does it", index);
    } else {
        *dtype = (acu_dtype)(*kind - ACUI_RESULT_SCALAR);
        *bits = acui_results_list(&future->results)[index].bits;
    }
    acui_lock_give(&future->lock);
    return status;
}
