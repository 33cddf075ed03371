/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs: a task is cut where its nodes change between those that a cached graph can hold and those
 * that it cannot (issue/key.c).
 *
 * A long chain for a device that has nothing to do is cut further, with short pieces first: the
 * device starts with these while the host still sets the arguments of the rest. Each piece costs
 * the host one more launch: where a thread waits at once, a chain counts as long sooner.
 *
 * acui_cut_runs is called for each task on the thread that plans.
 */
#include "engine/future.h"
#include "engine/issue/graphs.h"
#include "engine/submit/submit.h"
#include "op/call.h"
#include "op/launch.h"

/* ---- shape ---- */

static inline bool comes_behind(const acui_node *node, const acui_node *before)
{
    if (node->before_count == 1)
        return node->before.one == before;
    for (uint32_t i = 0; i < node->before_count; i++)
        if (acui_node_before(node)[i] == before)
            return true;
    return false;
}

/* A single copy or fill costs as much in a graph as without. */
static bool is_worth_it(const acui_run *run)
{
    return run->count > 1 || run->calls || run->nodes[0]->kind == ACUI_NODE_LAUNCH;
}

/* ---- cutting ---- */

/*
 * On an H100, setting a node takes the host 0.2 to 0.5 us, and running it takes the device 1.1 us;
 * a launch takes the host 1.3 to 3 us. So a piece keeps the device busy while the next one is set,
 * which may be larger by GROWTH. A larger head means fewer pieces; a smaller one lets the device
 * start earlier.
 */
enum { LONG = 8, LONG_UNAWAITED = 32, TWO = 16, LEAST = 3, SHARE = 20 };
static const double GROWTH = 2, HEAD = 0.4;

/* Nodes in the first piece. Below TWO there are two pieces, and nothing comes behind the second. */
static double head_of(uint32_t count)
{
    return count < TWO ? HEAD * count : LEAST + count / SHARE;
}

static acui_run *split(acui_arena *arena, acui_run *run, uint32_t count)
{
    acui_run *rest = ACUI_ARENA_NEW(arena, acui_run);
    if (!rest)
        return NULL;
    *rest = (acui_run){.next = run->next,
                       .nodes = run->nodes + count,
                       .count = run->count - count,
                       .graph = run->graph,
                       .calls = run->calls};
    run->count = count;
    run->next = rest;
    return rest;
}

/* Cut the run into pieces; *run becomes the last of them. False: no memory. */
static bool cut_head(acui_arena *arena, acui_run **run)
{
    double size = head_of((*run)->count);
    for (; (*run)->count >= LONG && (*run)->count > 1.5 * size; size *= GROWTH) {
        acui_run *rest = split(arena, *run, (uint32_t)size);
        if (!rest)
            return false;
        *run = rest;
    }
    return true;
}

/* Nothing of acuda's is on the device, so it waits for what comes first. A guess. */
static bool is_idle(const acui_task *task)
{
    return acui_in_flight(task->device) == 0;
}

static bool is_long(const acui_task *task, const acui_run *run)
{
    const acu_future *future = task->submission->future;
    return run->count >= (future && future->how.waited ? LONG : LONG_UNAWAITED);
}

/* The run has all its nodes; *last becomes its last piece. */
static bool finish(acui_task *task, acui_run *run, acui_run **last)
{
    *last = run;
    if (!run->graph)
        return true;
    run->graph = is_worth_it(run);
    bool whole = !run->graph || run->wide || !is_long(task, run) || !is_idle(task);
    return whole || cut_head(&task->submission->plan.arena, last);
}

bool acui_cut_runs(acui_task *task)
{
    acui_arena *arena = &task->submission->plan.arena;
    acui_run **end = &task->runs, *run = NULL, *last;
    for (uint32_t i = 0; i < task->count; i++) {
        acui_node *node = task->nodes[i];
        if (acui_is_prologue(node))
            continue;
        bool plain = node->kind == ACUI_NODE_LAUNCH && !node->u.launch.more; /* most are */
        bool fits = plain || acui_fits_cached(node);
        if (!run || run->graph != fits) {
            if (run && !finish(task, run, &last))
                return false;
            if (run)
                end = &last->next;
            run = ACUI_ARENA_NEW(arena, acui_run);
            if (!run)
                return false;
            run->graph = fits;
            run->nodes = task->body + task->body_count;
            *end = run;
        }
        if (run->count > 0 && !comes_behind(node, task->body[task->body_count - 1]))
            run->wide = true; /* not behind its neighbour: there are branches */
        run->calls |= fits && acui_is_call(node);
        node->position = task->body_count;
        task->body[task->body_count++] = node;
        run->count++;
    }
    return !run || finish(task, run, &last);
}
