/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting: who waits looks for himself, first without pause, then with naps that grow with the
 * time waited and end early when anything completes.
 */
#include "base/callback.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/done.h"
#include "engine/engine.h"
#include "engine/runtime.h"

#include <string.h>

#define SPIN ACU_US(50)
#define ASK ACU_US(20) /* between two questions to the driver, where the device writes flags */
#define NAP_LEAST ACU_US(20)
#define NAP_MOST ACU_MS(1)

acu_status acui_wait_until(acui_look_fn look, void *context, uint64_t timeout)
{
    uint64_t start = acui_now(), deadline = acui_deadline(timeout);
    for (;;) {
        uint64_t seen = acui_done_count();
        acu_status status = look(context);
        if (status != ACU_NOT_READY)
            return status;
        uint64_t now = acui_now(), waited = now - start;
        if (now >= deadline)
            return ACU_TIMEOUT;
        if (waited < SPIN)
            continue;
        uint64_t nap = waited / 8;
        nap = nap < NAP_LEAST ? NAP_LEAST : nap > NAP_MOST ? NAP_MOST : nap;
        acui_done_sleep(seen, now + nap < deadline ? now + nap : deadline);
    }
}

/* ---- one future ---- */

typedef struct single {
    acu_future *future;
    bool asked;     /* for flags: */
    bool flags;     /* the device writes them for all its streams */
    uint64_t again; /* when to ask the driver all the same: it may have bad news */
} single;

/* Let the device itself say when it is done, if the future is all about streams that can. */
static void ask_for_flags(single *s)
{
    const acui_submission *submission = s->future->submission;
    s->asked = s->flags = true;
    for (size_t i = 0; i < submission->lane_count; i++)
        s->flags &= acui_stream_prompt(submission->lanes[i].stream);
    s->flags &= submission->lane_count > 0;
}

static bool flags_passed(const acui_submission *submission)
{
    for (size_t i = 0; i < submission->lane_count; i++)
        if (acui_stream_flag_passed(submission->lanes[i].stream))
            return true;
    return false;
}

static acu_status look_one(void *context)
{
    single *s = context;
    uint64_t now = s->flags ? acui_now() : 0;
    if (s->flags && now < s->again && !flags_passed(s->future->submission))
        return atomic_load_explicit(&s->future->state, memory_order_acquire) == ACUI_FUTURE_DONE
                   ? acu_future_poll(s->future)
                   : ACU_NOT_READY;
    acu_status status = acu_future_poll(s->future);
    s->again = now + ASK;
    if (status == ACU_NOT_READY && !s->asked &&
        atomic_load_explicit(&s->future->state, memory_order_acquire) == ACUI_FUTURE_RUNNING)
        ask_for_flags(s);
    return status;
}

acu_status acu_future_wait(acu_future *future, uint64_t timeout)
{
    ACUI_CHECK(future, FUTURE);
    ACUI_TRY(acui_refuse_wait(__func__));
    single s = {.future = future};
    return acui_wait_until(look_one, &s, timeout);
}

/* ---- several ---- */

typedef struct several {
    acu_future *const *list;
    size_t count, found;
} several;

static acu_status check_several(const several *futures, const char *function)
{
    if (!futures->list || futures->count == 0)
        return acui_fail(ACU_ERR_INVALID, "%s: no futures to wait for", function);
    for (size_t i = 0; i < futures->count; i++)
        ACUI_TRY(acui_object_check(futures->list[i], ACU_OBJECT_FUTURE, function));
    return acui_refuse_wait(function);
}

static acu_status look_all(void *context)
{
    several *futures = context;
    acu_status first = ACU_OK;
    bool ready = true;
    for (size_t i = 0; i < futures->count; i++) {
        acu_status status = acu_future_poll(futures->list[i]);
        ready &= status != ACU_NOT_READY;
        if (first == ACU_OK && status < 0)
            first = status;
    }
    return ready ? first : ACU_NOT_READY;
}

acu_status acu_wait_all(acu_future *const *futures, size_t count, uint64_t timeout)
{
    several all = {.list = futures, .count = count};
    ACUI_TRY(check_several(&all, __func__));
    return acui_wait_until(look_all, &all, timeout);
}

static acu_status look_any(void *context)
{
    several *futures = context;
    for (size_t i = 0; i < futures->count; i++) {
        acu_status status = acu_future_poll(futures->list[i]);
        if (status != ACU_NOT_READY) {
            futures->found = i;
            return status;
        }
    }
    return ACU_NOT_READY;
}

acu_status acu_wait_any(acu_future *const *futures, size_t count, uint64_t timeout, size_t *index)
{
    several any = {.list = futures, .count = count, .found = count};
    ACUI_TRY(check_several(&any, __func__));
    acu_status status = acui_wait_until(look_any, &any, timeout);
    if (index && any.found < count)
        *index = any.found;
    return status;
}

static acu_status look_idle(void *context)
{
    acu_device *device = context;
    acui_look_everywhere();
    /* Acquire: what the submissions released is released. */
    return atomic_load_explicit(&device->in_flight, memory_order_acquire) ? ACU_NOT_READY : ACU_OK;
}

acu_status acui_wait_idle(acu_device *device, uint64_t timeout)
{
    uint64_t deadline = acui_deadline(timeout);
    if (acui_runtime_settle(timeout) != ACU_OK || !acui_runtime_await_jobs(deadline))
        return ACU_TIMEOUT;
    uint64_t now = acui_now();
    if (timeout != ACU_FOREVER)
        timeout = deadline > now ? deadline - now : 0;
    return acui_wait_until(look_idle, device, timeout);
}

/* ---- submit and wait ---- */

static acu_status sync_with(acu_device *device, acu_op *op, const acu_submit_options *options,
                            acu_tensor **tensor, const char *function)
{
    acu_status status = acui_refuse_wait(function);
    if (status != ACU_OK) {
        acu_op_release(op);
        return status;
    }
    acu_future *future;
    ACUI_TRY(acui_submit_public(device, op, options, !tensor, &future));
    status = acu_future_wait(future, ACU_FOREVER);
    if (status == ACU_OK && tensor)
        status = acu_future_take(future, 0, tensor);
    acu_future_release(future);
    return status;
}

acu_status acu_sync(acu_device *device, acu_op *op, acu_tensor **tensor)
{
    return sync_with(device, op, NULL, tensor, __func__);
}

acu_status acu_sync_on(acu_stream *stream, acu_op *op, acu_tensor **tensor)
{
    acu_status status = acui_object_check(stream, ACU_OBJECT_STREAM, __func__);
    if (status != ACU_OK) {
        acu_op_release(op);
        return status;
    }
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    return sync_with(NULL, op, &options, tensor, __func__);
}

/* ---- waiting copies: through pinned memory, so that no lock is held while the driver waits ---- */

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
    if (!tensor->dense)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: %s has gaps; a dense tensor is needed",
                         function, words);
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

acu_status acu_read_sync(acu_tensor *tensor, void *memory, size_t bytes)
{
    ACUI_TRY(check_host_copy(tensor, memory, bytes, __func__));
    acu_tensor *staged = NULL;
    if (tensor->buffer->host) {
        ACUI_TRY(wait_turn(tensor, ACU_READ));
        memcpy(memory, acu_tensor_host(tensor), bytes);
        return ACU_OK;
    }
    acu_op *x = acui_operand_tensor(tensor, here);
    ACUI_TRY(acu_sync(NULL, acu_op_to_host(x, here), &staged));
    memcpy(memory, acu_tensor_host(staged), bytes);
    acu_tensor_release(staged);
    return ACU_OK;
}

acu_status acu_write_sync(acu_tensor *tensor, const void *memory, size_t bytes)
{
    ACUI_TRY(check_host_copy(tensor, memory, bytes, __func__));
    if (tensor->buffer->host) {
        ACUI_TRY(wait_turn(tensor, ACU_WRITE));
        memcpy(acu_tensor_host(tensor), memory, bytes);
        return ACU_OK;
    }
    acu_tensor *staged;
    ACUI_TRY(acu_tensor_alloc_pinned(tensor->buffer->device, tensor->dtype, tensor->shape, &staged));
    memcpy(acu_tensor_host(staged), memory, bytes);
    acu_op *to = acui_operand_tensor(tensor, here);
    return acu_sync(NULL, acu_op_copy(to, acu_op_give(staged, here), here), NULL);
}
