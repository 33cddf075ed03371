/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which task of a submission has a node: asked for each task that comes behind a range of nodes, or
 * behind a shared op, so a submission with many tasks keeps a list of them by the places of their
 * nodes. */
#include "engine/order/order.h"

#include <string.h>

enum { FEW = 8 }; /* tasks that are simply looked through */

/* All tasks that the submission had when it was asked last, in order. */
typedef struct acui_task_index {
    acui_task **list;
    size_t count, room;
} index_of_tasks;

static size_t end_of(const acui_task *task)
{
    return task->first->index + task->count;
}

static bool grow(acui_submission *s, index_of_tasks *p)
{
    size_t room = p->room ? 2 * p->room : 64;
    acui_task **list = ACUI_ARENA_ARRAY(&s->plan.transient, acui_task *, room);
    if (!list)
        return false;
    if (p->count)
        memcpy(list, p->list, p->count * sizeof *list);
    p->list = list;
    p->room = room;
    return true;
}

/* NULL: no memory. */
static const index_of_tasks *list_all(acui_submission *s)
{
    index_of_tasks *p = s->planning.index;
    if (!p && !(p = s->planning.index = ACUI_ARENA_NEW(&s->plan.transient, index_of_tasks)))
        return NULL;
    acui_task *task = p->count ? p->list[p->count - 1]->next : s->first_task;
    for (; task; task = task->next) {
        if (p->count == p->room && !grow(s, p))
            return NULL;
        p->list[p->count++] = task;
    }
    return p;
}

acui_task *acui_find_task(acui_submission *s, uint32_t node)
{
    acui_task *task = s->first_task;
    for (int i = 0; i < FEW && task && end_of(task) <= node; i++)
        task = task->next;
    if (!task || end_of(task) > node)
        return task;
    const index_of_tasks *p = list_all(s);
    if (!p) { /* then it takes longer */
        while (task && end_of(task) <= node)
            task = task->next;
        return task;
    }
    size_t low = 0, high = p->count; /* the first is at low or behind it, but not behind high */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (end_of(p->list[middle]) <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->count ? p->list[low] : NULL;
}
