/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the layers share when they are planned: operands, layouts, results. */
#ifndef ACUI_DNN_LAYER_H
#define ACUI_DNN_LAYER_H

#include "dnn/cudnn.h"
#include "ops/ops.h"

typedef struct acui_layer {
    acu_planning *p;
    const char *name;
    acu_dtype dtype;
    bool last; /* channels come last in memory */
    acui_dnn dnn;
    acu_arg args[ACUI_DNN_PLACES]; /* of the call, as far as they are known; results first */
    size_t count;
    acu_op *out; /* where the result is copied when it is there; NULL: it is put there itself */
} acui_layer;

acu_op *acui_layer_refuse(const acui_layer *l, acu_status status, size_t operand, const char *why);

/* Operand 0 gives the dtype and the layout; the others must agree with its dtype and rank. NULL:
 * they are what layers take. */
acu_op *acui_layer_check(acui_layer *l, size_t count);

/* Describe the tensor at a place of the plan: dense in the layer's layout. */
void acui_layer_describe(acui_layer *l, int place, acu_shape shape);

/* Check an operand that is a dense vector of f32 with one element for each channel. */
acu_op *acui_layer_vector(acui_layer *l, size_t operand, int64_t channels);
void acui_layer_use_vector(acui_layer *l, int place, size_t operand, acu_access access);

/* Add an operand to the call: as it lies, or a copy that lies as it was described. */
void acui_layer_read(acui_layer *l, int place, size_t operand);
/* Add a result to the call. `first`: it goes where acu_into says. Not NULL: the refusal. */
acu_op *acui_layer_write(acui_layer *l, int place, acu_dtype dtype, acu_shape shape, bool first);

/* An empty tensor in the layer's layout. */
acu_op *acui_layer_empty(const acui_layer *l, acu_dtype dtype, acu_shape shape);

/* Whether cuDNN is there. Looks for it, the first time that it is asked for in this process. */
bool acui_layer_by_cudnn(const acu_device *device);

/* The call. It yields the results, which come first among the arguments. */
acu_op *acui_layer_call(acui_layer *l, size_t results);
/* The operation failed before it was called: end the arguments. */
acu_op *acui_layer_drop(acui_layer *l, acu_op *failed);

#endif
