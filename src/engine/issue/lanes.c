/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A run with branches, issued directly: over as many streams (lanes) as it has branches, up to a
 * few. The lanes begin behind what is on the task's own stream, and end before what comes next on
 * it. A node goes to the lane whose last node it comes behind, if there is one; an event is needed
 * only where an edge leads to another lane. The device is entered, and the issue lock of the task's
 * stream held.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/issue/issue.h"

enum { MOST = 8 }; /* lanes; more of them cost more to fork and join than they gain */

/* A node of the run, while it is issued. */
typedef struct issuing {
    CUevent event; /* recorded behind it; NULL: none */
    uint8_t lane;
    bool awaited;  /* some node on another lane comes behind it */
} issuing;

typedef struct lanes {
    acu_device *device;
    const acui_run *run;
    issuing *list;
    acu_stream *streams[MOST]; /* the first is that of the task */
    const acui_node *last[MOST];
    uint32_t nodes[MOST];
    bool begun[MOST];
    size_t count;
    CUevent fork; /* recorded behind what was on the task's stream before */
} lanes;

/* NULL: it is of an earlier run, and only comes before one of this. */
static issuing *issuing_of(const lanes *l, const acui_node *node)
{
    uint32_t first = l->run->nodes[0]->position;
    return node->position >= first ? &l->list[node->position - first] : NULL;
}

/* ---- which lane ---- */

static size_t emptiest(const lanes *l)
{
    size_t best = 0;
    for (size_t i = 1; i < l->count; i++)
        if (l->nodes[i] < l->nodes[best])
            best = i;
    return best;
}

/* The lane whose last node it comes behind anyway; else the emptiest. */
static size_t choose(const lanes *l, const acui_node *node)
{
    for (uint32_t i = node->before_count; i-- > 0;) {
        const issuing *before = issuing_of(l, acui_node_before(node)[i]);
        if (before && l->last[before->lane] == acui_node_before(node)[i])
            return before->lane;
    }
    return emptiest(l);
}

/* Choose lanes for all nodes, and find those that need an event, as another lane comes behind
 * them. */
static void assign(lanes *l)
{
    for (uint32_t i = 0; i < l->run->count; i++) {
        const acui_node *node = l->run->nodes[i];
        uint8_t lane = l->list[i].lane = (uint8_t)choose(l, node);
        l->last[lane] = node;
        l->nodes[lane]++;
        for (uint32_t k = 0; k < node->before_count; k++) {
            issuing *before = issuing_of(l, acui_node_before(node)[k]);
            if (before && before->lane != lane)
                before->awaited = true;
        }
    }
}

/* How many nodes of the run come behind no other node of it. */
static size_t count_roots(const acui_run *run)
{
    size_t roots = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const acui_node *node = run->nodes[i];
        bool root = true;
        for (uint32_t k = 0; k < node->before_count; k++)
            root &= acui_node_before(node)[k]->position < run->nodes[0]->position;
        roots += root;
    }
    return roots;
}

/* ---- events between lanes ---- */

static acu_status put_signal(lanes *l, size_t lane, CUevent *event)
{
    ACUI_TRY(acui_event_get(l->device, event));
    acu_status status = ACUI_DEV(l->device, EventRecord, *event, l->streams[lane]->raw);
    if (status != ACU_OK) {
        acui_event_put(l->device, *event);
        *event = NULL;
    }
    return status;
}

static acu_status wait_for(lanes *l, size_t lane, CUevent event)
{
    return ACUI_DEV(l->device, StreamWaitEvent, l->streams[lane]->raw, event,
                    ACU_CU_EVENT_WAIT_DEFAULT);
}

static acu_status begin_lane(lanes *l, size_t lane)
{
    if (lane == 0 || l->begun[lane])
        return ACU_OK;
    l->begun[lane] = true; /* also if this fails: then it is joined all the same */
    return wait_for(l, lane, l->fork);
}

/* ---- issuing ---- */

static acu_status issue_node(lanes *l, uint32_t i)
{
    acui_node *node = l->run->nodes[i];
    issuing *own = &l->list[i];
    ACUI_TRY(begin_lane(l, own->lane));
    for (uint32_t k = 0; k < node->before_count; k++) {
        const issuing *before = issuing_of(l, acui_node_before(node)[k]);
        if (before && before->lane != own->lane)
            ACUI_TRY(wait_for(l, own->lane, before->event));
    }
    ACUI_TRY(acui_enqueue(node, l->streams[own->lane]));
    return own->awaited ? put_signal(l, own->lane, &own->event) : ACU_OK;
}

/* Put what comes next on the task's stream behind all lanes, whatever failed. False: some lane
 * could not be joined by an event. */
static bool join(lanes *l)
{
    bool all = true;
    for (size_t lane = 1; lane < l->count; lane++) {
        CUevent event = NULL;
        if (!l->begun[lane])
            continue;
        if (put_signal(l, lane, &event) == ACU_OK) {
            all &= wait_for(l, 0, event) == ACU_OK;
            acui_event_put(l->device, event);
        } else {
            all = false;
        }
    }
    return all;
}

static void put_events(lanes *l)
{
    acui_event_put(l->device, l->fork);
    for (uint32_t i = 0; i < l->run->count; i++)
        if (l->list[i].event)
            acui_event_put(l->device, l->list[i].event);
}

/* Where a lane could not be joined, only waiting for it keeps the promise that the task's signal
 * covers all of it. A driver that refuses to order events is not in a working state: blocking is
 * the lesser evil. */
static void join_by_waiting(lanes *l)
{
    for (size_t lane = 1; lane < l->count; lane++)
        if (l->begun[lane])
            l->device->cu->StreamSynchronize(l->streams[lane]->raw);
}

bool acui_issue_lanes(const acui_run *run, acu_stream *stream, uint32_t *streams,
                      acui_node **failed)
{
    lanes l = {.device = stream->device, .run = run, .streams = {stream}, .count = 1};
    size_t roots = count_roots(run), side = roots < MOST ? roots : MOST;
    l.count += side > 1 ? acui_side_take(l.device, &l.streams[1], side - 1) : 0;
    l.list = l.count > 1 ? ACUI_NEW_ARRAY(issuing, run->count) : NULL;
    if (!l.list || put_signal(&l, 0, &l.fork) != ACU_OK) {
        acui_side_give(l.device, &l.streams[1], l.count - 1);
        acui_free(l.list);
        return false;
    }
    *streams = (uint32_t)l.count;
    assign(&l);
    for (uint32_t i = 0; i < run->count && !*failed; i++)
        if (issue_node(&l, i) != ACU_OK)
            *failed = run->nodes[i];
    acu_error record = *acui_error();
    if (!join(&l))
        join_by_waiting(&l);
    if (*failed)
        acui_error_restore(&record);
    put_events(&l);
    acui_free(l.list);
    acui_side_give(l.device, &l.streams[1], l.count - 1);
    return true;
}
