/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies to and from bare pointers (acu_read_sync, acu_write_sync), which wait: through pinned
 * memory, so that no lock is held while the driver waits.
 */
#include "base/callback.h"
#include "base/error.h"
#include "engine/completion/complete.h"
#include "engine/host/host.h"
#include "engine/submit/submit.h"

static acu_status check_host_copy(acu_tensor *tensor, const void *memory, size_t bytes,
                                  const char *function)
{
    char words[96];
    ACUI_TRY(acui_object_check(tensor, ACU_OBJECT_TENSOR, function));
    ACUI_TRY(acui_refuse_wait(function));
    acui_tensor_words(tensor, words);
    if (!memory && bytes)
        return acui_fail(ACU_ERR_INVALID, "%s: the host memory is NULL", function);
    if (bytes != acu_tensor_bytes(tensor))
        return acui_fail(ACU_ERR_SHAPE, "%s: %zu bytes of host memory for %s, which has %zu",
                         function, bytes, words, acu_tensor_bytes(tensor));
    return ACU_OK;
}

static const acu_site here = {.file = NULL, .line = 0};

/* From the tensor's host memory to other memory, or back. A reset takes pinned memory along, so the
 * device is held meanwhile. */
typedef struct host_copy {
    acu_tensor *tensor;
    void *to;
    const void *from; /* of `to` and `from`, one is NULL: the tensor */
} host_copy;

static acu_status copy_host(void *data)
{
    const host_copy *copy = data;
    acu_device *device = copy->tensor->buffer->device;
    struct acui_holder *holder;
    if (!acui_hold(device, &holder))
        return acui_device_check(device);
    char *host = acu_tensor_host(copy->tensor);
    acui_layout layout =
        copy->to ? acui_layout_to_dense(copy->tensor) : acui_layout_from_dense(copy->tensor);
    if (host)
        acui_layout_copy(&layout, copy->to ? copy->to : host, copy->from ? copy->from : host, 0,
                         layout.bytes, false);
    acui_unhold(holder);
    return host ? ACU_OK : acui_fail(ACU_ERR_STALE, "the tensor's memory went with a reset");
}

/* A copy of a tensor in host memory, in its turn among other work, so that nothing else touches the
 * tensor; done by this thread, since it may take long. */
static acu_status copy_in_turn(host_copy copy)
{
    acu_arg arg = acu_arg_tensor(copy.tensor, copy.to ? ACU_READ : ACU_WRITE);
    acui_own_work own = {.run = copy_host, .data = &copy};
    acu_op *op = acu_op_host(acui_own_work_run, (acu_user){.data = &own}, &arg, 1, here);
    const char *function = copy.to ? "acu_read_sync" : "acu_write_sync";
    acu_status status = acui_sync_own(acu_op_named(op, function), &own, function);
    if (status == ACU_ERR_CALLBACK) /* the copy fails only as the device does */
        ACUI_TRY(acui_device_check(copy.tensor->buffer->device));
    return status;
}

acu_status acu_read_sync(const acu_tensor *from_tensor, void *memory, size_t bytes)
{
    acu_tensor *tensor = (acu_tensor *)(uintptr_t)from_tensor; /* it is retained meanwhile */
    ACUI_TRY(check_host_copy(tensor, memory, bytes, __func__));
    acu_tensor *staged = NULL;
    if (tensor->buffer->host)
        return copy_in_turn((host_copy){.tensor = tensor, .to = memory});
    ACUI_TRY(acu_tensor_alloc_pinned(tensor->buffer->device, tensor->dtype, tensor->shape,
                                     &staged));
    acu_op *to = acu_op_value(staged, here), *from = acu_op_value(tensor, here);
    acu_op *copy = acu_op_named(acu_op_copy(to, from, here), __func__);
    acu_status status = acu_sync(NULL, copy, NULL);
    if (status == ACU_OK)
        status = copy_host(&(host_copy){.tensor = staged, .to = memory});
    acu_tensor_release(staged);
    return status;
}

acu_status acu_write_sync(acu_tensor *tensor, const void *memory, size_t bytes)
{
    ACUI_TRY(check_host_copy(tensor, memory, bytes, __func__));
    if (tensor->buffer->host)
        return copy_in_turn((host_copy){.tensor = tensor, .from = memory});
    acu_tensor *staged;
    ACUI_TRY(acu_tensor_alloc_pinned(tensor->buffer->device, tensor->dtype, tensor->shape,
                                     &staged));
    acu_status status = copy_host(&(host_copy){.tensor = staged, .from = memory});
    if (status != ACU_OK) {
        acu_tensor_release(staged);
        return status;
    }
    acu_op *to = acu_op_value(tensor, here);
    acu_op *copy = acu_op_copy(to, acu_op_give(staged, here), here);
    return acu_sync(NULL, acu_op_named(copy, __func__), NULL);
}
