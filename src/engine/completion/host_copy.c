/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies to and from bare pointers, which wait: through pinned memory, so that no lock is held
 * while the driver waits.
 */
#include "base/callback.h"
#include "base/error.h"
#include "engine/engine.h"

static acu_status check_host_copy(acu_tensor *tensor, const void *memory, size_t bytes,
                                  const char *function)
{
    char words[96];
    ACUI_TRY(acui_object_check(tensor, ACU_OBJECT_TENSOR, function));
    ACUI_TRY(acui_refuse_wait(function));
    acui_tensor_words(tensor, words);
    if (!memory)
        return acui_fail(ACU_ERR_INVALID, "%s: the host memory is NULL", function);
    if (bytes != acu_tensor_bytes(tensor))
        return acui_fail(ACU_ERR_SHAPE, "%s: %zu bytes of host memory for %s, which has %zu",
                         function, bytes, words, acu_tensor_bytes(tensor));
    return ACU_OK;
}

static const acu_site here = {.file = NULL, .line = 0};

static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* Wait for one's turn on a tensor in host memory, where the copy itself is a memcpy. */
static acu_status wait_turn(acu_tensor *tensor, acu_access access)
{
    acu_arg arg = acu_arg_tensor(tensor, access);
    return acu_sync(NULL, acu_op_host(do_nothing, (acu_user){.data = NULL}, &arg, 1, here), NULL);
}

/* Copy from the tensor's host memory, or into it; a reset takes pinned memory
 * along, so not meanwhile. */
static acu_status copy_host(acu_tensor *tensor, void *to, const void *from)
{
    acu_device *device = tensor->buffer->device;
    struct acui_holder *holder = NULL;
    if (device && !acui_hold(device, &holder))
        return acui_device_check(device);
    char *host = acu_tensor_host(tensor);
    acui_layout layout = to ? acui_layout_to_dense(tensor) : acui_layout_from_dense(tensor);
    if (host)
        acui_layout_copy(&layout, to ? to : host, from ? from : host, 0, layout.bytes, false);
    acui_unhold(holder);
    return host ? ACU_OK : acui_fail(ACU_ERR_STALE, "the tensor's memory went with a reset");
}

acu_status acu_read_sync(acu_tensor *tensor, void *memory, size_t bytes)
{
    ACUI_TRY(check_host_copy(tensor, memory, bytes, __func__));
    acu_tensor *staged = NULL;
    if (tensor->buffer->host) {
        ACUI_TRY(wait_turn(tensor, ACU_READ));
        return copy_host(tensor, memory, NULL);
    }
    ACUI_TRY(acu_tensor_alloc_pinned(tensor->buffer->device, tensor->dtype, tensor->shape,
                                     &staged));
    acu_op *to = acui_operand_tensor(staged, here), *from = acui_operand_tensor(tensor, here);
    acu_status status = acu_sync(NULL, acu_op_copy(to, from, here), NULL);
    if (status == ACU_OK)
        status = copy_host(staged, memory, NULL);
    acu_tensor_release(staged);
    return status;
}

acu_status acu_write_sync(acu_tensor *tensor, const void *memory, size_t bytes)
{
    ACUI_TRY(check_host_copy(tensor, memory, bytes, __func__));
    if (tensor->buffer->host) {
        ACUI_TRY(wait_turn(tensor, ACU_WRITE));
        return copy_host(tensor, NULL, memory);
    }
    acu_tensor *staged;
    ACUI_TRY(acu_tensor_alloc_pinned(tensor->buffer->device, tensor->dtype, tensor->shape,
                                     &staged));
    acu_status status = copy_host(staged, NULL, memory);
    if (status != ACU_OK) {
        acu_tensor_release(staged);
        return status;
    }
    acu_op *to = acui_operand_tensor(tensor, here);
    return acu_sync(NULL, acu_op_copy(to, acu_op_give(staged, here), here), NULL);
}
