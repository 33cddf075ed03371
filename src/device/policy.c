/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policies: which stream a submission runs on. */
#include "base/callback.h"
#include "base/error.h"
#include "base/options.h"
#include "device/device.h"

static acu_policy *policy_new(acu_device *device, unsigned streams)
{
    acu_policy *p = acui_object_new(ACU_OBJECT_POLICY, sizeof *p + streams * sizeof *p->streams);
    if (!p) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a policy");
        return NULL;
    }
    p->device = device;
    return p;
}

/* For partly created policies, and for the device's own; does not release the device. */
void acui_policy_destroy(acu_policy *policy)
{
    for (uint32_t i = 0; i < policy->count; i++) {
        if (policy->own)
            acui_stream_destroy(policy->streams[i]);
        else
            acu_stream_release(policy->streams[i]);
    }
    acui_user_release(policy->user);
    acui_object_free(policy);
}

acu_status acui_policy_open(acu_device *device, unsigned streams, int priority, bool own,
                            acu_policy **policy)
{
    acu_policy *p = policy_new(device, streams);
    if (!p)
        return ACU_ERR_NO_MEMORY;
    p->own = own;
    acu_status st = ACU_OK;
    while (p->count < streams && st == ACU_OK) {
        st = acui_stream_open(device, priority, own, &p->streams[p->count]);
        p->count += st == ACU_OK;
    }
    if (st != ACU_OK) {
        acui_policy_destroy(p);
        return st;
    }
    if (!own)
        acu_device_retain(device);
    *policy = p;
    return ACU_OK;
}

acu_status acui_policy_of_priority(acu_device *device, int priority, acu_policy **policy)
{
    const acu_device_info *info = &device->info;
    int most = info->greatest_priority; /* subtracted only within the range, lest it overflow */
    int place = priority >= most && priority <= info->least_priority ? priority - most : -1;
    if (place < 0 || place >= ACUI_PRIORITIES)
        return acui_fail(ACU_ERR_INVALID,
                         "priority %d is outside of what device %d has, %d (most urgent) to %d",
                         priority, info->ordinal, most, info->least_priority);
    acu_policy *there = atomic_load_explicit(&device->urgent[place], memory_order_acquire);
    if (!there) {
        acu_policy *made;
        ACUI_TRY(acui_policy_open(device, device->policy->count, priority, true, &made));
        if (atomic_compare_exchange_strong_explicit(&device->urgent[place], &there, made,
                                                    memory_order_acq_rel, memory_order_acquire))
            there = made;
        else
            acui_policy_destroy(made); /* another thread was faster */
    }
    *policy = there;
    return ACU_OK;
}

/* ---- making ---- */

/* A policy over existing streams. */
static acu_status policy_over(acu_device *device, acu_stream *const *streams, size_t count,
                              acu_policy **policy)
{
    acu_policy *p = policy_new(device, (unsigned)count);
    if (!p)
        return ACU_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        p->streams[p->count++] = acu_stream_retain(streams[i]);
    acu_device_retain(device);
    *policy = p;
    return ACU_OK;
}

static acu_status check_streams(const acu_device *device, acu_stream *const *streams, size_t count,
                                const char *function)
{
    for (size_t i = 0; i < count; i++) {
        ACUI_TRY(acui_object_check(streams[i], ACU_OBJECT_STREAM, function));
        ACUI_TRY(acui_stream_check_any(streams[i], function));
        ACUI_TRY(acui_device_check(device)); /* an older handle of it has the same ordinal */
        ACUI_TRY(acui_device_check(streams[i]->device));
        if (streams[i]->device != device)
            return acui_fail(ACU_ERR_DEVICE, "%s: the stream is of device %d, not %d", function,
                             streams[i]->device->info.ordinal, device->info.ordinal);
    }
    return ACU_OK;
}

static acu_status check_options(const acu_device *device, const acu_policy_options *options,
                                const char *function)
{
    size_t count = options->given ? options->given_count : options->streams;
    const acu_device_info *info = &device->info;
    if (count > ACUI_MAX_STREAMS)
        return acui_fail(ACU_ERR_INVALID, "%s: %zu streams; at most %d", function, count,
                         ACUI_MAX_STREAMS);
    if ((options->given != NULL) != (options->given_count > 0) ||
        (options->given && (options->streams || options->priority)))
        return acui_fail(ACU_ERR_INVALID, "%s: give streams and their number, or say how many new "
                         "ones and of which priority", function);
    if (options->priority > info->least_priority || options->priority < info->greatest_priority)
        return acui_fail(ACU_ERR_INVALID,
                         "%s: priority %d is outside of what device %d has, %d (most urgent) to %d",
                         function, options->priority, info->ordinal, info->greatest_priority,
                         info->least_priority);
    if (options->order != ACU_ROUND_ROBIN && options->order != ACU_LEAST_LOADED)
        return acui_fail(ACU_ERR_INVALID, "%s: there is no order %d", function,
                         (int)options->order);
    return options->given ? check_streams(device, options->given, count, function) : ACU_OK;
}

static acu_status make(acu_device *device, const acu_policy_options *options,
                       const char *function, acu_policy **policy)
{
    acu_policy *p = NULL;
    ACUI_TRY(acui_object_check(device, ACU_OBJECT_DEVICE, function));
    if (!policy)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the policy", function);
    ACUI_TRY(check_options(device, options, function));
    if (options->given)
        ACUI_TRY(policy_over(device, options->given, options->given_count, &p));
    else
        ACUI_TRY(acui_policy_open(device, options->streams ? options->streams : ACUI_STREAMS,
                                  options->priority, false, &p));
    p->order = options->order;
    p->choose = options->choose;
    p->user = options->user;
    *policy = p;
    return ACU_OK;
}

acu_status acu_policy_create(acu_device *device, const acu_policy_options *options,
                             acu_policy **policy)
{
    acu_policy_options known;
    acu_status status = acui_options_read(&known, sizeof known, options, __func__);
    if (status == ACU_OK)
        status = make(device, &known, __func__, policy);
    if (status != ACU_OK)
        acui_user_release(known.user);
    return status;
}

acu_status acu_policy_round_robin(acu_device *device, unsigned streams, acu_policy **policy)
{
    acu_policy_options options = {.size = sizeof options, .streams = streams};
    return make(device, &options, __func__, policy);
}

acu_status acu_policy_single(acu_device *device, acu_stream *stream, acu_policy **policy)
{
    acu_policy_options options = {.size = sizeof options};
    if (stream) {
        options.given = &stream;
        options.given_count = 1;
    } else {
        options.streams = 1;
    }
    return make(device, &options, __func__, policy);
}

/* ---- choosing ---- */

bool acui_policy_asking(void)
{
    return acui_callback_is_bound(ACUI_BOUND_POLICY);
}

/* Relaxed: the figure changes while one looks. */
static uint32_t load_of(acu_stream *stream)
{
    return atomic_load_explicit(&stream->engine.gate.used, memory_order_relaxed) +
           atomic_load_explicit(&stream->engine.gate.waiting, memory_order_relaxed);
}

static acu_stream *least_loaded(const acu_policy *policy, uint32_t turn)
{
    acu_stream *best = NULL;
    uint32_t least = 0;
    for (uint32_t i = 0; i < policy->count; i++) {
        acu_stream *stream = policy->streams[(turn + i) % policy->count];
        uint32_t load = load_of(stream);
        if (!best || load < least) {
            best = stream;
            least = load;
        }
    }
    return best;
}

static acu_stream *ask(const acu_policy *policy)
{
    acu_policy_stream list[ACUI_MAX_STREAMS];
    for (uint32_t i = 0; i < policy->count; i++)
        list[i] = (acu_policy_stream){.stream = policy->streams[i],
                                      .load = load_of(policy->streams[i])};
    acui_callback_enter();
    acui_callback_bind(ACUI_BOUND_POLICY); /* it may schedule with another policy: they nest */
    size_t place = policy->choose(policy->user.data, list, policy->count);
    acui_callback_unbind(ACUI_BOUND_POLICY);
    if (acui_callback_leave_failed("a policy") != ACU_OK)
        return NULL;
    if (place < policy->count)
        return policy->streams[place];
    acui_fail(ACU_ERR_CALLBACK,
              "a policy's function chose stream %zu; there are %u, counted from 0", place,
              policy->count);
    return NULL;
}

acu_stream *acui_policy_pick(acu_policy *policy)
{
    if (policy->choose)
        return ask(policy);
    /* Relaxed, and not atomic as a whole: two threads may take the same turn without harm. */
    uint32_t turn = atomic_load_explicit(&policy->turn, memory_order_relaxed);
    atomic_store_explicit(&policy->turn, turn + 1, memory_order_relaxed);
    if (policy->order == ACU_LEAST_LOADED)
        return least_loaded(policy, turn);
    return policy->streams[turn % policy->count];
}

acu_device *acu_policy_device(const acu_policy *policy)
{
    return acui_object_is(policy, ACU_OBJECT_POLICY) ? policy->device : NULL;
}

acu_policy *acu_policy_retain(acu_policy *policy)
{
    if (acui_object_is(policy, ACU_OBJECT_POLICY))
        acui_object_retain(policy->own ? (void *)policy->device : policy);
    return policy;
}

void acu_policy_release(acu_policy *policy)
{
    if (!acui_object_is(policy, ACU_OBJECT_POLICY))
        return;
    acu_device *device = policy->device;
    if (policy->own) {
        acu_device_release(device);
    } else if (acui_object_drop(policy)) {
        acui_policy_destroy(policy);
        acu_device_release(device);
    }
}
