/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Holding submissions up, and measuring how long they take once nothing holds them (pending.h). */
#include "pending.h"

#include <poll.h>

static acu_status hold(void *user, const acu_val *values, size_t count)
{
    pending *p = user;
    (void)count;
    while (sem_wait(&p->open) != 0)
        continue;
    *(uint32_t *)acu_tensor_host(values[0].tensor) += 1;
    return ACU_OK;
}

void pending_make(pending *p, const mix *m)
{
    p->m = m;
    sem_init(&p->open, 0, 0);
    MUST(acu_tensor_alloc_pinned(m->b->device, ACU_U32, ACU_SHAPE(MIX_N), &p->host));
    MUST(acu_tensor_alloc(m->b->device, ACU_U32, ACU_SHAPE(MIX_N), &p->device));
    for (int i = 0; i < MIX_N; i++)
        ((uint32_t *)acu_tensor_host(p->host))[i] = 0;
}

void pending_drop(pending *p)
{
    acu_tensor_release(p->host);
    acu_tensor_release(p->device);
    sem_destroy(&p->open);
}

void pending_close(pending *p)
{
    acu_device *device = p->m->b->device;
    MUST(acu_submit(device, acu_host(hold, p, acu_inout(p->host)), NULL, NULL));
    MUST(acu_submit(device, acu_copy(p->device, p->host), NULL, NULL));
}

void pending_open(pending *p)
{
    sem_post(&p->open);
}

int pending_y(const mix *m, int i)
{
    return 1 + i % (m->ys - 1);
}

/* They read what the host work writes, times 0: so only the factor counts. */
static acu_op *behind(const pending *p, int y, int kernels)
{
    const mix *m = p->m;
    acu_op *ops[MIX_MOST_CHAIN];
    for (int i = 0; i < kernels; i++)
        ops[i] = acu_launch(m->fast, acu_for_num_elems(MIX_N), acu_inout(m->y[y]),
                            acu_in(p->device), acu_u32(0), acu_u32(MIX_N));
    return acu_op_zip(ops, (size_t)kernels, ACU_SITE);
}

void pending_submit(pending *p, acu_future **futures, int count, int kernels)
{
    for (int i = 0; i < count; i++)
        MUST(acu_submit(p->m->b->device, behind(p, pending_y(p->m, i), kernels), NULL,
                        &futures[i]));
}

double pending_drain(pending *p, acu_future **futures, int count)
{
    pending_close(p);
    pending_submit(p, futures, count, 1);
    for (int i = 0; i < count; i++)
        if (acu_future_poll(futures[i]) != ACU_NOT_READY)
            bench_wrong("what is pending did not wait");
    double start = bench_now_us();
    pending_open(p);
    MUST(acu_wait_all(futures, (size_t)count, ACU_FOREVER));
    double us = bench_now_us() - start;
    for (int i = 0; i < count; i++)
        acu_future_release(futures[i]);
    return us / count;
}

/* The tags of those that were taken, added up. */
static uint64_t take_all(acu_queue *queue, int count)
{
    struct pollfd fd = {.fd = acu_queue_fd(queue), .events = POLLIN};
    uint64_t tags = 0;
    for (size_t left = (size_t)count, n; left; left -= n) {
        acu_completion done[64];
        (void)poll(&fd, 1, -1);
        MUST(acu_queue_take(queue, done, 64, &n));
        for (size_t i = 0; i < n; i++) {
            MUST(done[i].status);
            tags += done[i].tag;
            acu_future_release(done[i].future);
        }
    }
    return tags;
}

double pending_drain_queue(pending *p, acu_queue *queue, int count)
{
    acu_submit_options options = {.size = sizeof options, .queue = queue};
    pending_close(p);
    for (int i = 0; i < count; i++) {
        options.tag = (uint64_t)i;
        MUST(acu_submit(p->m->b->device, behind(p, pending_y(p->m, i), 1), &options, NULL));
    }
    double start = bench_now_us();
    pending_open(p);
    uint64_t tags = take_all(queue, count);
    double us = bench_now_us() - start;
    if (tags != (uint64_t)count * (uint64_t)(count - 1) / 2)
        bench_wrong("the queue's tags are not those of the %d submissions", count);
    return us / count;
}
