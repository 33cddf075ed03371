/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policies: which stream a submission runs on. */
#include "base/error.h"
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

/* For what is half made, and for the device's own; the device is not released. */
void acui_policy_destroy(acu_policy *policy)
{
    for (uint32_t i = 0; i < policy->count; i++) {
        if (policy->own)
            acui_stream_destroy(policy->streams[i]);
        else
            acu_stream_release(policy->streams[i]);
    }
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
    int place = priority - info->greatest_priority;
    if (priority > info->least_priority || place < 0 || place >= ACUI_PRIORITIES)
        return acui_fail(ACU_ERR_INVALID,
                         "priority %d is outside of what device %d has, %d (most urgent) to %d",
                         priority, info->ordinal, info->greatest_priority, info->least_priority);
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

acu_status acu_policy_round_robin(acu_device *device, unsigned streams, acu_policy **policy)
{
    ACUI_CHECK(device, DEVICE);
    if (!policy)
        return acui_fail(ACU_ERR_INVALID, "acu_policy_round_robin: nowhere to put the policy");
    if (streams > ACUI_MAX_STREAMS)
        return acui_fail(ACU_ERR_INVALID, "acu_policy_round_robin: %u streams; at most %d", streams,
                         ACUI_MAX_STREAMS);
    return acui_policy_open(device, streams ? streams : ACUI_STREAMS, 0, false, policy);
}

acu_status acu_policy_single(acu_device *device, acu_stream *stream, acu_policy **policy)
{
    ACUI_CHECK(device, DEVICE);
    if (!policy)
        return acui_fail(ACU_ERR_INVALID, "acu_policy_single: nowhere to put the policy");
    if (!stream)
        return acui_policy_open(device, 1, 0, false, policy);
    ACUI_CHECK(stream, STREAM);
    if (stream->device != device)
        return acui_fail(ACU_ERR_DEVICE, "acu_policy_single: the stream is of device %d, not %d",
                         stream->device->info.ordinal, device->info.ordinal);
    acu_policy *p = policy_new(device, 1);
    if (!p)
        return ACU_ERR_NO_MEMORY;
    p->streams[p->count++] = acu_stream_retain(stream);
    acu_device_retain(device);
    *policy = p;
    return ACU_OK;
}

acu_stream *acui_policy_pick(acu_policy *policy)
{
    /* Relaxed: any order of turns is as good as another. */
    uint32_t turn = atomic_fetch_add_explicit(&policy->turn, 1, memory_order_relaxed);
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
