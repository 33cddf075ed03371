/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cached graphs: runs of a form (runs.c) that comes again are launched as one executable graph,
 * whose parameters are set to the run's own first.
 *
 *   graphs.c   the cache of a device: forms, and their executable graphs
 *   exec.c     one executable graph: made from a run, set to another one, launched
 *   build.c    the thread that makes them, so that no submission waits for that
 *
 * A form that is seen for the first time goes to its stream directly, one call a node. Seen again,
 * it is worth a graph, and one is ordered from the thread; until it is there, runs go directly. A
 * graph runs once at a time, so a form gets more of them while runs of it overlap.
 *
 * A form holds no reference to its kernels, so that a module can be unloaded; then what it is part
 * of is forgotten (acui_graphs_forget). One lock for each device's cache, a leaf.
 */
#ifndef ACUI_ENGINE_GRAPHS_H
#define ACUI_ENGINE_GRAPHS_H

#include "engine/engine.h"

#include <acuda/graphs.h>

#define ACUI_KEY_FEW 144 /* words; longer keys take memory */
#define ACUI_FORM_SLOTS 256
#define ACUI_SEEN_SLOTS 128
#define ACUI_SEEN_EACH 8 /* a line of the processor's cache */

typedef struct acui_form acui_form;
typedef struct acui_graphs acui_graphs;

/* The form of a run, in words. */
typedef struct acui_key {
    uint64_t hash;
    uint64_t *words;
    uint32_t count;
    uint64_t few[ACUI_KEY_FEW];
} acui_key;

/* What a node of an executable graph is set to. */
typedef struct acui_setting {
    acui_node_kind kind;
    acui_dims dims;     /* LAUNCH */
    acu_config config;  /* the same: attributes, which stay */
    CUfunction function;
    char *data;         /* parameters, as in the node */
    void **pointers;
    uint32_t bytes, count;
    CUdeviceptr dst, src; /* COPY, FILL: addresses, or host memory's */
    bool dst_host, src_host;
    const acui_box *box;  /* of a COPY by rows: the node's, which stays while the exec is made */
    uint64_t length;      /* bytes; elements of a FILL */
    uint32_t element, value;
    uint64_t returned;    /* acui_memory_returned: since then addresses are what they were */
} acui_setting;

/* What must not go while an exec is made: kernels, and memory that is copied or filled, which the
 * driver looks up. */
typedef struct acui_needs {
    acu_kernel **kernels;
    acu_buffer **buffers;
    uint32_t kernel_count, buffer_count;
} acui_needs;

typedef struct acui_exec {
    struct acui_exec *next;    /* of the form; cache lock */
    struct acui_exec *ordered; /* of those that the thread is to make; build lock */
    acui_form *form;           /* NULL: forgotten while it was made; cache lock */
    acu_device *device;
    CUgraph graph; /* its nodes are the handles for setting parameters */
    CUgraphExec raw;
    CUgraphNode *nodes;
    acui_setting *settings;
    uint32_t count;
    bool ready;               /* cache lock */
    bool broken;              /* half set: not to be used any more; the claimer's */
    uint64_t stream;          /* id of the one that it was launched on last; cache lock */
    uint64_t used;            /* when, in claims of the cache; cache lock */
    _Atomic(uint32_t) claimed; /* by a thread that sets and launches it */
    _Atomic(uint32_t) refs;    /* the cache's, and one for each launch that is not over */
    /* Nodes so far, and tasks that went with others; written by claimers, relaxed. */
    _Atomic(uint64_t) set, skipped, together;
    acui_needs needs;          /* while it is made */
    struct acui_holder *kept;  /* the same: who waits for memory is to know of them */
    uint32_t *edges; /* for making it: pairs of places, in the order of the second */
    uint32_t edge_count;
    CUgraphNode *behind; /* the same: what one node comes behind */
} acui_exec;

struct acui_form {
    acui_form *next; /* of the slot */
    uint64_t hash;
    uint32_t words;
    bool refused;         /* the driver could not make it: do not try again, */
    uint32_t rest, pause; /* ... or not before it was asked for so often (0: never); at first */
    acui_exec *execs;
    uint32_t exec_count;
    uint32_t waiting;     /* of these, not made yet */
    const struct acu_module **modules; /* whose kernels it has, each once; not retained */
    uint32_t module_count;
    uint64_t key[];
};

struct acui_graphs {
    acui_lock lock;
    acui_form *forms[ACUI_FORM_SLOTS];
    /* Hashes of forms seen once, the last few of each slot, latest first: if just the last one was
     * kept, of two forms that take turns in a slot neither would ever be seen again. */
    uint64_t seen[ACUI_SEEN_SLOTS][ACUI_SEEN_EACH];
    uint32_t limit; /* execs; 0: none are made */
    uint64_t claims;
    acu_graph_counts counts; /* `set`, `skipped` and `together` of execs that are gone */
};

/* ---- runs.c ---- */
/* Of a run whose kernels are all loaded. False: no memory. */
bool acui_key_make(acui_key *key, const acui_run *run);
void acui_key_drop(acui_key *key);

/* ---- graphs.c ---- */
/* The device's cache; NULL if there is none: switched off, not supported, or no memory. */
acui_graphs *acui_graphs_of(acu_device *device);

/*
 * An exec for the run on the stream, claimed; NULL: issue directly, *why says why. Caller holds the
 * stream's issue lock, and all addresses of the run are known.
 */
acui_exec *acui_graphs_claim(acui_run *run, acu_stream *stream, const char **why);
/* Make one now, whatever was seen before. */
acu_status acui_graphs_make(acui_run *run, acu_device *device);
/* The claim is over. It runs for so many tasks (0: it was not launched), until acui_graphs_over was
 * called for each; of its nodes `set` were set. */
void acui_graphs_unclaim(acui_exec *exec, uint32_t tasks, uint32_t set);
void acui_graphs_over(acui_exec *exec);
/* What became of one that was ordered: it is ready; the driver refused it, so that the form is not
 * tried again; it had no memory for it, which may be different later; or nobody tried. */
typedef enum acui_built {
    ACUI_BUILT,
    ACUI_BUILD_REFUSED,
    ACUI_BUILD_SHORT,
    ACUI_NOT_BUILT
} acui_built;
void acui_graphs_built(acui_exec *exec, acui_built how);

/* ---- exec.c ---- */
/* The settings of a run, for an exec that is still to be made; holds the run's kernels. */
acui_exec *acui_exec_new(const acui_run *run, acu_device *device);
/* The driver's objects. The device is entered. */
acu_status acui_exec_make(acui_exec *exec);
/* Set to the run what differs, and launch. The device is entered. */
acu_status acui_exec_launch(acui_exec *exec, const acui_run *run, acu_stream *stream,
                            uint32_t *set);
/* The device is entered, unless it is lost or the exec was not made. */
void acui_exec_free(acui_exec *exec);
/* Out of the exec, to be released when nothing of it is needed and no lock is held. */
acui_needs acui_exec_take_needs(acui_exec *exec);
void acui_needs_release(acui_needs *needs);

/* ---- build.c ---- */
bool acui_build_order(acui_exec *exec); /* false: no thread for it */
/* Nothing of the device is being made any more, nor will what was ordered be. Blocks. */
void acui_build_drain(acu_device *device);
void acui_build_wait(acu_device *device); /* until all that was ordered is made; blocks */
void acui_build_stop(void);
bool acui_build_busy(void); /* the thread is there */

#endif
