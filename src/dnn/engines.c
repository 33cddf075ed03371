/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Choosing an engine for a graph: cuDNN proposes configurations, the best first by its estimate;
 * those that the options do not allow, or that can not be made ready, are passed over. With
 * `measured` the first few run, on memory of their own (measure.c). What cuDNN proposes for f32
 * mostly rounds to tf32; so where that is not allowed, engines are tried by their numbers too.
 */
#include "dnn/plan.h"

#include "base/error.h"

enum { ENGINE = 2, CONFIG, HEURISTICS, PLAN };
enum { HEUR_MODE = 200, HEUR_GRAPH, HEUR_RESULTS, CONFIG_ENGINE = 300 };
enum { PLAN_HANDLE = 400, PLAN_CONFIG, PLAN_BYTES };
enum { GRAPH_ENGINES = 802, ENGINE_GRAPH = 1300, ENGINE_NUMBER, ENGINE_NOTES = 1303 };
enum { FALLBACK = 2, BY_ESTIMATE = 3 };                            /* modes of the heuristics */
enum { TENSOR_CORE = 0, ROUNDED_INPUTS = 1, NOT_DETERMINISTIC = 4 }; /* notes */

enum {
    FRUGAL = 16 << 20, /* bytes that should be there even when memory is short */
    CONFIGS = 32,      /* are looked at in a list */
    MEASURED = 8,      /* of those */
    NUMBERS = 1000,    /* of engines, at most */
    TRIES = 12         /* of making a second engine ready, which is frugal */
};

typedef struct choice {
    acui_dnn_plan *plan;
    acui_cudnn_desc graph;
    const acui_dnn_key *key;
    acui_dnn_engine found[ACUI_DNN_ENGINES]; /* within key->most_bytes, the best first */
    acui_dnn_engine large, frugal;           /* one that needs more; one for when memory is short */
    int count, most, tries;
    acu_status last; /* why one could not be made ready, which the record says */
} choice;

/* ---- one configuration ----------------------------------------------------------------------- */

static bool is_exact(const acui_dnn_key *key)
{
    return key->type == ACUI_CUDNN_F32 && !key->rounded;
}

static bool is_allowed(acui_cudnn_desc config, const acui_dnn_key *key)
{
    enum { NOTES = 32 };
    acui_cudnn_desc engine = NULL;
    int notes[NOTES];
    int64_t count = 0, one;
    bool exact = is_exact(key);
    if (acui_cudnn.new_desc(ENGINE, &engine) != 0)
        return false;
    bool allowed = acui_cudnn.get(config, CONFIG_ENGINE, ACUI_CUDNN_DESCRIPTOR, 1, &one,
                                  &engine) == 0 &&
                   acui_cudnn.get(engine, ENGINE_NOTES, ACUI_CUDNN_NUMERICAL_NOTE, NOTES, &count,
                                  notes) == 0;
    acui_cudnn.end_desc(engine);
    for (int64_t i = 0; i < count && i < NOTES; i++)
        if ((key->deterministic && notes[i] == NOT_DETERMINISTIC) ||
            (exact && (notes[i] == TENSOR_CORE || notes[i] == ROUNDED_INPUTS)))
            allowed = false;
    return allowed;
}

/* Which may compile it. */
static bool make_ready(choice *c, acui_cudnn_desc config, acui_dnn_engine *engine)
{
    acui_cudnn_desc plan = NULL;
    int64_t bytes = 0, count;
    int status = acui_cudnn.new_desc(PLAN, &plan);
    if (status == 0)
        status = acui_cudnn.set(plan, PLAN_HANDLE, ACUI_CUDNN_HANDLE, 1, &c->plan->handle);
    if (status == 0)
        status = acui_cudnn.set(plan, PLAN_CONFIG, ACUI_CUDNN_DESCRIPTOR, 1, &config);
    if (status == 0)
        status = acui_cudnn.finalize(plan);
    if (status == 0)
        status = acui_cudnn.get(plan, PLAN_BYTES, ACUI_CUDNN_INT64, 1, &count, &bytes);
    *engine = (acui_dnn_engine){plan, (size_t)bytes};
    if (status == 0)
        return true;
    c->last = acui_cudnn_said("cudnnBackendFinalize", status);
    acui_dnn_end_engine(engine);
    return false;
}

void acui_dnn_end_engine(acui_dnn_engine *engine)
{
    if (engine->plan)
        acui_cudnn.end_desc(engine->plan);
    *engine = (acui_dnn_engine){NULL, 0};
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_enough(const choice *c)
{
    return c->count == c->most && (c->frugal.plan || c->tries >= TRIES);
}

/* Keep it for what it is good for. */
static void take(choice *c, acui_dnn_engine engine)
{
    if (c->count < c->most && engine.bytes <= c->key->most_bytes) {
        c->found[c->count++] = engine;
    } else if (!c->frugal.plan && engine.bytes <= FRUGAL) {
        c->frugal = engine;
    } else if (!c->large.plan) {
        c->large = engine;
    } else {
        acui_dnn_end_engine(&engine);
    }
}

/* Whether it was made ready. */
static bool look_at(choice *c, acui_cudnn_desc config)
{
    acui_dnn_engine engine;
    bool small = false;
    for (int i = 0; i < c->count; i++)
        small = small || c->found[i].bytes <= FRUGAL;
    if (c->count == c->most)
        c->tries = small ? TRIES : c->tries + 1; /* one of those that there are is frugal */
    if (is_enough(c) || !is_allowed(config, c->key) || !make_ready(c, config, &engine))
        return false;
    take(c, engine);
    return true;
}

/* The descriptors live as long as the plan, of which they are part. */
static acu_status look(choice *c, int mode)
{
    acui_cudnn_desc config[CONFIGS];
    acui_dnn_set *set = &c->plan->set;
    acui_cudnn_desc d = acui_dnn_new(set, HEURISTICS);
    int64_t count = 0;
    acui_dnn_put(set, d, HEUR_GRAPH, ACUI_CUDNN_DESCRIPTOR, 1, &c->graph);
    acui_dnn_put(set, d, HEUR_MODE, ACUI_CUDNN_HEUR_MODE, 1, &mode);
    acui_dnn_finish(set, d);
    ACUI_TRY(set->status);
    ACUI_TRY(acui_cudnn_said("cudnnBackendGetAttribute",
                             acui_cudnn.get(d, HEUR_RESULTS, ACUI_CUDNN_DESCRIPTOR, 0, &count,
                                            NULL)));
    count = count < CONFIGS ? count : CONFIGS;
    for (int64_t i = 0; i < count; i++)
        config[i] = acui_dnn_new(set, CONFIG);
    ACUI_TRY(set->status);
    if (count > 0)
        ACUI_TRY(acui_cudnn_said("cudnnBackendGetAttribute",
                                 acui_cudnn.get(d, HEUR_RESULTS, ACUI_CUDNN_DESCRIPTOR, count,
                                                &count, config)));
    for (int64_t i = 0; i < count && !is_enough(c); i++)
        look_at(c, config[i]);
    return ACU_OK;
}

static void look_in_list(choice *c, int mode)
{
    acu_status st = is_enough(c) ? ACU_OK : look(c, mode);
    if (st == ACU_OK)
        return;
    c->last = st;
    c->plan->set.status = ACU_OK;
}

/* As its makers set it. */
static void look_at_number(choice *c, int64_t number)
{
    acui_dnn_set *set = &c->plan->set;
    size_t before = set->count;
    acui_cudnn_desc engine = acui_dnn_new(set, ENGINE);
    acui_dnn_put_desc(set, engine, ENGINE_GRAPH, c->graph);
    acui_dnn_put_int(set, engine, ENGINE_NUMBER, number);
    acui_dnn_finish(set, engine);
    acui_cudnn_desc config = acui_dnn_new(set, CONFIG);
    acui_dnn_put_desc(set, config, CONFIG_ENGINE, engine);
    acui_dnn_finish(set, config);
    if (set->status == ACU_OK && look_at(c, config))
        return;
    acui_dnn_end_after(set, before); /* most numbers are of engines for other graphs and devices */
    set->status = ACU_OK;
}

static void look_at_numbers(choice *c)
{
    int64_t numbers = 0, one;
    if (acui_cudnn.get(c->graph, GRAPH_ENGINES, ACUI_CUDNN_INT64, 1, &one, &numbers) != 0)
        return;
    numbers = numbers < NUMBERS ? numbers : NUMBERS;
    for (int64_t i = numbers; i-- > 0 && !is_enough(c);) /* the first are the slowest */
        look_at_number(c, i);
}

/* Heuristics may know nothing about a graph, which the other list may have. */
static void look_everywhere(choice *c)
{
    look_in_list(c, BY_ESTIMATE);
    if (c->key->measured && is_exact(c->key)) {
        c->most = ACUI_DNN_ENGINES;
        look_at_numbers(c);
    }
    look_in_list(c, FALLBACK);
    if (c->count == 0 && c->frugal.plan) { /* unless even that is more than is allowed */
        c->found[c->count++] = c->frugal;
        c->frugal = (acui_dnn_engine){NULL, 0};
    }
    if (c->count == 0 && c->large.plan) {
        c->found[c->count++] = c->large;
        c->large = (acui_dnn_engine){NULL, 0};
    }
}

/* Besides the chosen one, the one that needs least. */
static void keep(choice *c, int chosen)
{
    acui_dnn_plan *plan = c->plan;
    plan->engine[plan->engines++] = c->found[chosen];
    c->found[chosen] = (acui_dnn_engine){NULL, 0};
    acui_dnn_engine *least = c->frugal.plan ? &c->frugal : NULL;
    for (int i = 0; i < c->count; i++)
        if (c->found[i].plan && (!least || c->found[i].bytes < least->bytes))
            least = &c->found[i];
    if (least && least->bytes < plan->engine[0].bytes) {
        plan->engine[plan->engines++] = *least;
        *least = (acui_dnn_engine){NULL, 0};
    }
    for (int i = 0; i < c->count; i++)
        acui_dnn_end_engine(&c->found[i]);
    acui_dnn_end_engine(&c->frugal);
    acui_dnn_end_engine(&c->large);
}

acu_status acui_dnn_choose(acui_dnn_plan *plan, acui_cudnn_desc graph, acu_device *device,
                           const acui_dnn_key *key)
{
    choice c = {.plan = plan, .graph = graph, .key = key,
                .most = key->measured ? MEASURED : 1};
    int chosen = 0;
    look_everywhere(&c);
    if (c.count == 0 && c.last == ACU_ERR_NO_MEMORY)
        return c.last;
    if (c.count == 0 && c.last != ACU_OK)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "cuDNN has no engine for it on device %d: %.200s",
                         device->info.ordinal, acui_error()->message);
    if (c.count == 0)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "cuDNN has no engine for it on device %d",
                         device->info.ordinal);
    if (c.count > 1)
        chosen = acui_dnn_fastest(plan, c.found, c.count, device, key);
    keep(&c, chosen);
    return ACU_OK;
}
