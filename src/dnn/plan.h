/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A plan: all of cuDNN's objects for one kind of operation and shape. graph.c describes it to the
 * backend API, engines.c chooses an engine for that, plan.c makes the whole and runs it.
 */
#ifndef ACUI_DNN_PLAN_H
#define ACUI_DNN_PLAN_H

#include "dnn/cudnn.h"

/* Descriptors of the backend API that live together. Once something failed, nothing more is done,
 * and `status` says that. */
typedef struct acui_dnn_set {
    acui_cudnn_desc *all;
    size_t count, room;
    acu_status status;
} acui_dnn_set;

acui_cudnn_desc acui_dnn_new(acui_dnn_set *set, int type); /* NULL: it failed */
void acui_dnn_put(acui_dnn_set *set, acui_cudnn_desc d, int name, int type, int64_t count,
                  const void *values);
void acui_dnn_finish(acui_dnn_set *set, acui_cudnn_desc d); /* no more is put */
void acui_dnn_end_set(acui_dnn_set *set);
void acui_dnn_end_after(acui_dnn_set *set, size_t count); /* those behind the first `count` */

/* Of an attribute's values. */
enum {
    ACUI_CUDNN_HANDLE = 0,
    ACUI_CUDNN_DATA_TYPE = 1,
    ACUI_CUDNN_BOOLEAN = 2,
    ACUI_CUDNN_INT64 = 3,
    ACUI_CUDNN_FLOAT = 4,
    ACUI_CUDNN_VOID_PTR = 6,
    ACUI_CUDNN_CONVOLUTION_MODE = 7,
    ACUI_CUDNN_HEUR_MODE = 8,
    ACUI_CUDNN_NUMERICAL_NOTE = 11,
    ACUI_CUDNN_POINTWISE_MODE = 14,
    ACUI_CUDNN_DESCRIPTOR = 15,
    ACUI_CUDNN_REDUCTION = 18
};

/* Short for what is put most. */
void acui_dnn_put_int(acui_dnn_set *set, acui_cudnn_desc d, int name, int64_t value);
void acui_dnn_put_type(acui_dnn_set *set, acui_cudnn_desc d, int name, int type);
void acui_dnn_put_desc(acui_dnn_set *set, acui_cudnn_desc d, int name, acui_cudnn_desc value);

/* A tensor of a graph. Engines get the address of a real one by its `id`. */
typedef enum acui_dnn_where { ACUI_DNN_REAL, ACUI_DNN_VIRTUAL, ACUI_DNN_BY_VALUE } acui_dnn_where;
acui_cudnn_desc acui_dnn_tensor_of(acui_dnn_set *set, const acui_dnn_tensor *t, int rank, int type,
                                   int align, int64_t id, acui_dnn_where where);

/* to = of + and, to = where ? of : and, or what else the mode says, in that precision; NULL, and an
 * axis below 0, where it has none. */
acui_cudnn_desc acui_dnn_pointwise(acui_dnn_set *set, int mode, int precision, acui_cudnn_desc of,
                                   acui_cudnn_desc and, acui_cudnn_desc where, acui_cudnn_desc to,
                                   int axis);

acui_cudnn_desc acui_dnn_graph_of(acui_dnn_set *set, acui_cudnn_handle handle,
                                  const acui_cudnn_desc *ops, int64_t count);

/* An engine that is ready, and the temporary memory that it needs. */
typedef struct acui_dnn_engine {
    acui_cudnn_desc plan;
    size_t bytes;
} acui_dnn_engine;

enum { ACUI_DNN_ENGINES = 16 }; /* are measured, at most */
enum { ACUI_DNN_SCALARS = 100, ACUI_DNN_MOST_SCALARS = 4 };

void acui_dnn_end_engine(acui_dnn_engine *engine);

/* Any number of threads run it at the same time, each with a copy of this struct. */
typedef struct acui_dnn_plan {
    acui_handles *handles;    /* the device's */
    acui_cudnn_handle handle; /* one of them: while it is made, and in the copies */
    acui_dnn_set set;
    acui_dnn_engine engine[2]; /* the one to use; one for when there is too little memory */
    int engines;
    /* Descriptors of the older calls: what layers need, or what is left to do after the engine;
     * NULL: nothing. */
    acui_cudnn_desc tensor[ACUI_DNN_TENSORS], activation, pooling;
    union { /* which the graph reads from host memory; their ids begin with ACUI_DNN_SCALARS */
        float real;
        int32_t whole;
    } scalar[ACUI_DNN_MOST_SCALARS];
    int scalars;
} acui_dnn_plan;

/* The graph of a convolution or of attention. NULL: plan->set.status says why. */
acui_cudnn_desc acui_dnn_graph(acui_dnn_plan *plan, const acui_dnn_key *key);
acui_cudnn_desc acui_dnn_attention_graph(acui_dnn_plan *plan, const acui_dnn_key *key);

/* Choose engines for the graph. NOT_SUPPORTED: there are none. The device is entered. */
acu_status acui_dnn_choose(acui_dnn_plan *plan, acui_cudnn_desc graph, acu_device *device,
                           const acui_dnn_key *key);

/* Which of the engines is the fastest, on a stream and memory of its own; 0 if that can not be
 * told. */
int acui_dnn_fastest(const acui_dnn_plan *plan, const acui_dnn_engine *engines, int count,
                     acu_device *device, const acui_dnn_key *key);

/* Run an engine with the values at these addresses (0: there is none). */
acu_status acui_dnn_execute(const acui_dnn_plan *plan, const acui_dnn_engine *engine,
                            void *const *at, void *memory);

/* Layers by older calls, and bias and activation behind an engine. */
acu_status acui_dnn_old_make(acui_dnn_plan *plan, const acui_dnn_key *key);
acu_status acui_dnn_old_rest(acui_dnn_plan *plan, const acui_dnn_key *key);
void acui_dnn_old_end(acui_dnn_plan *plan);
acu_status acui_dnn_old_run(const acui_dnn_plan *plan, const acui_dnn *op, void *const *at);
acu_status acui_dnn_old_run_rest(const acui_dnn_plan *plan, void *const *at);

acu_status acui_dnn_make(acu_device *device, const void *key, bool first, void **made);
void acui_dnn_end(void *made);
acu_status acui_dnn_make_handle(void **made);
void acui_dnn_end_handle(void *made);

#endif
