/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loading models: a session of onnxruntime, and what it says of its inputs and outputs. */
#include "infer/model.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/options.h"

#include <stdio.h>
#include <string.h>

#define ORT acui_ort_calls

static acu_status no_memory(void)
{
    return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a model");
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

static char *copy_of(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = acui_alloc(bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

static acu_status refuse_port(const acui_port *port, const char *why, long long number)
{
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "acu_model_load: \"%.100s\" of the model %s (%lld)",
                     port->name, why, number);
}

static acu_status read_extents(acui_port *port, const ort_tensor_type *type)
{
    const char *symbols[ACU_MAX_RANK] = {NULL};
    size_t rank = 0;
    ACUI_TRY(ACUI_ORT(rank, type, &rank));
    if (rank > ACU_MAX_RANK)
        return refuse_port(port, "has more dimensions than acuda's tensors", (long long)rank);
    ACUI_TRY(ACUI_ORT(dims, type, port->shape.dim, rank));
    ACUI_TRY(ACUI_ORT(symbols, type, symbols, rank));
    port->rank = (int)rank;
    port->shape.rank = rank ? (int)rank : 1;
    if (rank == 0)
        port->shape.dim[0] = 1;
    for (size_t d = 0; d < rank; d++) {
        if (port->shape.dim[d] == 0)
            return refuse_port(port, "is empty: dimension of no elements", (long long)d);
        if (port->shape.dim[d] > 0)
            continue;
        port->shape.dim[d] = 0;
        port->symbols[d] = symbols[d] && *symbols[d] ? copy_of(symbols[d]) : NULL;
        if (symbols[d] && *symbols[d] && !port->symbols[d])
            return no_memory();
    }
    return ACU_OK;
}

static acu_status read_tensor(acui_port *port, const ort_type *type)
{
    const ort_tensor_type *tensor = NULL;
    int element = 0;
    ACUI_TRY(ACUI_ORT(tensor_type, type, &tensor));
    if (!tensor)
        return refuse_port(port, "is no tensor, but something else", 0);
    ACUI_TRY(ACUI_ORT(element_type, tensor, &element));
    port->dtype = acui_ort_dtype(element);
    if (port->dtype == ACU_NO_DTYPE)
        return refuse_port(port, "has elements of a type that acuda does not have: ONNX's number",
                           element);
    return read_extents(port, tensor);
}

static acu_status read_name(acui_port *port, const ort_session *session, bool output, size_t i)
{
    ort_allocator *allocator;
    char *name;
    ACUI_TRY(ACUI_ORT(allocator, &allocator));
    ACUI_TRY(output ? ACUI_ORT(output_name, session, i, allocator, &name)
                    : ACUI_ORT(input_name, session, i, allocator, &name));
    port->name = copy_of(name);
    acu_status st = ACUI_ORT(give, allocator, name);
    return port->name ? st : no_memory();
}

static acu_status read_port(acui_port *port, const ort_session *session, bool output, size_t i)
{
    ort_type *type;
    ACUI_TRY(read_name(port, session, output, i));
    ACUI_TRY(output ? ACUI_ORT(output_type, session, i, &type)
                    : ACUI_ORT(input_type, session, i, &type));
    acu_status st = read_tensor(port, type);
    ORT.release_type(type);
    return st;
}

static acu_status read_ports(acui_ports *ports, const ort_session *session, bool output)
{
    size_t count = 0;
    ACUI_TRY(output ? ACUI_ORT(output_count, session, &count)
                    : ACUI_ORT(input_count, session, &count));
    ports->list = ACUI_NEW_ARRAY(acui_port, count + 1);
    ports->names = ACUI_NEW_ARRAY(const char *, count + 1);
    if (!ports->list || !ports->names)
        return no_memory();
    for (size_t i = 0; i < count; i++) {
        ports->count = i + 1;
        ACUI_TRY(read_port(&ports->list[i], session, output, i));
        ports->names[i] = ports->list[i].name;
    }
    return ACU_OK;
}

static void free_ports(acui_ports *ports)
{
    for (size_t i = 0; i < ports->count; i++) {
        acui_free(ports->list[i].name);
        for (int d = 0; d < ACU_MAX_RANK; d++)
            acui_free(ports->list[i].symbols[d]);
    }
    acui_free(ports->list);
    acui_free(ports->names);
}

/* ---- providers ------------------------------------------------------------------------------- */

static acu_status has_cuda(bool *has)
{
    char **names = NULL;
    int count = 0;
    *has = false;
    ACUI_TRY(ACUI_ORT(providers, &names, &count));
    for (int i = 0; i < count; i++)
        *has |= strcmp(names[i], "CUDAExecutionProvider") == 0;
    return acui_ort_said("release_providers", ORT.release_providers(names, count));
}

static acu_status choose(acu_model *m, acu_provider wanted)
{
    bool cuda = false;
    m->provider = ACU_PROVIDER_CPU;
    if (wanted != ACU_PROVIDER_CPU)
        ACUI_TRY(has_cuda(&cuda));
    if (wanted == ACU_PROVIDER_CUDA && !cuda)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "acu_model_load: onnxruntime as %s has no provider "
                         "for CUDA (pip install onnxruntime-gpu has one)",
                         acui_library_path(&acui_library_ONNXRUNTIME));
    if (cuda && (wanted == ACU_PROVIDER_CUDA || !m->device->info.software))
        m->provider = ACU_PROVIDER_CUDA;
    return ACU_OK;
}

static acu_status set_cuda(const acu_model *m, ort_session_options *options,
                           ort_cuda_options *cuda)
{
    char device[16], stream[24];
    const char *const keys[] = {"device_id", "has_user_compute_stream", "user_compute_stream"};
    const char *const values[] = {device, "1", stream};
    snprintf(device, sizeof device, "%d", m->device->info.ordinal);
    snprintf(stream, sizeof stream, "%llu", (unsigned long long)(uintptr_t)m->stream);
    ACUI_TRY(ACUI_ORT(set_cuda, cuda, keys, values, sizeof keys / sizeof *keys));
    return ACUI_ORT(use_cuda, options, cuda);
}

static acu_status use_cuda(acu_model *m, ort_session_options *options)
{
    ort_cuda_options *cuda;
    acu_device *device = m->device;
    ACUI_TRY(ACUI_DEV(device, StreamCreate, &m->stream, ACU_CU_STREAM_NON_BLOCKING));
    ACUI_TRY(ACUI_DEV(device, EventCreate, &m->before, ACU_CU_EVENT_DISABLE_TIMING));
    ACUI_TRY(ACUI_DEV(device, EventCreate, &m->after, ACU_CU_EVENT_DISABLE_TIMING));
    ACUI_TRY(ACUI_ORT(create_cuda_options, &cuda));
    acu_status st = set_cuda(m, options, cuda);
    ORT.release_cuda_options(cuda);
    if (st == ACU_OK) /* a run returns once all of it is on the stream */
        st = ACUI_ORT(set_run, m->options, "disable_synchronize_execution_providers", "1");
    return st;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What would go to stderr; failures are told by statuses. */
static void drop_log(void *user, int severity, const char *category, const char *id,
                     const char *where, const char *message)
{
    (void)user, (void)severity, (void)category, (void)id, (void)where, (void)message;
}

static acu_status make_session(acu_model *m, const acu_model_options *o,
                               ort_session_options *options)
{
    if (o->threads)
        ACUI_TRY(ACUI_ORT(set_threads, options, o->threads));
    if (m->provider == ACU_PROVIDER_CUDA)
        ACUI_TRY(use_cuda(m, options));
    return o->path ? ACUI_ORT(session_of_file, m->env, o->path, options, &m->session)
                   : ACUI_ORT(session_of_bytes, m->env, o->data, o->bytes, options, &m->session);
}

static acu_status fill_in(acu_model *m, const acu_model_options *o)
{
    ort_session_options *options;
    ACUI_TRY(choose(m, o->provider));
    ACUI_TRY(ACUI_ORT(create_env, drop_log, NULL, ACUI_ORT_FATAL, "acuda", &m->env));
    ACUI_TRY(ACUI_ORT(create_run_options, &m->options));
    ACUI_TRY(m->provider == ACU_PROVIDER_CUDA
                 ? ACUI_ORT(create_memory, "Cuda", ACUI_ORT_DEVICE, m->device->info.ordinal,
                            ACUI_ORT_DEFAULT, &m->memory)
                 : ACUI_ORT(create_host_memory, ACUI_ORT_DEVICE, ACUI_ORT_DEFAULT, &m->memory));
    ACUI_TRY(ACUI_ORT(create_session_options, &options));
    acu_status st = make_session(m, o, options);
    ORT.release_session_options(options);
    ACUI_TRY(st);
    ACUI_TRY(read_ports(&m->in, m->session, false));
    return read_ports(&m->out, m->session, true);
}

static acu_status check(const acu_model_options *o, acu_model **model)
{
    if (!model)
        return acui_fail(ACU_ERR_INVALID, "acu_model_load: nowhere to put the model");
    if (!o->path == !o->data)
        return acui_fail(ACU_ERR_INVALID, "acu_model_load: the options name %s",
                         o->path ? "a path and data: one of them is the model"
                                 : "no model, by path or data");
    if ((unsigned)o->provider > ACU_PROVIDER_CUDA)
        return acui_fail(ACU_ERR_INVALID, "acu_model_load: %d is no acu_provider",
                         (int)o->provider);
    if (o->threads < 0)
        return acui_fail(ACU_ERR_INVALID, "acu_model_load: %d threads", o->threads);
    return ACU_OK;
}

/* Outside of the device's context, for the CPU's provider, everything works as well. */
static acu_status load(acu_model *m, const acu_model_options *o)
{
    acui_entered entered;
    ACUI_TRY(acui_ort_open(m->device));
    ACUI_TRY(acui_enter(m->device, &entered));
    acu_status st = fill_in(m, o);
    acui_leave(&entered);
    return st;
}

acu_status acu_model_load(acu_device *device, const acu_model_options *options, acu_model **model)
{
    acu_model_options o;
    ACUI_REFUSE_FORK();
    ACUI_CHECK(device, DEVICE);
    ACUI_TRY(acui_options_read(&o, sizeof o, options, __func__));
    ACUI_TRY(check(&o, model));
    ACUI_TRY(acui_refuse_wait(__func__));
    ACUI_TRY(acui_device_check(device));
    *model = NULL;
    acu_model *m = acui_object_new(ACU_OBJECT_MODEL, sizeof *m);
    if (!m)
        return no_memory();
    pthread_mutex_init(&m->lock, NULL);
    m->device = acu_device_retain(device);
    acu_status st = load(m, &o);
    if (st == ACU_OK) {
        *model = m;
        return ACU_OK;
    }
    acu_error record = *acui_error(); /* releasing must not change what the caller sees */
    acu_model_release(m);
    return acui_error_restore(&record);
}

/* ---- life ------------------------------------------------------------------------------------ */

acu_model *acu_model_retain(acu_model *model)
{
    if (acui_object_is(model, ACU_OBJECT_MODEL))
        acui_object_retain(model);
    return model;
}

/* Of a lost device, whose context is of no use any more, what refers to that is left behind. */
static void end(acu_model *m)
{
    acui_entered entered;
    bool usable = acui_enter_to_free(m->device, &entered);
    if (m->session && (usable || m->provider != ACU_PROVIDER_CUDA))
        ORT.release_session(m->session);
    if (m->options)
        ORT.release_run_options(m->options);
    if (m->memory)
        ORT.release_memory(m->memory);
    if (m->env && (usable || m->provider != ACU_PROVIDER_CUDA))
        ORT.release_env(m->env);
    if (m->before && usable)
        m->device->cu->EventDestroy(m->before);
    if (m->after && usable)
        m->device->cu->EventDestroy(m->after);
    if (m->stream && usable)
        m->device->cu->StreamDestroy(m->stream);
    acui_leave(&entered);
}

void acu_model_release(acu_model *model)
{
    if (!acui_object_is(model, ACU_OBJECT_MODEL) || !acui_object_drop(model))
        return;
    acu_device *device = model->device;
    end(model);
    free_ports(&model->in);
    free_ports(&model->out);
    pthread_mutex_destroy(&model->lock);
    acui_object_free(model);
    acu_device_release(device);
}

/* ---- facts ----------------------------------------------------------------------------------- */

acu_provider acu_model_provider(const acu_model *model)
{
    return acui_object_is(model, ACU_OBJECT_MODEL) ? model->provider : ACU_PROVIDER_ANY;
}

size_t acu_model_inputs(const acu_model *model)
{
    return acui_object_is(model, ACU_OBJECT_MODEL) ? model->in.count : 0;
}

size_t acu_model_outputs(const acu_model *model)
{
    return acui_object_is(model, ACU_OBJECT_MODEL) ? model->out.count : 0;
}

static acu_status tell(const acui_ports *ports, size_t index, acu_model_value *value,
                       const char *function)
{
    if (index >= ports->count)
        return acui_fail(ACU_ERR_INVALID, "%s: the model has %zu of them, and none of index %zu",
                         function, ports->count, index);
    const acui_port *port = &ports->list[index];
    acu_model_value v = {.name = port->name, .dtype = port->dtype, .shape = port->shape};
    for (int d = 0; d < ACU_MAX_RANK; d++)
        v.symbols[d] = port->symbols[d] ? port->symbols[d] : "";
    return acui_struct_write(value, &v, sizeof v, function);
}

acu_status acu_model_input(const acu_model *model, size_t index, acu_model_value *value)
{
    ACUI_CHECK(model, MODEL);
    return tell(&model->in, index, value, __func__);
}

acu_status acu_model_output(const acu_model *model, size_t index, acu_model_value *value)
{
    ACUI_CHECK(model, MODEL);
    return tell(&model->out, index, value, __func__);
}
