/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making a plan, which a thread of the loader does, and running it. */
#include "dnn/plan.h"

#include "base/alloc.h"
#include "base/error.h"

#include <acuda/dnn.h>

#include <string.h>

/* ---- making ---------------------------------------------------------------------------------- */

void acui_dnn_end(void *made)
{
    acui_dnn_plan *p = made;
    for (int i = 0; i < p->engines; i++)
        acui_dnn_end_engine(&p->engine[i]);
    acui_dnn_end_set(&p->set);
    acui_dnn_old_end(p);
    acui_free(p);
}

acu_status acui_dnn_make_handle(void **made)
{
    acui_cudnn_handle handle = NULL;
    acu_status st = acui_cudnn_said("cudnnCreate", acui_cudnn.create(&handle));
    *made = handle;
    return st;
}

void acui_dnn_end_handle(void *made)
{
    acui_cudnn.destroy(made);
}

static acu_status choose(acui_dnn_plan *p, acu_device *device, const acui_dnn_key *key)
{
    acui_cudnn_desc graph = key->kind == ACUI_DNN_ATTENTION
                                ? acui_dnn_attention_graph(p, key)
                                : acui_dnn_graph(p, key);
    return graph ? acui_dnn_choose(p, graph, device, key) : p->set.status;
}

static acu_status fill_in(acui_dnn_plan *p, acu_device *device, const acui_dnn_key *key)
{
    acui_dnn_key alone = *key;
    if (key->kind >= ACUI_DNN_POOL)
        return acui_dnn_old_make(p, key);
    acu_status st = choose(p, device, key);
    if (st != ACU_ERR_NOT_SUPPORTED || (!key->bias && key->activation == ACU_DNN_NONE))
        return st;
    acui_dnn_end_set(&p->set);
    alone.bias = false;
    alone.activation = ACU_DNN_NONE;
    memset(&alone.at[ACUI_DNN_BIAS], 0, sizeof alone.at[ACUI_DNN_BIAS]);
    ACUI_TRY(choose(p, device, &alone));
    return acui_dnn_old_rest(p, key);
}

acu_status acui_dnn_make(acu_device *device, const void *key, bool first, void **made)
{
    (void)first;
    acui_dnn_key k;
    memcpy(&k, key, sizeof k);
    acui_dnn_plan *p = ACUI_NEW(acui_dnn_plan);
    if (!p)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a plan of cuDNN");
    void *handle;
    acu_status st = acui_handles_borrow(&acui_library_CUDNN, device, &p->handles, &handle);
    if (st == ACU_OK) {
        p->handle = handle;
        st = fill_in(p, device, &k);
        p->handle = NULL;
        acui_handles_give(p->handles, handle);
    }
    if (st != ACU_OK)
        acui_dnn_end(p);
    else
        *made = p;
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

static acu_status pack(acui_dnn_set *set, const acui_dnn_plan *p, void *const *at, void *memory,
                       acui_cudnn_desc *made)
{
    enum { PACK = 16, IDS = 1000, ADDRESSES, MEMORY = 1003 };
    int64_t ids[ACUI_DNN_PLACES + ACUI_DNN_MOST_SCALARS], count = 0;
    const void *used[ACUI_DNN_PLACES + ACUI_DNN_MOST_SCALARS];
    for (int i = 0; i < ACUI_DNN_PLACES; i++)
        if (at[i]) {
            ids[count] = i + 1;
            used[count++] = at[i];
        }
    for (int i = 0; i < p->scalars; i++) {
        ids[count] = ACUI_DNN_SCALARS + i;
        used[count++] = &p->scalar[i];
    }
    acui_cudnn_desc d = acui_dnn_new(set, PACK);
    acui_dnn_put(set, d, IDS, ACUI_CUDNN_INT64, count, ids);
    acui_dnn_put(set, d, ADDRESSES, ACUI_CUDNN_VOID_PTR, count, used);
    acui_dnn_put(set, d, MEMORY, ACUI_CUDNN_VOID_PTR, 1, &memory);
    acui_dnn_finish(set, d);
    *made = d;
    return set->status;
}

acu_status acui_dnn_execute(const acui_dnn_plan *plan, const acui_dnn_engine *engine,
                            void *const *at, void *memory)
{
    acui_cudnn_desc room[1], values;
    acui_dnn_set set = {.all = room, .room = 1};
    acu_status st = pack(&set, plan, at, memory, &values);
    if (st == ACU_OK)
        st = acui_cudnn_said("cudnnBackendExecute",
                             acui_cudnn.execute(plan->handle, engine->plan, values));
    if (set.count)
        acui_cudnn.end_desc(room[0]);
    return st;
}

/* The one that is chosen; if there is too little memory for it, the one that needs least. */
static acu_status engine_for(acui_vendor_work *work, const acui_dnn_plan *p, int *chosen,
                             void **memory)
{
    acu_status st = ACU_ERR_DEVICE_MEMORY;
    for (int i = 0; i < p->engines && st == ACU_ERR_DEVICE_MEMORY; i++) {
        *chosen = i;
        st = acui_vendor_scratch(work, p->engine[i].bytes, memory);
    }
    return st;
}

static acu_status run(acui_vendor_work *work, acui_dnn_plan *p)
{
    const acui_dnn *d = work->data;
    void *at[ACUI_DNN_PLACES], *memory;
    int chosen = 0;
    for (int i = 0; i < ACUI_DNN_PLACES; i++)
        at[i] = d->place[i] < 0 ? NULL : acui_vendor_at(work, (size_t)d->place[i]);
    ACUI_TRY(acui_cudnn_said("cudnnSetStream", acui_cudnn.set_stream(p->handle, work->stream)));
    if (p->engines == 0)
        return acui_dnn_old_run(p, d, at);
    ACUI_TRY(engine_for(work, p, &chosen, &memory));
    p->scalar[0].real = (float)d->scale; /* which only attention has */
    void *bias = at[ACUI_DNN_BIAS];
    if (p->tensor[ACUI_DNN_BIAS])
        at[ACUI_DNN_BIAS] = NULL;
    ACUI_TRY(acui_dnn_execute(p, &p->engine[chosen], at, memory));
    at[ACUI_DNN_BIAS] = bias;
    return acui_dnn_old_run_rest(p, at);
}

acu_status acui_dnn_run(acui_vendor_work *work)
{
    const acui_dnn_plan *plan = work->handle;
    acui_dnn_plan mine = *plan;
    mine.handle = acui_handles_take(plan->handles);
    acu_status st = run(work, &mine);
    acui_handles_give(plan->handles, mine.handle);
    return st;
}
