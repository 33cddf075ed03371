/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Who did it: CUDA says that a context is lost, but not through which kernel. What each stream had
 * finished is known up to the last look, so one of the operations behind that is to blame; the
 * oldest of these is named. It is the right one if only one stream had anything to do, or if the
 * device was opened to issue one by one. The software device says which kernel it was: then the
 * oldest launch of that one is named. Called when a device is about to be marked lost
 * (acui_device_lose); and once more if nobody was found then, since another thread had just put the
 * operation onto its stream and not listed it yet (acui_device_blame).
 */
#include "base/error.h"
#include "base/text.h"
#include "engine/flight/flight.h"
#include "engine/issue/issue.h"
#include "engine/report/report.h"

#include <stdio.h>
#include <string.h>

typedef struct heads {
    const acu_device *device;
    const acui_task *oldest; /* of all */
    const acui_task *task;   /* the oldest with `launch`, of the kernel that the record names */
    const acui_node *launch; /* NULL: it names none */
    unsigned streams;
} heads;

/* Whether it can do harm: the program's kernels can, and what the program enqueues itself. */
static bool is_harmful(const acui_node *node)
{
    return node->kind == ACUI_NODE_LAUNCH || node->kind == ACUI_NODE_FOREIGN ||
           node->kind == ACUI_NODE_REPLAY || node->kind == ACUI_NODE_USE;
}

const acui_node *acui_blamed_node(const acui_task *task)
{
    for (size_t i = 0; i < task->count; i++)
        if (is_harmful(task->nodes[i]))
            return task->nodes[i];
    return task->first;
}

static size_t count_harmful(const acui_task *task)
{
    size_t harmful = 0;
    for (size_t i = 0; i < task->count; i++)
        harmful += is_harmful(task->nodes[i]);
    return harmful;
}

/* The launch of the kernel that the driver's text begins with: "kernel saxpy, saxpy.cu:7, ..." */
static const acui_node *find_named(const acui_task *task)
{
    static const char start[] = "kernel ";
    const char *name = acui_error()->message;
    if (strncmp(name, start, sizeof start - 1) != 0)
        return NULL;
    name += sizeof start - 1;
    size_t bytes = strcspn(name, ",");
    for (size_t i = 0; i < task->count; i++) {
        const acui_node *node = task->nodes[i];
        const acu_kernel_info *info =
            node->kind == ACUI_NODE_LAUNCH ? acu_kernel_info_of(node->u.launch.kernel) : NULL;
        if (info && strlen(info->name) == bytes && strncmp(info->name, name, bytes) == 0)
            return node;
    }
    return NULL;
}

static void look_at_head(const acui_task *task, void *context)
{
    heads *found = context;
    found->streams++;
    if (!found->oldest || task->flight.issued_at < found->oldest->flight.issued_at)
        found->oldest = task;
    for (const acui_task *t = task; t; t = t->next_listed) {
        const acui_node *launch = find_named(t);
        if (!launch || (found->launch && found->task->flight.issued_at < t->flight.issued_at))
            continue;
        found->launch = launch;
        found->task = t;
    }
}

/* How many tasks behind it were issued with it, as one graph. */
static size_t count_others(const acui_task *task)
{
    size_t n = 0;
    for (const acui_task *t = task->next_listed; t && t->number == task->number; t = t->next_listed)
        n++;
    return n;
}

/* Into the thread's record; the rest of its message is to be filled in. */
static acui_text name_suspect(const acui_node *node)
{
    acu_error *error = acui_error();
    snprintf(error->op, sizeof error->op, "%s", node->name);
    error->file = node->site.file;
    error->line = node->site.line;
    size_t used = strlen(error->message);
    acui_text text = acui_text_start(error->message + used, sizeof error->message - used);
    acui_text_add(&text, "%s", used ? "; " : "");
    return text;
}

/* `streams`: how many had work; 0: none, but this task is being issued. */
static void blame(const acui_task *task, unsigned streams)
{
    const char *name = task->submission->asked.name;
    size_t harmful = count_harmful(task), more = count_others(task);
    acui_text text = name_suspect(acui_blamed_node(task));
    if (harmful == 1 && more == 0 && streams < 2) {
        acui_text_add(&text, "no other operation was running");
        if (name[0])
            acui_text_add(&text, " (submission %s)", name);
        return;
    }
    acui_text_add(&text, "suspected, as ");
    if (harmful > 1)
        acui_text_add(&text, "the first of %zu operations", harmful);
    else
        acui_text_add(&text, "the operation");
    acui_text_add(&text, " of the oldest unfinished submission%s%s", name[0] ? " " : "", name);
    if (more)
        acui_text_add(&text, ", which was issued as one with %zu others", more);
    if (streams > 1)
        acui_text_add(&text, "; %u streams had work", streams);
}

static void blame_launch(const acui_task *task, const acui_node *launch)
{
    const char *name = task->submission->asked.name;
    acui_text text = name_suspect(launch);
    acui_text_add(&text, "its oldest unfinished launch");
    if (name[0])
        acui_text_add(&text, " (submission %s)", name);
}

/* Lock of the flight held: so the tasks stay where they are. */
static void blame_found(void *context)
{
    const heads *found = context;
    const acui_task *issuing = acui_task_issuing(), *oldest = found->oldest;
    issuing = issuing && issuing->device == found->device ? issuing : NULL;
    const acui_node *launch = issuing && !found->launch ? find_named(issuing) : NULL;
    if (oldest && launch)
        blame_launch(issuing, launch);
    else if (oldest && found->launch && found->launch != acui_blamed_node(oldest))
        blame_launch(found->task, found->launch);
    else if (oldest)
        blame(oldest, found->streams);
    else if (issuing)
        blame(issuing, 0);
}

void acui_blame(acu_device *device)
{
    heads found = {.device = device};
    acui_flight_heads(device, look_at_head, blame_found, &found);
}

static void note_running(acu_device *device, const acui_node *node)
{
    pthread_mutex_lock(&device->lock);
    device->running = node != NULL;
    if (node) {
        device->running_site = node->site;
        snprintf(device->running_op, sizeof device->running_op, "%s", node->name);
    }
    pthread_mutex_unlock(&device->lock);
}

acu_status acui_enqueue_serially(acui_node *node, acu_stream *stream)
{
    acu_device *device = node->device;
    if (node->kind == ACUI_NODE_REPLAY) /* this comes back for each of its nodes */
        return acui_enqueue(node, stream);
    pthread_mutex_lock(&device->one_at_a_time);
    note_running(device, node);
    acu_status status = acui_enqueue(node, stream);
    if (status == ACU_OK)
        status = ACUI_DEV(device, StreamSynchronize, stream->raw);
    note_running(device, NULL);
    pthread_mutex_unlock(&device->one_at_a_time);
    return status;
}

void acui_finish_serially(acu_stream *stream)
{
    ACUI_DEV(stream->device, StreamSynchronize, stream->raw);
    acui_stream_harvest(stream, NULL);
}
