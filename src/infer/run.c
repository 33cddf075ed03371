/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A run of a model: a host operation that ends later (the CPU's provider), or a foreign call
 * (CUDA's). */
#include "infer/model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/host/host.h"
#include "op/call.h"

#define ORT acui_ort_calls

static const char name[] = "infer";

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct run {
    acui_aside job;
    acu_model *model; /* retained */
} run;

static void run_free(void *user)
{
    run *r = user;
    acu_model_release(r->model);
    acui_free(r);
}

/* onnxruntime's view of the tensor. */
static acu_status wrap(const acu_model *m, const acui_port *port, const acu_tensor *t,
                       ort_value **value)
{
    void *at = m->provider == ACU_PROVIDER_CUDA ? (void *)(uintptr_t)acu_tensor_address(t)
                                                : acu_tensor_host(t);
    return ACUI_ORT(value_of, m->memory, at, acu_tensor_bytes(t), acu_tensor_shape(t).dim,
                    (size_t)port->rank, acui_ort_type(port->dtype), value);
}

static acu_status wrap_all(const acu_model *m, const acu_val *values, ort_value **all)
{
    for (size_t i = 0; i < m->in.count; i++)
        ACUI_TRY(wrap(m, &m->in.list[i], values[i].tensor, &all[i]));
    for (size_t i = 0; i < m->out.count; i++)
        ACUI_TRY(wrap(m, &m->out.list[i], values[m->in.count + i].tensor,
                      &all[m->in.count + i]));
    return ACU_OK;
}

/* `values`: of inputs and outputs. These are written to where they belong, as their memory is
 * given. */
static acu_status run_model(const acu_model *m, const acu_val *values)
{
    size_t count = m->in.count + m->out.count;
    ort_value **all = ACUI_NEW_ARRAY(ort_value *, count);
    if (!all)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", name);
    acu_status st = wrap_all(m, values, all);
    if (st == ACU_OK)
        st = ACUI_ORT(run, m->session, m->options, m->in.names,
                      (const ort_value *const *)all, m->in.count, m->out.names, m->out.count,
                      all + m->in.count);
    for (size_t i = 0; i < count; i++)
        if (all[i])
            ORT.release_value(all[i]);
    acui_free(all);
    return st;
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

static acu_status run_aside(acui_aside *job, const acu_val *values)
{
    return run_model(((run *)job)->model, values); /* the job is its first member */
}

/* ---- by CUDA's provider ---------------------------------------------------------------------- */

/* The session's stream comes behind the operation's, and the other way round, even if the run
 * failed: something of it may be there. The model's lock is held. */
static acu_status run_between(acu_model *m, CUstream stream, const acu_val *values)
{
    acu_device *device = m->device;
    ACUI_TRY(ACUI_DEV(device, EventRecord, m->before, stream));
    ACUI_TRY(ACUI_DEV(device, StreamWaitEvent, m->stream, m->before, 0));
    acu_status st = run_model(m, values);
    acu_error record = *acui_error();
    acu_status after = ACUI_DEV(device, EventRecord, m->after, m->stream);
    if (after == ACU_OK)
        after = ACUI_DEV(device, StreamWaitEvent, stream, m->after, 0);
    if (after != ACU_OK) /* what the run uses must not go before it is over */
        device->cu->StreamSynchronize(m->stream);
    return st == ACU_OK ? after : acui_error_restore(&record);
}

static acu_status enqueue(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)count;
    acu_model *m = ((run *)user)->model;
    pthread_mutex_lock(&m->lock);
    acu_status st = run_between(m, stream, values);
    pthread_mutex_unlock(&m->lock);
    return st;
}

/* ---- the op ---------------------------------------------------------------------------------- */

acu_op *acui_infer_call(acu_model *m, const acu_arg *args, size_t count, acu_site site)
{
    static const acui_own_call own;
    run *r = ACUI_NEW(run);
    if (!r) {
        for (size_t i = 0; i < count; i++)
            acu_op_release(args[i].u.op);
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", name);
        return acu_op_fail(ACU_ERR_NO_MEMORY, name, site, NULL);
    }
    r->job.name = name;
    r->job.run = run_aside;
    r->model = acu_model_retain(m);
    acu_user user = {r, run_free};
    if (m->provider == ACU_PROVIDER_CPU)
        return acu_op_named(acu_op_host_async(acui_aside_begin, user, args, count, site), name);
    acu_op *op = acui_op_own_call(acu_op_foreign(enqueue, user, args, count, site), &own);
    acui_op_not_captured(op); /* onnxruntime allocates and copies as it likes */
    return acu_op_named(op, name);
}
