/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A model: onnxruntime's session, and what it says of its inputs and outputs. */
#ifndef ACUI_INFER_MODEL_H
#define ACUI_INFER_MODEL_H

#include "infer/ort.h"

#include <acuda/infer.h>

/* An input or output. */
typedef struct acui_port {
    char *name;
    acu_dtype dtype;
    int rank;       /* onnxruntime's: 0 for a number, whose shape is [1] here */
    acu_shape shape; /* an extent of 0: any */
    char *symbols[ACU_MAX_RANK]; /* of such an extent: NULL if it has no name */
} acui_port;

typedef struct acui_ports {
    acui_port *list;
    const char **names; /* the same, for onnxruntime */
    size_t count;
} acui_ports;

struct acu_model {
    acui_object object;
    acu_device *device; /* retained */
    acu_provider provider;
    ort_env *env;
    ort_session *session;
    ort_memory *memory;       /* where its tensors are */
    ort_run_options *options; /* the same for every run */
    acui_ports in, out;
    /* Of CUDA's provider: the stream that the session is bound to, the marks between it and the
     * streams of operations, and a lock, held while one run is enqueued. */
    CUstream stream;
    CUevent before, after;
    pthread_mutex_t lock;
};

/* An op that runs the model: of its inputs, dense and in the memory of its provider, and its
 * outputs, all of which it consumes and yields. It is acuda's own: what it fails with is told as it
 * is. */
acu_op *acui_infer_call(acu_model *model, const acu_arg *args, size_t count, acu_site site);

#endif
