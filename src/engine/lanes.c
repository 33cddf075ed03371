/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A run with branches, issued directly: over as many streams as it has branches, up to a few, that
 * begin behind the task's own stream and end before what comes next on it. A node goes where what it
 * comes behind went last, if it can; events only where an edge leads to another stream.
 */
#include "base/error.h"
#include "engine/engine.h"

enum { MOST = 8 }; /* lanes; more cost more to fork and join than they give */

typedef struct lanes {
    acu_device *device;
    acu_stream *streams[MOST]; /* the first is the task's own */
    const acui_node *last[MOST];
    uint32_t nodes[MOST];
    bool begun[MOST];
    size_t count;
    CUevent fork; /* behind what was on the task's stream before */
} lanes;

/* ---- which lane ---- */

static size_t emptiest(const lanes *l)
{
    size_t best = 0;
    for (size_t i = 1; i < l->count; i++)
        if (l->nodes[i] < l->nodes[best])
            best = i;
    return best;
}

/* Behind the last node of a lane that it comes behind anyway; else where there is least. */
static size_t choose(const lanes *l, const acui_node *node)
{
    for (uint32_t i = node->before_count; i-- > 0;)
        if (l->last[node->before[i]->lane] == node->before[i])
            return node->before[i]->lane;
    return emptiest(l);
}

/* Lanes of all nodes, and which of them need an event because another lane comes behind. */
static void assign(lanes *l, const acui_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        acui_node *node = run->nodes[i];
        node->lane = (uint8_t)choose(l, node);
        l->last[node->lane] = node;
        l->nodes[node->lane]++;
        for (uint32_t k = 0; k < node->before_count; k++)
            if (node->before[k]->place >= run->nodes[0]->place &&
                node->before[k]->lane != node->lane)
                node->before[k]->awaited = true;
    }
}

/* How many nodes of the run come behind none of it. */
static size_t count_roots(const acui_run *run)
{
    size_t roots = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const acui_node *node = run->nodes[i];
        bool root = true;
        for (uint32_t k = 0; k < node->before_count; k++)
            root &= node->before[k]->place < run->nodes[0]->place;
        roots += root;
    }
    return roots;
}

/* ---- events between lanes ---- */

static acu_status mark(lanes *l, size_t lane, CUevent *event)
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
    l->begun[lane] = true; /* also if it fails: then it is joined all the same */
    return wait_for(l, lane, l->fork);
}

/* ---- issuing ---- */

static acu_status issue_node(lanes *l, const acui_run *run, acui_node *node)
{
    ACUI_TRY(begin_lane(l, node->lane));
    for (uint32_t k = 0; k < node->before_count; k++) {
        const acui_node *before = node->before[k];
        if (before->place >= run->nodes[0]->place && before->lane != node->lane)
            ACUI_TRY(wait_for(l, node->lane, before->event));
    }
    ACUI_TRY(acui_enqueue(node, l->streams[node->lane]));
    return node->awaited ? mark(l, node->lane, &node->event) : ACU_OK;
}

/* What comes next on the task's stream comes behind all lanes, whatever failed. False: a lane could
 * not be joined by an event. */
static bool join(lanes *l)
{
    bool all = true;
    for (size_t lane = 1; lane < l->count; lane++) {
        CUevent event = NULL;
        if (!l->begun[lane])
            continue;
        if (mark(l, lane, &event) == ACU_OK) {
            all &= wait_for(l, 0, event) == ACU_OK;
            acui_event_put(l->device, event);
        } else {
            all = false;
        }
    }
    return all;
}

static void put_events(lanes *l, const acui_run *run)
{
    acui_event_put(l->device, l->fork);
    for (uint32_t i = 0; i < run->count; i++)
        if (run->nodes[i]->event) {
            acui_event_put(l->device, run->nodes[i]->event);
            run->nodes[i]->event = NULL;
        }
}

/* Where a lane is left behind, only waiting for it keeps the promise that the task's mark covers all
 * of it. The driver refuses to order events, which is no working state: blocking is the lesser evil. */
static void join_by_waiting(lanes *l)
{
    for (size_t lane = 1; lane < l->count; lane++)
        if (l->begun[lane])
            l->device->cu->StreamSynchronize(l->streams[lane]->raw);
}

bool acui_issue_lanes(const acui_run *run, acu_stream *stream, uint32_t *streams,
                      acui_node **failed)
{
    lanes l = {.device = stream->device, .streams = {stream}, .count = 1};
    size_t roots = count_roots(run), side = roots < MOST ? roots : MOST;
    l.count += side > 1 ? acui_side_take(l.device, &l.streams[1], side - 1) : 0;
    if (l.count == 1 || mark(&l, 0, &l.fork) != ACU_OK) {
        acui_side_give(l.device, &l.streams[1], l.count - 1);
        return false;
    }
    *streams = (uint32_t)l.count;
    assign(&l, run);
    for (uint32_t i = 0; i < run->count && !*failed; i++)
        if (issue_node(&l, run, run->nodes[i]) != ACU_OK)
            *failed = run->nodes[i];
    acu_error record = *acui_error();
    if (!join(&l))
        join_by_waiting(&l);
    if (*failed)
        acui_error_restore(&record);
    put_events(&l, run);
    acui_side_give(l.device, &l.streams[1], l.count - 1);
    return true;
}
