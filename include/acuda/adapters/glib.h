/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A completion queue in a GLib main context (2.36 or newer). loop.h says what holds for all
 * adapters.
 *
 *   acu_glib *gpu;
 *   acu_loop_options options = {.size = sizeof options, .fn = completed, .user = ACU_USER(server)};
 *   acu_glib_start(NULL, queue, &options, &gpu);          NULL: the default context
 *   g_main_loop_run(loop);
 *
 *   acu_glib_stop(gpu);                                   in a callback, say
 *
 * The adapter is a GSource (acu_glib_source), of default priority. The loop's thread is the one
 * that runs the context. While it polls, sources of lower priority get their turns.
 */
#ifndef ACUDA_ADAPTERS_GLIB_H
#define ACUDA_ADAPTERS_GLIB_H

#include <acuda/adapters/loop.h>

#include <glib.h>

ACU_BEGIN

typedef struct acu_glib {
    GSource source; /* GLib counts its references, and frees it */
    gpointer tag;   /* of the queue's descriptor in the source */
    acui_loop loop;
    bool others; /* the next turn is for other sources */
} acu_glib;

/* The adapter begins with its source. */
static inline acu_glib *acui_glib_of(void *source)
{
    return ACUI_CAST(acu_glib *, source);
}

static inline gboolean acui_glib_prepare(GSource *source, gint *timeout)
{
    acu_glib *a = acui_glib_of(source);
    *timeout = acui_loop_is_busy(&a->loop) ? 0 : -1;
    return FALSE;
}

/* While it polls, every other turn of the loop delivers, whether the descriptor is readable or not:
 * sources of lower priority get no turn in which this source is ready. */
static inline gboolean acui_glib_check(GSource *source)
{
    acu_glib *a = acui_glib_of(source);
    if (g_source_query_unix_fd(source, a->tag) & G_IO_IN)
        return TRUE;
    a->others = !a->others && acui_loop_is_busy(&a->loop);
    return a->others;
}

static inline gboolean acui_glib_dispatch(GSource *source, GSourceFunc fn, gpointer user)
{
    acu_glib *a = acui_glib_of(source);
    (void)fn, (void)user;
    (void)acui_loop_deliver(&a->loop);
    return G_SOURCE_CONTINUE;
}

static inline void acui_glib_finalize(GSource *source)
{
    acu_glib *a = acui_glib_of(source);
    if (a->loop.queue)
        acui_loop_end(&a->loop);
}

/* The context lets go of the source at once, or, if a callback of it is running, when that
 * returns. */
static inline void acu_glib_stop(acu_glib *a)
{
    if (!a || a->loop.stopped)
        return;
    acui_loop_stop(&a->loop);
    g_source_destroy(&a->source);
    g_source_unref(&a->source);
}

/* The source, to set its priority or name; borrowed. */
static inline GSource *acu_glib_source(acu_glib *a)
{
    return &a->source;
}

static inline acu_status acu_glib_start(GMainContext *context, acu_queue *queue,
                                        const acu_loop_options *options, acu_glib **adapter)
{
    static GSourceFuncs functions = {acui_glib_prepare, acui_glib_check, acui_glib_dispatch,
                                     acui_glib_finalize, NULL, NULL};
    if (adapter)
        *adapter = NULL;
    void *memory = NULL;
    acu_status status =
        acui_loop_new(sizeof(acui_loop), queue, options, adapter != NULL, &memory);
    if (status != ACU_OK)
        return status;
    acu_glib *a = acui_glib_of(g_source_new(&functions, sizeof(acu_glib)));
    a->loop = *ACUI_CAST(acui_loop *, memory);
    free(memory);
    a->tag = g_source_add_unix_fd(&a->source, acu_queue_fd(queue), G_IO_IN);
    g_source_set_name(&a->source, "acuda");
    (void)g_source_attach(&a->source, context);
    *adapter = a;
    return ACU_OK;
}

ACU_END
#endif
