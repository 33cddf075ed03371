/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making a plan, which a thread of the loader does, and running it. */
#include "dnn/plan.h"

#include "base/alloc.h"
#include "base/error.h"

#include <acuda/dnn.h>

#include <string.h>

static const float one = 1, zero;

/* ---- what the engine does not do ------------------------------------------------------------- */

static acu_status old_tensor(acui_cudnn_desc *made, const acui_dnn_key *key, int place)
{
    int dims[ACUI_DNN_RANK], strides[ACUI_DNN_RANK];
    for (int i = 0; i < key->rank; i++) {
        dims[i] = (int)key->at[place].dim[i];
        strides[i] = (int)key->at[place].stride[i];
    }
    ACUI_TRY(acui_cudnn_said("cudnnCreateTensorDescriptor", acui_cudnn.new_tensor(made)));
    return acui_cudnn_said("cudnnSetTensorNdDescriptor",
                           acui_cudnn.set_tensor(*made, key->type, key->rank, dims, strides));
}

/* Bias and activation by themselves, where no engine has them. */
static acu_status add_rest(acui_dnn_plan *p, const acui_dnn_key *key)
{
    static const int modes[] = {[ACU_DNN_SIGMOID] = 0, [ACU_DNN_RELU] = 1, [ACU_DNN_TANH] = 2,
                                [ACU_DNN_SILU] = 6};
    enum { NAN_STAYS = 1 };
    ACUI_TRY(old_tensor(&p->y, key, ACUI_DNN_Y));
    if (key->bias)
        ACUI_TRY(old_tensor(&p->bias, key, ACUI_DNN_BIAS));
    if (key->activation == ACU_DNN_NONE)
        return ACU_OK;
    ACUI_TRY(acui_cudnn_said("cudnnCreateActivationDescriptor",
                             acui_cudnn.new_activation(&p->activation)));
    return acui_cudnn_said("cudnnSetActivationDescriptor",
                           acui_cudnn.set_activation(p->activation, modes[key->activation],
                                                     NAN_STAYS, 0));
}

static acu_status run_rest(const acui_dnn_plan *p, void *const *at)
{
    void *y = at[ACUI_DNN_Y];
    if (p->bias)
        ACUI_TRY(acui_cudnn_said("cudnnAddTensor", acui_cudnn.add(p->handle, &one, p->bias,
                                                                  at[ACUI_DNN_BIAS], &one, p->y,
                                                                  y)));
    if (!p->activation)
        return ACU_OK;
    return acui_cudnn_said("cudnnActivationForward",
                           acui_cudnn.activate(p->handle, p->activation, &one, p->y, y, &zero, p->y,
                                               y));
}

/* ---- making ---------------------------------------------------------------------------------- */

void acui_dnn_end(void *made)
{
    acui_dnn_plan *p = made;
    for (int i = 0; i < p->engines; i++)
        acui_dnn_end_engine(&p->engine[i]);
    acui_dnn_end_set(&p->set);
    if (p->activation)
        acui_cudnn.end_activation(p->activation);
    if (p->bias)
        acui_cudnn.end_tensor(p->bias);
    if (p->y)
        acui_cudnn.end_tensor(p->y);
    if (p->handle)
        acui_cudnn.destroy(p->handle);
    acui_free(p);
}

static acu_status choose(acui_dnn_plan *p, acu_device *device, const acui_dnn_key *key)
{
    acui_cudnn_desc graph = acui_dnn_graph(&p->set, p->handle, key);
    return graph ? acui_dnn_choose(p, graph, device, key) : p->set.status;
}

static acu_status fill_in(acui_dnn_plan *p, acu_device *device, const acui_dnn_key *key)
{
    acui_dnn_key alone = *key;
    ACUI_TRY(acui_cudnn_said("cudnnCreate", acui_cudnn.create(&p->handle)));
    acu_status st = choose(p, device, key);
    if (st != ACU_ERR_NOT_SUPPORTED || (!key->bias && key->activation == ACU_DNN_NONE))
        return st;
    acui_dnn_end_set(&p->set);
    alone.bias = false;
    alone.activation = ACU_DNN_NONE;
    memset(&alone.at[ACUI_DNN_BIAS], 0, sizeof alone.at[ACUI_DNN_BIAS]);
    ACUI_TRY(choose(p, device, &alone));
    return add_rest(p, key);
}

acu_status acui_dnn_make(acu_device *device, const void *key, bool first, void **made)
{
    (void)first;
    acui_dnn_key k;
    memcpy(&k, key, sizeof k);
    acui_dnn_plan *p = ACUI_NEW(acui_dnn_plan);
    if (!p)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a plan of cuDNN");
    acu_status st = fill_in(p, device, &k);
    if (st != ACU_OK)
        acui_dnn_end(p);
    else
        *made = p;
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

static acu_status pack(acui_dnn_set *set, void *const *at, void *memory, acui_cudnn_desc *made)
{
    enum { PACK = 16, IDS = 1000, ADDRESSES, MEMORY = 1003 };
    int64_t ids[ACUI_DNN_PLACES], count = 0;
    void *used[ACUI_DNN_PLACES];
    for (int i = 0; i < ACUI_DNN_PLACES; i++)
        if (at[i]) {
            ids[count] = i + 1;
            used[count++] = at[i];
        }
    acui_cudnn_desc d = acui_dnn_new(set, PACK);
    acui_dnn_put(set, d, IDS, ACUI_CUDNN_INT64, count, ids);
    acui_dnn_put(set, d, ADDRESSES, ACUI_CUDNN_VOID_PTR, count, used);
    acui_dnn_put(set, d, MEMORY, ACUI_CUDNN_VOID_PTR, 1, &memory);
    acui_dnn_finish(set, d);
    *made = d;
    return set->status;
}

acu_status acui_dnn_execute(acui_cudnn_handle handle, const acui_dnn_engine *engine,
                            void *const *at, void *memory)
{
    acui_cudnn_desc room[1], values;
    acui_dnn_set set = {.all = room, .room = 1};
    acu_status st = pack(&set, at, memory, &values);
    if (st == ACU_OK)
        st = acui_cudnn_said("cudnnBackendExecute",
                             acui_cudnn.execute(handle, engine->plan, values));
    if (set.count)
        acui_cudnn.end_desc(values);
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

acu_status acui_dnn_run(acui_vendor_work *work)
{
    const acui_dnn *d = work->data;
    const acui_dnn_plan *p = work->handle;
    void *at[ACUI_DNN_PLACES], *memory;
    int chosen = 0;
    for (int i = 0; i < ACUI_DNN_PLACES; i++)
        at[i] = d->place[i] < 0 ? NULL : acui_vendor_at(work, (size_t)d->place[i]);
    ACUI_TRY(acui_cudnn_said("cudnnSetStream", acui_cudnn.set_stream(p->handle, work->stream)));
    ACUI_TRY(engine_for(work, p, &chosen, &memory));
    void *bias = at[ACUI_DNN_BIAS];
    if (p->bias)
        at[ACUI_DNN_BIAS] = NULL;
    ACUI_TRY(acui_dnn_execute(p->handle, &p->engine[chosen], at, memory));
    at[ACUI_DNN_BIAS] = bias;
    return run_rest(p, at);
}
