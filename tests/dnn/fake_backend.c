/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The backend API: descriptors keep their attributes as they are set; an operation graph is
 * understood when it is finalized. Of five engines each is noted for something: the first rounds
 * f32 to tf32, wants much memory, and can fuse; the second promises no order of sums; the last is
 * in no list, and has to be asked for by its number.
 */
#include "fake_graph.h"

typedef struct attribute {
    int name, type;
    int64_t count;
    union {
        int64_t whole[16];
        void *desc[16];
        char bytes[128];
    } value;
} attribute;

struct fake_desc {
    int type, engine;
    bool final;
    int count;
    attribute at[16];
    fake_graph graph; /* of a finalized operation graph, and what is made of it */
};

enum { ENGINES = 5 };
static const struct {
    int notes, note[2];
    int64_t bytes;
} engines[ENGINES] = {{1, {0}, 20 << 20}, {1, {4}, 512}, {0, {0}, 1024}, {0, {0}, 0},
                       {0, {0}, 0}};
static _Atomic(int) unordered; /* counts runs of the second engine */

int cudnnBackendCreateDescriptor(int type, fake_desc **d);
int cudnnBackendDestroyDescriptor(fake_desc *d);
int cudnnBackendFinalize(fake_desc *d);
int cudnnBackendSetAttribute(fake_desc *d, int name, int type, int64_t count, const void *values);
int cudnnBackendGetAttribute(fake_desc *d, int name, int type, int64_t most, int64_t *count,
                             void *values);
int cudnnBackendExecute(fake_handle *handle, fake_desc *plan, fake_desc *pack);

int cudnnBackendCreateDescriptor(int type, fake_desc **d)
{
    *d = fake_make(sizeof **d);
    if (!*d)
        return NO_MEMORY;
    (*d)->type = type;
    return SUCCESS;
}

int cudnnBackendDestroyDescriptor(fake_desc *d)
{
    return fake_drop(d);
}

/* ---- attributes ---- */

static size_t size_of(int type)
{
    switch (type) {
    case 0: /* handles */
    case 3: /* int64 */
    case 6: /* addresses */
    case 15: /* descriptors */
        return 8;
    case 2: /* bool */
        return 1;
    default:
        return 4;
    }
}

int cudnnBackendSetAttribute(fake_desc *d, int name, int type, int64_t count, const void *values)
{
    if (d->final)
        return fake_refuse(BAD_PARAM, "it is finalized");
    if (count < 1 || count > 16 || d->count == 16)
        return fake_refuse(BAD_PARAM, "so many values");
    attribute *a = &d->at[d->count++];
    *a = (attribute){.name = name, .type = type, .count = count};
    memcpy(a->value.bytes, values, (size_t)count * size_of(type));
    return SUCCESS;
}

static const attribute *find(const fake_desc *d, int name, int type)
{
    for (int i = 0; d && i < d->count; i++)
        if (d->at[i].name == name && d->at[i].type == type)
            return &d->at[i];
    return NULL;
}

bool fake_whole(const fake_desc *d, int name, int64_t *values, int64_t most, int64_t *count)
{
    const attribute *a = find(d, name, 3);
    if (!a || a->count > most)
        return false;
    memcpy(values, a->value.whole, (size_t)a->count * sizeof *values);
    *count = a->count;
    return true;
}

bool fake_number(const fake_desc *d, int name, int type, int *value)
{
    const attribute *a = find(d, name, type);
    *value = 0;
    if (a)
        memcpy(value, a->value.bytes, size_of(type));
    return a != NULL;
}

bool fake_real(const fake_desc *d, int name, float *value)
{
    const attribute *a = find(d, name, 4);
    if (a)
        memcpy(value, a->value.bytes, sizeof *value);
    return a != NULL;
}

fake_desc *fake_part(const fake_desc *d, int name, int type)
{
    const attribute *a = find(d, name, 15);
    fake_desc *part = a ? a->value.desc[0] : NULL;
    return part && part->final && (type < 0 || part->type == type) ? part : NULL;
}

int fake_kind(const fake_desc *d)
{
    return d->type;
}

/* ---- finalizing ---- */

static int finalize_graph(fake_desc *d)
{
    const attribute *ops = find(d, 801, 15);
    if (!ops || !find(d, 800, 0))
        return fake_refuse(BAD_PARAM, "a graph has a handle and operations");
    for (int64_t i = 0; i < ops->count; i++)
        if (!ops->value.desc[i] || !((fake_desc *)ops->value.desc[i])->final)
            return fake_refuse(NOT_FINALIZED, "an operation is not finalized");
    return fake_understand(&d->graph, (fake_desc *const *)ops->value.desc, ops->count);
}

static bool can_run(const fake_graph *g, int engine)
{
    return engine == 0 || !fake_is_fused(g);
}

/* As the library does with numbers of engines for other graphs, it refuses one of them. */
static int finalize_engine(fake_desc *d)
{
    const fake_desc *graph = fake_part(d, 1300, 15);
    const attribute *number = find(d, 1301, 3);
    if (!graph || !number || number->value.whole[0] < 0 || number->value.whole[0] >= ENGINES)
        return fake_refuse(BAD_PARAM, "an engine has a graph and a number");
    d->graph = graph->graph;
    d->engine = (int)number->value.whole[0];
    return d->engine == 3 ? NO_PATTERN : SUCCESS;
}

static int finalize_config(fake_desc *d)
{
    const fake_desc *engine = fake_part(d, 300, 2);
    if (!engine)
        return fake_refuse(BAD_PARAM, "a configuration has an engine");
    d->graph = engine->graph;
    d->engine = engine->engine;
    return SUCCESS;
}

static int finalize_plan(fake_desc *d)
{
    const fake_desc *config = fake_part(d, 401, 3);
    if (!config || !find(d, 400, 0))
        return fake_refuse(BAD_PARAM, "a plan has a handle and a configuration");
    d->graph = config->graph;
    d->engine = config->engine;
    if (!can_run(&d->graph, d->engine))
        return fake_refuse(NO_PATTERN, "the engine does not fuse");
    return SUCCESS;
}

int cudnnBackendFinalize(fake_desc *d)
{
    int status = SUCCESS, mode;
    const fake_desc *graph = d->type == 4 ? fake_part(d, 201, 15) : NULL;
    if (d->type == 17)
        status = fake_check_tensor(d);
    else if (d->type == 15)
        status = finalize_graph(d);
    else if (d->type == 2)
        status = finalize_engine(d);
    else if (d->type == 3)
        status = finalize_config(d);
    else if (d->type == 5)
        status = finalize_plan(d);
    else if (d->type == 4 && (!graph || !fake_number(d, 200, 8, &mode)))
        status = fake_refuse(BAD_PARAM, "heuristics have a graph and a mode");
    else if (d->type == 4)
        d->graph = graph->graph;
    d->final = status == SUCCESS;
    return status;
}

/* ---- what is chosen ---- */

static int results(const fake_desc *d, int64_t most, int64_t *count, fake_desc *const *configs)
{
    int mode, from;
    fake_number(d, 200, 8, &mode);
    from = mode == 2 ? 3 : 0; /* the fallbacks */
    *count = mode == 2 ? 1 : 3;
    for (int i = 0; i < most && i < *count; i++) {
        configs[i]->graph = d->graph;
        configs[i]->engine = from + i;
        configs[i]->final = true;
    }
    return SUCCESS;
}

int cudnnBackendGetAttribute(fake_desc *d, int name, int type, int64_t most, int64_t *count,
                             void *values)
{
    (void)type;
    if (!d->final)
        return fake_refuse(NOT_FINALIZED, "it is not finalized");
    if (d->type == 4 && name == 202)
        return results(d, most, count, values);
    *count = 1;
    if (d->type == 15 && name == 802 && most == 1) {
        *(int64_t *)values = ENGINES;
        return SUCCESS;
    }
    if (d->type == 3 && name == 300 && most == 1) {
        fake_desc *engine = *(fake_desc **)values;
        engine->engine = d->engine;
        engine->final = true;
        return SUCCESS;
    }
    if (d->type == 2 && name == 1303) {
        *count = engines[d->engine].notes;
        memcpy(values, engines[d->engine].note, (size_t)*count * sizeof(int));
        return SUCCESS;
    }
    if (d->type == 5 && name == 402 && most == 1) {
        memcpy(values, &engines[d->engine].bytes, 8);
        return SUCCESS;
    }
    return fake_refuse(BAD_PARAM, "no such attribute");
}

/* ---- running ---- */

static int fill_in(fake_graph *g, const fake_desc *pack)
{
    const attribute *ids = find(pack, 1000, 3), *at = find(pack, 1001, 6);
    if (!ids || !at || ids->count != at->count)
        return fake_refuse(BAD_PARAM, "numbers and addresses do not match");
    for (int64_t i = 0; i < ids->count; i++)
        if (!fake_place(g, ids->value.whole[i], at->value.desc[i]))
            return fake_refuse(BAD_PARAM, "a number or an address that the graph does not have");
    return fake_is_complete(g) ? SUCCESS : fake_refuse(BAD_PARAM, "an address is missing");
}

int cudnnBackendExecute(fake_handle *handle, fake_desc *plan, fake_desc *pack)
{
    fake_graph g;
    const attribute *memory = find(pack, 1003, 6);
    if (!plan->final || plan->type != 5 || !pack->final || pack->type != 16)
        return fake_refuse(BAD_PARAM, "no plan, or no pack");
    g = plan->graph;
    int status = fill_in(&g, pack);
    if (status == SUCCESS)
        status = fake_use(handle);
    if (status != SUCCESS)
        return status;
    g.memory = memory ? memory->value.desc[0] : NULL;
    g.bytes = engines[plan->engine].bytes;
    atomic_fetch_or(&fake_cudnn.ways, 1 << plan->engine);
    g.rounds = plan->engine == 0 && g.at[0].type == 0;
    g.shift = plan->engine == 1 ? atomic_fetch_add(&unordered, 1) : 0;
    status = fake_enqueue(handle->stream, fake_run_graph, &g, sizeof g, FAILED);
    fake_used(handle);
    return status;
}
