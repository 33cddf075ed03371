/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A plan: the flat list of things to be done for one submission, derived from its op.
 *
 * Nodes are pure data: what to call with what, and which bytes it reads and writes. They name
 * tensors whose memory may not exist yet, and no stream. The engine cuts the list into tasks,
 * orders these by the data they touch, and puts them on streams.
 *
 * The words of planning:
 *
 *   fallback      the device for whatever names none
 *   values, form  what an op yields, and who may use it: owned, borrowed, shared (acuda/op.h)
 *   unwanted      nobody looks at the values of this op, so they need not be kept
 *   enter         the engine puts the plan's nodes into the order of the data: from then on, work
 *                 that others submit comes behind them. Until then the plan is this thread's alone
 *   frame         where in the composition a node stands: `after`, context and child. plan->now is
 *                 the frame of nodes to come
 *   after         what comes before a node, whether they share data or not: ranges of this plan's
 *                 nodes, shared ops of other plans, and points (op/after.h)
 *   front         what is planned between acui_front_start and _done; all nodes from then to
 *                 _restore are `after` it
 *   child         nodes that start, fail and stop by rules of their own: what or_else tries, its
 *                 alternative, what finally runs, a shared op (op/child.h)
 *   shared op     an op that is not sole: others hold it, or had it planned. It is planned once,
 *                 and all its users get the values that stay in it. Its state goes from FRESH over
 *                 PLANNING to DONE, under the share lock (plan_op.c)
 *   planner       of a shared op: the plan that its nodes are in, until it is published
 *   unpublished   shared ops of a plan that is not entered yet: other threads wait for their values
 *   users         of a shared op: who still wants it, so that giving up the submission does not
 *                 take it from others
 *   joined        ... it turned out that nobody else can want it: it is no child any more
 *   imported      uses of a shared op which another plan planned, or which this one planned before
 *                 and somewhere else (op/import.h)
 *   touched       ... all of them, by nodes of this plan: so the order follows from the data
 *   AWAIT         a node without work, that is over, or fails, with what the plan yields but does
 *                 not touch; each child has one at its end, if it needs one (op/await.h)
 *   passes_on     the plan got a value that its nodes may not touch: AWAIT may be needed
 *   spent         launches that are planned; they are freed once the device has the work
 *   discarded     values that nobody wants; their tensors are released then, too
 *   transient     memory that is needed only until all is entered: accesses of launches, histories
 *   for_replay    a plan that is kept for a graph, and not run (engine/submit/standalone.c)
 *
 * A walk, with a shared op x inside a `then` inside an `or_else`:
 *
 *   acu_op *x = acu_op_retain(acu_zeros(...));    a second reference: x is shared
 *   acu_submit(device, acu_or_else(acu_then(x, f), acu_full(...)), ...);
 *   f returns acu_first(acu_launch(k, config, acu_out(acu_empty(...)), acu_in(its first value)))
 *
 *   acui_plan_op(or_else)          it is sole: its class plans it (plan_or_else, rescue.c)
 *     child TRY begins, and a front
 *     acui_plan_op(then)           sole (plan_then, callback.c); within the first front another one
 *                                  begins, for what is behind x
 *       acui_plan_looked_at(x)     f looks at the values. x is shared: plan_used_twice
 *         FRESH: PLANNING now, a child SHARED begins. Nodes 0 and 1. It ends; x is
 *         DONE, keeps its value, and is in plan->unpublished
 *         x is noted for both fronts; f gets a copy of the value, whose form is shared
 *       f is called, with no lock held; the inner front is done: it consists of nodes [0, 2)
 *       acui_plan_op(first(launch))   nodes 2 and 3 are after [0, 2), and read x's bytes as well
 *     no AWAIT, since nothing was passed on so far. TRY ends; its front is done: [0, 4)
 *     child ELSE begins            node 4 decides, after [0, 4). A front of its own: [4, 5)
 *       acui_plan_op(full)         nodes 5 and 6, after [4, 5)
 *       replace_all                nodes 7 and 8: a copy to where the launch was to put its result
 *   acui_plan_await                node 9, since passes_on: with alternatives, it is not certain
 *                                  that any node that touches the result runs
 *   acui_enter_nodes (flush)       tasks are made and entered; acui_plan_publish: others get x
 *
 *   node  kind    of       child              after   writes, reads
 *   0     ALLOC   zeros    SHARED x, in TRY           X
 *   1     FILL    zeros    SHARED x, in TRY           X
 *   2     ALLOC   empty    TRY                [0, 2)  Y
 *   3     LAUNCH  k        TRY                [0, 2)  Y, X
 *   4     DECIDE  or_else  ELSE               [0, 4)
 *   5     ALLOC   full     ELSE               [4, 5)  Z
 *   6     FILL    full     ELSE               [4, 5)  Z
 *   7     ALLOC   or_else  ELSE               [4, 5)  Y (if nothing allocated it)
 *   8     COPY    copy     ELSE               [4, 5)  Y, Z
 *   9     AWAIT   or_else                             Y
 *
 * Had another submission planned x before: plan_used_twice finds it DONE, first waits until it is
 * published, and notes it in plan->imported. Then nodes 0 and 1 are not in this plan; what 2 and 3
 * are after is x, by its child. Before TRY ends it gets an AWAIT, which stands for x as a
 * whole: if x fails, so does what was tried.
 */
#ifndef ACUI_OP_PLAN_H
#define ACUI_OP_PLAN_H

#include "base/arena.h"
#include "kernel/kernel.h"
#include "memory/layout.h"
#include "memory/memory.h"

#include <acuda/op.h>

/* What the program says about a part of an op (acu_with_context); in the plan's arena. */
typedef struct acui_context {
    const struct acui_context *outer;
    char text[];
} acui_context;

typedef struct acui_values {
    acu_val *list; /* each holds a reference to its tensor */
    size_t count, room;
    bool unwanted; /* nobody looks at them, so they need not be kept */
    bool lent;     /* the list is the caller's memory, and not to be freed */
} acui_values;

bool acui_values_grow(acui_values *values); /* makes room in a full list; false: no memory */
/* Room for one more value at the end, which the caller fills in; NULL: no memory (record set). */
static inline acu_val *acui_values_add(acui_values *values)
{
    if (values->count == values->room && !acui_values_grow(values))
        return NULL;
    acu_val *value = &values->list[values->count++];
    value->kind = ACU_NONE;
    value->tensor = NULL;
    return value;
}
/* Append a value; takes the tensor's reference, on failure too. */
acu_status acui_values_push(acui_values *values, acu_val value);
void acui_val_drop(acu_val *value); /* releases its tensor; it is ACU_NONE then */
const char *acui_val_words(const acu_val *value); /* its kind: "a scalar", "nothing" */
void acui_values_cut(acui_values *values, size_t count); /* drops the values from `count` on */
void acui_values_clear(acui_values *values);

/* Kinds of nodes: id, name, whether it counts as an operation. */
#define ACUI_NODES(X)                                                                              \
    X(ALLOC, "alloc", 0) X(UPLOAD, "upload", 1) X(FILL, "fill", 1) X(COPY, "copy", 1)              \
    X(LAUNCH, "launch", 1) X(REPLAY, "replay", 1) X(FOREIGN, "foreign", 1) X(HOST, "host", 1)     \
    X(STAGE, "staged copy", 1) X(DECIDE, "decide", 0) X(AWAIT, "await", 0)         \
    X(USE, "use", 0)

typedef enum acui_node_kind {
#define ACU_X(id, name, counted) ACUI_NODE_##id,
    ACUI_NODES(ACU_X)
#undef ACU_X
} acui_node_kind;

/* A piece of a buffer that a node of the engine's current task touched. */
typedef struct acui_range {
    acui_extent extent;
    struct acui_node *node;
} acui_range;

/* What was done with one buffer so far; used by the engine while it cuts the plan into tasks.
 * Transient. */
typedef struct acui_history {
    struct acui_made *made;     /* by a task; NULL: it has no part in reuse.c */
    const struct acui_task *task; /* the task that the list is about */
    acui_range *list;           /* what a later access must come behind: all writes, then all reads.
                                 * Transient, or: */
    acui_range first;           /* ... this, as long as one is enough */
    uint32_t count, writes, room;
    acui_extent_index *index;   /* of a long list, in no order; its node n is about list[n - 1] */
    struct acui_task *entered;  /* the task that has an access to `extent` in the buffer's list */
    acui_extent extent;
    acu_access access;
} acui_history;

/* What a plan has to do with one buffer. */
typedef struct acui_use {
    acu_buffer *buffer; /* retained until the work is over or, if its memory is of a pool, issued */
    struct acui_use *next;
    struct acui_use *next_returned; /* links the engine's list of those `returned` */
    acui_history *history;
    const struct acui_node_access *first; /* the first of its accesses; transient */
    uint32_t accesses;    /* how many, of all nodes */
    bool returned;
} acui_use;

/* Bytes of a buffer that a node reads or writes. */
typedef struct acui_node_access {
    acui_use *use;
    acui_extent extent;
    acu_access mode;
} acui_node_access;

/* An address that is not known until the node is issued, because its buffer is not allocated yet.
 * It goes to offset `at` of the parameters. */
typedef struct acui_late {
    struct acui_late *next;
    acu_buffer *buffer;
    size_t offset;
    size_t at;
} acui_late;

/* `height` rows of `width` bytes in each of `depth` slices. A pitch is the distance of rows in
 * bytes; a dst_height or src_height is the distance of slices in rows. */
typedef struct acui_box {
    uint64_t width, height, depth;
    uint64_t dst_pitch, dst_height, src_pitch, src_height;
} acui_box;

/*
 * A copy that goes through memory which both sides may touch: from or to host memory that the
 * device must not touch, or between devices that can not reach each other's memory. On a device the
 * elements are dense. If both sides are on the host it is a plain copy.
 */
typedef struct acui_stage {
    acu_buffer *dst, *src;
    size_t dst_offset, src_offset;
    acui_layout layout;
    /* Used by the engine while the copy runs (staging.c), under its lock: */
    struct acui_stage *next;
    struct acui_task *task;
    uint32_t inside;  /* helper threads that work on it */
    struct acui_fault *fault; /* NULL: it has not failed */
    uint64_t chunk, slot_bytes; /* fixed when the copy starts, like `slots`; a chunk fits into a
                                 * slot */
    uint32_t slots;
    _Atomic(uint64_t) taken;  /* bytes that helpers have taken; relaxed: only a share of the work */
    _Atomic(bool) stopped;    /* what is not taken yet never will be; relaxed: a hint */
    _Atomic(bool) skipped;    /* ... because nobody wants the copy; relaxed */
} acui_stage;

/* A call of a vendor library in the place of a launch (op/instead.h). */
typedef struct acui_instead acui_instead;
/* What a call of acuda's own needs (op/call.h). */
typedef struct acui_own_call acui_own_call;

typedef struct acui_child acui_child; /* op/child.h */
typedef struct acui_after acui_after; /* op/after.h */
/* Where in the composition a node stands; many nodes share one frame. */
typedef struct acui_frame {
    const acui_after *after; /* what comes before, data or not */
    const acui_context *context;
    acui_child *child;       /* the innermost that it is in; NULL: none */
} acui_frame;

typedef struct acui_dims {
    unsigned grid[3], block[3], shared;
} acui_dims;

/* What few launches have. */
typedef struct acui_launch_more {
    acu_config config;           /* used for what it says beyond grid, block and shared memory */
    const struct acui_given *given; /* its arguments, as long as they must be checked against a
                                     * kernel that is not loaded yet; NULL: checked */
    const acui_instead *instead; /* who is asked first; NULL: nobody */
    acui_point *behind;          /* the load of that library, held by the device; NULL: nothing to
                                  * wait for */
    size_t scratch;              /* bytes of temporary memory for it, whose address follows the
                                  * parameters */
} acui_launch_more;

typedef struct acui_node acui_node;
struct acui_node {
    acui_node *next;
    acui_node_kind kind;
    uint32_t index;       /* its place in the plan */
    uint32_t access_count;
    /* Used by the engine: how many nodes of its task come right before it; its position among
     * those of its task that are not of the prologue; whether it is part of a task. */
    uint32_t before_count, position;
    bool entered;
    union {
        acui_node *one;
        acui_node **more;
    } before; /* acui_node_before */
    const acui_frame *frame;
    const char *name;    /* the op's; in the plan's arena, or static */
    acu_site site;
    acu_device *device;  /* where it runs; for HOST, where its data is; held by the plan */
    acui_node_access *accesses; /* for a launch, transient */
    union {
        struct {
            acu_buffer *buffer;
            size_t bytes;    /* of its memory, in which others may have been before; see reuse.c */
            acui_node *from; /* the ALLOC of the one that had it right before; NULL: none */
            bool passed_on;  /* another one has it later, and gets it for both */
        } alloc;
        struct { acu_buffer *buffer; size_t offset, bytes; const void *data; } upload;
        struct { /* elements of 1, 2 or 4 bytes */
            acu_buffer *buffer;
            size_t offset, elements, element_bytes;
            uint64_t bits;
        } fill;
        struct {
            acu_buffer *dst, *src;
            size_t dst_offset, src_offset, bytes;
            const acui_box *box; /* NULL: one run of bytes */
            uint32_t way; /* from where to where; with the bytes, what its duration depends on */
        } copy;
        acui_stage *stage;
        struct {
            acu_kernel *kernel;     /* held by the plan */
            acui_late *late;
            acui_launch_more *more; /* NULL: nothing */
            acui_dims dims;
            uint32_t count, bytes;  /* of the parameters, which follow the node (op/launch.h) */
            bool offsets;           /* their offsets come first; else each has 8 bytes */
        } launch;
        struct { /* what the graph layer does with its graph */
            struct acu_graph *graph; /* retained */
            acu_status (*launch)(struct acu_graph *graph, acu_stream *stream);
            void (*release)(struct acu_graph *graph);
            uint32_t nodes;
        } replay;
        struct {
            acu_op *op; /* retained: has the function and user data */
            acu_val *values; /* with tensors that are lent for the call */
            size_t count;
            acui_point *behind; /* what a FOREIGN call waits for besides its data; NULL: nothing */
        } call; /* FOREIGN, HOST; DECIDE: the or_else, without values */
        struct { /* what it stands for, linked by next_here; and what its values may be of: what
                  * the plan imported by then, behind `since` */
            const struct acui_imported *here, *imported, *since;
        } await;
    } u;
};

/* References to the kernel of launches in a row. */
typedef struct acui_held_kernel {
    struct acui_held_kernel *next;
    acu_kernel *kernel; /* NULL: none yet */
    uint32_t count;
} acui_held_kernel;

typedef struct acui_plan acui_plan;
struct acui_plan {
    acui_arena arena;
    acui_arena transient; /* not needed once all nodes are entered: acui_plan_drop_transient */
    acui_node *first, *last;
    uint32_t count;
    acui_frame now;                  /* of nodes that are appended now */
    const acui_frame *frame;         /* of the last node; NULL: none */
    acui_after *points;              /* entries of `after` lists that hold points */
    struct acui_front_op *front_ops; /* shared ops whose values it got while ... */
    unsigned open_fronts;            /* ... so many fronts were not done */
    _Atomic(acui_homes) homes;       /* of its tasks and of what these come behind, so far; 0: none
                                      * is entered. By the thread that plans, with the order locks
                                      * of all of them held; relaxed, also without */
    acui_use *uses;                  /* all */
    acui_use **use_table;            /* the same by address: open addressing, a power of two in
                                      * size */
    uint32_t use_count, use_room;
    struct acui_held { /* the devices of nodes that are no launches */
        struct acui_held *next;
        acu_device *device; /* retained */
    } *devices;
    acui_held_kernel kernels;        /* of launches; the latest first */
    acui_values scratch;             /* a stack of operands */
    acu_val *into;                 /* where the op that is planned next is to put its result; NULL:
                                    * anywhere */
    unsigned depth;                /* of the walk */
    pthread_t thread;              /* the one that plans */
    acu_op *spent;                 /* launches that are planned. They, and the tensors that they
                                    * still hold, are released when all is entered, */
    struct acui_discarded *discarded; /* ... and so are these tensors: acui_plan_discard */
    acu_op *unpublished;           /* ops planned here, whose values others may use once they are
                                    * entered */
    acu_pool *pool, *pinned_pool;    /* for memory that is allocated now; NULL: the device's own */
    struct acui_scratch *scratches;  /* temporary memory for library calls, which take turns in
                                      * it */
    bool for_replay;                 /* it will be replayed */
    acu_stream *stream;              /* of the device's own, where it had better run; NULL: any */
    bool holds;                      /* some nodes hold more than kernels and buffers */
    bool passes_on;                  /* it got tensors that its nodes may not touch: op/await.h */
    acui_child *children;            /* all; retained. This, and what follows, as op/child.h says */
    bool splits;                     /* some of them are not SHARED */
    bool refused;                    /* one of them is. Order lock, or the thread that plans */
    bool fails;                      /* one of them failed, or was refused. Order lock */
    bool unwanted;                   /* the submission failed, or was given up */
    struct acui_usage *uses_of_ops;  /* its own, of ops that others planned */
    struct acui_imported *imported;  /* uses of ops that were planned before; the latest first */
    struct acui_imported *here;      /* those where it plans now, outside of children in there */

    /* The engine's: enter the nodes so far into the order, and start what can start. */
    acu_status (*flush)(acui_plan *plan);
};

/* Each level of a composition costs up to 1 KiB of stack while it is planned. */
#define ACUI_NO_STACK                                                                              \
    "ops are composed too deep: there is no more stack to be had; submit a part of them first"

/* Plan `op`, whose reference is consumed, and append its values to `values`. On failure some may
 * have been appended already. Every plan starts here, and so does every input of an op. */
acu_status acui_plan_op(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values);
/* The same where somebody looks at the values, so that all of them are appended, wanted or not. */
acu_status acui_plan_looked_at(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values);
/* acui_plan_op for an op that must yield exactly one value; `what` names it in the message. */
acu_status acui_plan_one(acui_plan *plan, acu_op *op, acu_device *fallback, const char *what,
                         acu_val *value);

/* What was planned here is entered: others may use its values. Called by flush. With a `fault`, the
 * plan failed and will never be entered; then others get that failure. */
void acui_plan_publish(acui_plan *plan, acui_fault *fault);

/* The share lock. While it is held, no other thread begins to plan an op that the caller holds, or
 * anything below it. Meant for looking at ops: no function of the program's and no driver call may
 * run under it. */
void acui_share_lock(void);
void acui_share_unlock(void);
/* The same for longer, with no lock held, while functions of the program's run; these must neither
 * submit nor wait. */
void acui_look_begin(void);
void acui_look_end(void);

/* Plan an op whose values stay in it, for its parts to take. Does not consume the reference. */
acu_status acui_plan_into_op(acui_plan *plan, acu_op *op, acu_device *fallback);

/* Lend a value to a callback of an op in flight: a tensor of its own over the same storage, which
 * does not count against the lender's sole ownership. */
acu_status acui_lend(const acu_val *value, acu_val *lent);
void acui_unlend(acu_val *lent);

/* A new node at the end of the plan, with room for `accesses`. NULL: no memory (record set). */
acui_node *acui_plan_node(acui_plan *plan, acui_node_kind kind, const acu_op *op,
                          acu_device *device, size_t accesses);
/* The same with `bytes` of memory of its own at *memory, zeroed and aligned for any type. */
acui_node *acui_plan_node_with(acui_plan *plan, acui_node_kind kind, const acu_op *op,
                               acu_device *device, size_t accesses, size_t bytes, void **memory);
/* Take out the nodes behind `last` (NULL: all), none of which is entered. Put one of them back, at
 * the end. */
void acui_plan_cut(acui_plan *plan, acui_node *last);
void acui_plan_put(acui_plan *plan, acui_node *node);
/* The plan takes a reference to the kernel of a node that launches it: of launches of one kernel in
 * a row the references are given back together. False: no memory, and nothing was taken. */
bool acui_plan_hold_kernel(acui_plan *plan, acu_kernel *kernel);
/* Note that the node touches the tensor's elements; the plan holds the buffer. NO_MEMORY, SHARED (a
 * write to elements that share memory, or to a tensor for reading only); what acui_device_check
 * says. */
acu_status acui_node_add_access(acui_plan *plan, acui_node *node, const acu_tensor *tensor,
                                acu_access access);
/* Whether the first access of the tensor's buffer covers all of the tensor. */
bool acui_plan_covers(const acui_plan *plan, const acu_tensor *tensor);
/* acui_node_add_access for bytes of a buffer. */
acu_status acui_node_add_bytes(acui_plan *plan, acui_node *node, acu_buffer *buffer,
                               acui_extent extent, acu_access access);
/* Drop the values from `base` on, which nobody wants: their tensors are released with what is
 * transient, when the device has its work. */
void acui_plan_discard(acui_plan *plan, acui_values *values, size_t base);
/* Release those tensors now, before somebody asks whether a tensor has a sole holder. */
void acui_plan_release_discarded(acui_plan *plan);
/* The same, and what ops yielded that nobody can get any more. */
void acui_plan_release_unreachable(acui_plan *plan);
/* All nodes are entered, or never will be: drop what was needed only for that. */
void acui_plan_drop_transient(acui_plan *plan);
/* Release what the nodes hold, then the nodes. */
void acui_plan_clear(acui_plan *plan);

/* Whether the node launches a kernel that was not loaded when it was planned. It is issued only
 * after the module's load has ended and acui_launch_bind has found that it can be launched so
 * (launch_check.c). That fails with the reason why not, and may enter the device. */
static inline bool acui_launch_is_late(const acui_node *node)
{
    return node->kind == ACUI_NODE_LAUNCH && node->u.launch.more && node->u.launch.more->given;
}
acu_status acui_launch_bind(acui_node *node);

/* The nodes of its task that come right before the node; `before_count` many. */
static inline acui_node *const *acui_node_before(const acui_node *node)
{
    return node->before_count == 1 ? &node->before.one : node->before.more;
}

/* The configuration of the node, which is a launch. */
static inline acu_config acui_launch_config(const acui_node *node)
{
    const acui_dims *d = &node->u.launch.dims;
    acu_config config = {.shared = 0};
    if (node->u.launch.more)
        config = node->u.launch.more->config;
    config.shared = d->shared;
    for (int i = 0; i < 3; i++) {
        config.grid[i] = d->grid[i];
        config.block[i] = d->block[i];
    }
    return config;
}

static inline bool acui_launch_is_special(const acui_node *node)
{
    return node->u.launch.more && acui_config_is_special(&node->u.launch.more->config);
}

/* Who is asked first in the place of the node, which is a launch; NULL: nobody. */
static inline const acui_instead *acui_launch_instead(const acui_node *node)
{
    return node->u.launch.more ? node->u.launch.more->instead : NULL;
}

/* `fallback`, else the process's default device; NULL (record set) if there is none. */
acu_device *acui_plan_device(acu_device *fallback);

#endif
