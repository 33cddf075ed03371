/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The inside of operations: what an op is, and how it becomes nodes.
 *
 * An op is a node of a graph of descriptions. Planning a submission walks that graph once: each op
 * yields its values and appends the nodes (plan.h) that do its work. The walk consumes the ops. One
 * that nobody else holds is freed once it is planned; one with other holders keeps its values for
 * its other users.
 */
#ifndef ACUI_OP_OP_H
#define ACUI_OP_OP_H

#include "base/object.h"
#include "memory/memory.h"
#include "op/plan.h"

#include <acuda/debug.h>
#include <acuda/op.h>

/* The bits of a scalar; of c128, those of its two parts. */
typedef struct acui_scalar {
    uint64_t bits, imaginary;
} acui_scalar;

#define ACUI_OP_NAME 48

/* Kinds of ops: the id, and the name that messages use. Each has a class, acui_class_ID. */
#define ACUI_OPS(X)                                                                                \
    X(FAILED, "failed op") X(VALUE, "value") X(ZIP, "zip") X(PART, "unzip") X(NTH, "nth")          \
    X(THEN, "then") X(MAP, "map") X(INSPECT, "inspect") X(SHARE, "share") X(OWN, "own")            \
    X(ON, "on") X(PARTITION, "partition") X(UNPARTITION, "unpartition") X(RESHAPE, "reshape")      \
    X(SLICE, "slice") X(SELECT, "select") X(SQUEEZE, "squeeze") X(UNSQUEEZE, "unsqueeze")          \
    X(PERMUTE, "permute") X(TRANSPOSE, "transpose") X(BROADCAST, "broadcast_to")                   \
    X(FLATTEN, "flatten") X(REINTERPRET, "reinterpret")                                            \
    X(EMPTY, "empty") X(CONST, "const") X(FILL, "fill") X(COPY, "copy")                            \
    X(COPY_MANY, "copies") X(DUP, "dup")                                                           \
    X(TO_HOST, "to_host") X(TO_DEVICE, "to_device") X(LAUNCH, "launch") X(FOREIGN, "foreign")      \
    X(HOST, "host") X(REPLAY, "replay") X(CONTEXT, "context") X(OR_ELSE, "or_else")                \
    X(FINALLY, "finally") X(AFTER, "after") X(AFTER_FUTURE, "after_future") X(MAKE, "make")        \
    X(CUSTOM, "custom") X(INTO, "into") X(WITH_POOL, "with_pool")                                  \
    X(PREFETCH, "prefetch") X(ADVISE, "advise") X(META, "meta")

/* What a kind of op does; `plan` runs once, on the submitting thread, with no lock held. */
typedef struct acui_op_class {
    const char *name;
    /* Append nodes and push values. On failure the thread's record is set, and the caller drops the
     * values. `fallback` is the device for parts that name none; it may be NULL. */
    acu_status (*plan)(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values);
    void (*destroy)(acu_op *op); /* releases what the kind holds besides its inputs; may be NULL */
    uint8_t passes; /* 1 + the input whose values it only passes on; 0: it does more, or less */
} acui_op_class;

#define ACU_X(id, name) extern const acui_op_class acui_class_##id;
ACUI_OPS(ACU_X)
#undef ACU_X

typedef enum acui_op_state { ACUI_OP_FRESH, ACUI_OP_PLANNING, ACUI_OP_DONE } acui_op_state;

typedef struct acui_view acui_view;

/* What most ops never have. It is part of the op's memory; nothing is read before it was set. */
typedef struct acui_op_rest {
    char name[ACUI_OP_NAME]; /* if the op is `named` */
    /* Valid from PLANNING on; under the share lock (plan_op.c): */
    acui_plan *planner;     /* set while PLANNING, and while DONE but not yet entered into the
                             * order */
    acu_op *next_unpublished; /* the planner's list */
    acui_values values;     /* if DONE: for further users */
    acui_child *child; /* SHARED */
    acui_fault *fault; /* if DONE and failed */
} acui_op_rest;

/* References come in two kinds. `object.refs` counts all of them; `handles` counts those of the
 * program. Taking an op moves one from the program to the taker. An op that has no handle left was
 * taken before. */
struct acu_op {
    acui_object object;
    _Atomic(uint32_t) handles;
    /* If the op has one reference, only its holder uses this; else it is under the share lock
     * (plan_op.c). Not FRESH any more once the op was planned for several users. */
    uint8_t state;      /* acui_op_state */
    bool named;         /* else messages use the class's name */
    bool renamed;       /* the name is the program's */
    bool has_user;
    bool used_whole;    /* of an op that was unzipped: others besides its parts use it */
    const acui_op_class *class;
    acu_site site;
    size_t input_count;
    acu_op **inputs; /* one reference each; each is NULL once planned */
    acui_op_rest *rest;
    acu_op *next_dead;  /* links ops that are being destroyed, so that deep ones need no stack */

    union {
        acu_val value;                                          /* VALUE, PARTITION */
        acui_fault *fault;                                      /* FAILED */
        size_t index;                                           /* NTH, PART */
        struct { acu_then_fn fn; } then;                        /* THEN */
        struct { acu_make_fn fn; } made;                        /* MAKE */
        struct { acu_custom_fn fn; size_t bytes; } custom;      /* CUSTOM: data follows the
                                                                 * inputs */
        struct { acu_map_fn fn; } map;                          /* MAP */
        struct { acu_inspect_fn fn; } inspect;                  /* INSPECT */
        acu_device *device;                                     /* ON, TO_DEVICE: retained */
        acu_pool *pool;                                         /* WITH_POOL: retained */
        acui_view *view;                                        /* views: its own (view.c) */
        struct { acu_dtype dtype; acu_shape shape; void *data; } make; /* EMPTY, CONST */
        struct { acu_dtype dtype; acui_scalar scalar; } fill;   /* FILL */
        struct acu_future *future;                              /* AFTER_FUTURE: retained */
        struct acu_graph *graph;                                /* REPLAY: retained */
        struct { acu_or_else_fn fn; } rescue;                   /* OR_ELSE */
        char *text;                                             /* CONTEXT: its own */
        struct {
            acu_kernel *kernel; /* retained */
            acu_config config;
            const acui_instead *instead; /* LAUNCH: who is asked first; NULL: nobody */
            size_t scratch;              /* temporary memory for it, in bytes */
            const acui_own_call *own;    /* FOREIGN, HOST: acuda's own (call.h); NULL: it is not */
            bool capturable;             /* FOREIGN: what it enqueues may be captured */
            acu_foreign_fn foreign;
            acu_host_fn host;
            acu_host_async_fn host_async; /* HOST: instead of `host`; NULL: none */
            acu_arg *args; /* op arguments stand for the inputs, in order; tensors are retained */
            size_t arg_count;
        } call; /* LAUNCH, FOREIGN, HOST */
    } u;
    acu_user user;     /* if `has_user`: THEN, MAP, INSPECT, MAKE, CUSTOM, FOREIGN, HOST, ... */
    size_t part_count; /* PART: how many parts there are */
};

/* Nobody but the caller has the op or can get it, and it was not planned for others. */
static inline bool acui_op_is_sole(const acu_op *op)
{
    return acui_object_refs(op) == 1 && op->state == ACUI_OP_FRESH;
}

/* Take the value out of an op that only yields it and that nobody else has; the op is freed. False:
 * it is some other op. */
bool acui_value_take(acu_op *op, acu_val *value);

/* Take a value out of those from `base` on: the one at `index`, or the last (ACU_LAST). */
acu_status acui_nth_of(acui_values *values, size_t base, size_t index, acu_val *value);

/* Hand the user data to the op, which releases it when it is destroyed. */
static inline void acui_op_set_user(acu_op *op, acu_user user)
{
    op->user = user;
    op->has_user = true;
}

/* The name for messages. */
const char *acui_op_name(const acu_op *op);
/* The op that does the work: `op` itself, unless it only passes on what an input yields. Ops that
 * others have too are not looked into. */
acu_op *acui_op_doer(acu_op *op);
/* Name this op alone, and not for the program. */
acu_op *acui_op_call(acu_op *op, const char *name);
/* What the op's node will be called. */
const char *acui_op_label(const acu_op *op);
/* Put the op's name and line into the thread's record of a failure, unless that has a line already.
 * Returns `status`. */
acu_status acui_op_sign(const acu_op *op, acu_status status);

/* A fresh op with room for `inputs` (all NULL), or the static op that says "out of memory". */
acu_op *acui_op_new(const acui_op_class *class, size_t inputs, acu_site site);
/* The same with room for `count` arguments, in u.call.args, and as many inputs; it has none of them
 * yet. */
acu_op *acui_op_new_call(const acui_op_class *class, size_t count, acu_site site);
/* Memory for an op without inputs, if the cache has some at hand (else NULL); acui_op_begin
 * initialises it, all but `u`. */
static inline acu_op *acui_op_at_hand(void)
{
    return acui_object_at_hand(ACU_OBJECT_OP, sizeof(acu_op) + sizeof(acui_op_rest));
}

static inline void acui_op_begin(acu_op *op, const acui_op_class *class, acu_site site)
{
    acui_object_begin(&op->object, ACU_OBJECT_OP);
    atomic_store_explicit(&op->handles, 1, memory_order_relaxed);
    op->state = ACUI_OP_FRESH;
    op->named = op->renamed = op->has_user = op->used_whole = false;
    op->class = class;
    op->site = site;
    op->input_count = 0;
    op->inputs = NULL;
    op->rest = (acui_op_rest *)(op + 1);
}
bool acui_op_is_oom(const acu_op *op);
/* An op that carries the thread's record, with `site` and the class's name put in. Nothing else of
 * the class is looked at. */
acu_op *acui_op_failed(const acui_op_class *class, acu_site site);

/*
 * Take one of the program's references. Returns the op, or a failed one that says why not (NULL,
 * released, taken before). Never NULL.
 */
static inline acu_op *acui_op_take(acu_op *op, const acui_op_class *taker, acu_site site);
/* Drop a taken reference. */
void acui_op_put(acu_op *op);
/* Turn an op that was taken, and that nobody else has, into one of another class, which is the
 * program's again. */
void acui_op_become(acu_op *op, const acui_op_class *class, acu_site site);
/* The op for a node that calls its function; if the op has several users, which may have it for
 * longer, one of the node's own, with the function and the user data. NULL: no memory. */
acu_op *acui_op_for_node(acu_op *op);
/* A new op over an input that was taken already. */
acu_op *acui_op_over(const acui_op_class *class, acu_op *input, acu_site site);
/* A new op that takes its one input. */
acu_op *acui_op_unary(const acui_op_class *class, acu_op *x, acu_site site);
/* A new op that takes its two inputs. */
acu_op *acui_op_binary(const acui_op_class *class, acu_op *x, acu_op *y, acu_site site);
/* Put away a new op after a failure; returns the static op that says "out of memory". */
acu_op *acui_op_abandon(acu_op *op);
/* What partition, views and own make of a value, in place, with their checks; inferring
 * (describe.h) uses them too. On failure the value is as it was. */
acu_status acui_partition_value(const acu_op *op, acu_val *value);
acu_status acui_view_value(const acu_op *op, acu_val *value);
acu_status acui_own_values(acu_val *values, size_t count);
/* Take the value of a partition without a walk, if that is possible: it is over a tensor that is
 * known already, and nobody else has the op, which is freed then. False: the op must be planned, or
 * planning it will say what is wrong; *value is undefined then. */
bool acui_partition_take(acu_op *op, acu_val *value);
/* Checks that planning and inferring share. */
acu_status acui_check_fill(const acu_val *value, acu_dtype dtype); /* the scalar's */
acu_status acui_check_host_values(const acu_val *values, size_t count);
/* Call the function of a custom op; *next is the op that it returns, taken. *device is `fallback`
 * on entry, and on return the device that the function was told. */
acu_status acui_call_custom(acu_op *op, acu_val *values, acu_val *out, acu_device **device,
                            acu_op **next);

/* Whether it is a custom op of that function, which nobody else has, and what its data is then. */
bool acui_custom_is(const acu_op *op, acu_custom_fn fn);
const void *acui_custom_data(const acu_op *op);
/* A custom op with the operands of several such ones, which go. */
acu_op *acui_custom_joined(acu_custom custom, acu_op **ops, size_t count, acu_site site);

/* Give the program's reference to the op away if it is the only reference of all; else false. */
static inline bool acui_op_hand_over_sole(acu_op *op)
{
    if (atomic_load_explicit(&op->handles, memory_order_relaxed) != 1 || acui_object_refs(op) != 1)
        return false;
    /* The only holder: nobody else can change the count. */
    atomic_store_explicit(&op->handles, 0, memory_order_relaxed);
    return true;
}

acu_op *acui_op_take_slowly(acu_op *op, const acui_op_class *taker, acu_site site);
static inline acu_op *acui_op_take(acu_op *op, const acui_op_class *taker, acu_site site)
{
    if (acui_object_is(op, ACU_OBJECT_OP) && acui_op_hand_over_sole(op))
        return op;
    return acui_op_take_slowly(op, taker, site);
}

/* Undo acui_op_take(given) that gave `taken`: the program has its reference again. */
void acui_op_give_back(acu_op *given, acu_op *taken);

/* The op's input i, taken out of it: the caller has the reference, and NULL is left there. */
/* At the end of a callback of `op`: takes the op that it returned, or says why there is none.
 * `function` is what the callback was given to. Errors: CALLBACK. */
acu_status acui_callback_returned(const acu_op *op, acu_op *returned, const char *function,
                                  acu_op **next);
static inline acu_op *acui_op_take_input(acu_op *op, size_t i)
{
    acu_op *x = op->inputs[i];
    op->inputs[i] = NULL;
    return x;
}

/* Plan the op's one input, which must yield one value. */
acu_status acui_plan_input(acui_plan *plan, acu_op *op, acu_device *fallback, acu_val *value);

#endif
