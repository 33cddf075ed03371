/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Submitting and waiting in one call. */
#include "base/callback.h"
#include "base/error.h"
#include "base/options.h"
#include "engine/completion/complete.h"
#include "engine/host/host.h"
#include "engine/submit/submit.h"

#include <acuda/explain.h>

/* The first value, if it is a tensor; NULL: it is none, or there is no value. */
static acu_tensor *take_first(acu_future *future)
{
    acui_results *results = &future->results; /* this thread's alone */
    if (results->count == 0 || acui_results_kinds(results)[0] != ACUI_RESULT_TENSOR)
        return NULL;
    acui_results_kinds(results)[0] = ACUI_RESULT_NONE;
    return acui_results_list(results)[0].tensor;
}

static acu_status sync_with(acu_device *device, acu_op *op, const acu_submit_options *options,
                            acu_tensor **tensor, acu_times *times, const char *function)
{
    acu_status status = acui_refuse_wait(function);
    if (status != ACU_OK) {
        acu_op_release(op);
        return status;
    }
    acu_future *future;
    ACUI_TRY(acui_submit_public(device, op, options, ACUI_WAITED | (tensor ? 0 : ACUI_UNWANTED),
                                function, &future));
    status = acui_wait_blocking(future, NULL);
    if (status == ACU_OK && times)
        status = acu_future_times(future, times);
    if (status == ACU_OK && tensor)
        *tensor = take_first(future);
    acu_future_release(future);
    return status;
}

acu_status acu_sync_timed(acu_device *device, acu_op *op, acu_tensor **tensor, acu_times *times)
{
    acu_status status = acui_struct_check(times, __func__);
    if (status != ACU_OK) {
        acu_op_release(op);
        return status;
    }
    acu_submit_options options = {.size = sizeof options, .explain = true};
    return sync_with(device, op, &options, tensor, times, __func__);
}

acu_status acu_sync(acu_device *device, acu_op *op, acu_tensor **tensor)
{
    return sync_with(device, op, NULL, tensor, NULL, __func__);
}

acu_status acui_sync_own(acu_op *op, acui_own_work *own, const char *function)
{
    acu_future *future;
    acu_status status =
        acui_submit_public(NULL, op, NULL, ACUI_WAITED | ACUI_UNWANTED, function, &future);
    if (status == ACU_ERR_FULL)
        acu_op_release(op);
    if (status != ACU_OK)
        return status;
    status = acui_wait_blocking(future, own);
    acu_future_release(future);
    return status;
}

acu_status acu_sync_on(acu_stream *stream, acu_op *op, acu_tensor **tensor)
{
    acu_status status = acui_object_check(stream, ACU_OBJECT_STREAM, __func__);
    if (status != ACU_OK) {
        acu_op_release(op);
        return status;
    }
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    return sync_with(NULL, op, &options, tensor, NULL, __func__);
}
