/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cached graphs: a run whose signature (runs.c) comes again is launched as one executable graph (an
 * exec), after the exec's parameters were set to those of the run.
 *
 *   graphs.c   the cache of a device: signatures, and their execs
 *   exec.c     one exec: made from a run, set to another one, launched
 *   build.c    the thread that makes them, so that no submission waits for that
 *
 * A run whose signature is seen for the first time goes to its stream directly, one call a node. A
 * signature that is seen again is worth an exec, which is ordered from the thread; until it is
 * there, runs go directly. An exec runs once at a time, so a signature gets more of them while its
 * runs overlap.
 *
 * A call of a library is captured, by the thread that issues the run: when the exec is ordered, and
 * again when its addresses are not those of the last time (capture.c). If it can not be captured,
 * the signature is refused; if what it enqueues changed its signature, the exec is given up.
 *
 * A signature holds no reference to its kernels, so that a module can be unloaded; then all
 * signatures that have kernels of it are forgotten (device->forget_module). Each device's cache has
 * one lock, a leaf.
 */
#ifndef ACUI_ENGINE_GRAPHS_H
#define ACUI_ENGINE_GRAPHS_H

#include "engine/upward.h"

#include <acuda/graph_cache.h>

#define ACUI_KEY_FEW 144 /* words; longer keys are allocated */
#define ACUI_GRAPH_SLOTS 256
#define ACUI_SEEN_SLOTS 128
#define ACUI_SEEN_EACH 8 /* a line of the processor's cache */

typedef struct acui_graph_entry acui_graph_entry;
typedef struct acui_graphs acui_graphs;

/* The signature of a run, in words. */
typedef struct acui_key {
    uint64_t hash;
    uint64_t *words;
    uint32_t count;
    uint64_t few[ACUI_KEY_FEW];
} acui_key;

/*
 * What a node of an executable graph is set to. For a launch that is one line of the processor's
 * cache; it is compared each time. Its parameters lie behind those of the node before it.
 */
typedef struct acui_setting {
    uint8_t kind;            /* acui_node_kind */
    bool dst_host, src_host; /* of a COPY */
    bool captured;           /* a call, or a LAUNCH whose library did not decline */
    acui_dims dims;          /* of a LAUNCH */
    union {
        struct {
            CUfunction function;
            char *data;          /* the parameters, as in the node; the exec's */
            void **pointers;     /* to each of them; the exec's */
            uint32_t bytes, count;
        } launch;
        struct { /* COPY, FILL */
            CUdeviceptr dst; /* also the address of host memory, like src */
            union {
                CUdeviceptr src;                           /* COPY */
                struct { uint32_t value, bytes; } element; /* FILL */
            } from;
            uint64_t length; /* bytes; elements of a FILL */
            /* acui_memory_returned at that time: if it has changed, an equal address may be other
             * memory. */
            uint64_t returned;
        } memory;
        struct { /* FOREIGN, of acuda's own */
            CUdeviceptr *addresses; /* of its values; the exec's */
            uint32_t count;
            void *held;             /* until `own` lets it go */
            const acui_own_call *own;
        } call;
    } u;
} acui_setting;

/* What else a node is made with, which stays. */
typedef struct acui_extra {
    acu_config config;   /* of a LAUNCH: its attributes */
    const acui_box *box; /* of a COPY by rows: the node's */
    CUgraph captured;    /* of a call: what it enqueues (capture.c), until the exec is made; NULL: a
                          * library declined, which leaves a launch as it is */
} acui_extra;

/* Temporary memory of calls that were captured. */
typedef struct acui_slot {
    CUdeviceptr memory; /* 0: it is host memory: */
    void *host;
    size_t bytes;
    uint32_t owner; /* whose it is: the call of this number's; 0 where calls take turns */
    bool taken;     /* by the call that is being captured, or for good */
    bool kept;      /* it holds data, which no other call may change */
} acui_slot;

/* The node is captured, rather than added to a graph. */
static inline bool acui_is_call(const acui_node *node)
{
    return node->kind == ACUI_NODE_FOREIGN ||
           (node->kind == ACUI_NODE_LAUNCH && acui_launch_instead(node));
}

/* Of value `i` of a FOREIGN node, whose memory is there; 0: it has none. */
static inline CUdeviceptr acui_call_address(const acui_node *node, size_t i)
{
    const acu_tensor *tensor = node->u.call.values[i].tensor;
    return tensor ? acu_tensor_address(tensor) : 0;
}

/* What must not go while an exec is made: kernels, and memory that is copied or filled, which the
 * driver looks up. */
typedef struct acui_needs {
    acu_kernel **kernels;
    acu_buffer **buffers;
    uint32_t kernel_count, buffer_count;
} acui_needs;

typedef struct acui_exec {
    struct acui_exec *next;    /* of the signature; cache lock */
    struct acui_exec *ordered; /* in the list of orders; build lock */
    acui_graph_entry *entry;   /* NULL: it was forgotten while it was made; cache lock */
    acu_device *device;
    CUgraph graph; /* parameters are set by its nodes */
    CUgraphExec raw;
    acui_slot *slots; /* temporary memory of calls: acui_capture_memory */
    uint32_t slot_count;
    bool calls;        /* there are some */
    bool turns;        /* the calls run one after the other, and take turns in it */
    uint64_t addresses;/* a hash of what a call alone was last asked for; the claimer's */
    CUstream capture;  /* on which calls are captured; NULL: none was */
    _Atomic(size_t) *budget; /* counts that memory of all execs in a cache; NULL: it has no bound */
    CUgraphNode *nodes;
    acui_setting *settings;
    void *params; /* those of all launches, in one block */
    uint32_t count;
    bool ready;               /* it is made; cache lock */
    bool broken;              /* half set: of no use any more; the claimer's */
    bool uploaded;            /* what it needs on the device is on its way there; the claimer's */
    uint64_t stream;          /* id of the stream of its last launch; cache lock */
    uint64_t used;            /* its last claim, by the cache's count of claims; cache lock */
    _Atomic(uint32_t) claimed; /* 1: by a thread that sets and launches it */
    _Atomic(uint32_t) refs;    /* the cache's, and one for each task that it runs for */
    /* How many nodes were set, how many were not, and how many tasks went with others. Written by
     * claimers; relaxed. */
    _Atomic(uint64_t) set, skipped, together;
    /* Only while it is made: */
    acui_needs needs;
    struct acui_holder *kept; /* where that counts as getting memory */
    acui_extra *extras;       /* of each node */
    uint32_t *edges;          /* pairs of positions, in the order of the second */
    uint32_t edge_count;
    CUgraphNode *behind;      /* room for the nodes that one comes behind */
} acui_exec;

struct acui_graph_entry {
    acui_graph_entry *next; /* in the slot */
    uint64_t hash;
    uint32_t words;
    bool refused;         /* the driver could not make its graph: do not try again before: */
    uint32_t rest, pause; /* requests until then (0: never); how many that were at first */
    acui_exec *execs;
    uint32_t exec_count;
    uint32_t waiting;     /* how many of these are not made yet */
    const struct acu_module **modules; /* of all its kernels, each once; not retained */
    uint32_t module_count;
    uint64_t key[];
};

struct acui_graphs {
    acui_lock lock;
    acui_graph_entry *entries[ACUI_GRAPH_SLOTS];
    /* Hashes of signatures that were seen once: the last few in each slot, latest first. If only
     * the last one was kept, two signatures that take turns in a slot would both never be found
     * again. */
    uint64_t seen[ACUI_SEEN_SLOTS][ACUI_SEEN_EACH];
    uint32_t limit; /* how many execs; 0: none are made */
    uint64_t claims;
    _Atomic(size_t) call_memory; /* bytes of temporary memory of calls; relaxed: only a bound */
    acu_graph_cache_statistics counts; /* `set`, `skipped` and `together`: of execs that are gone */
};

/* ---- graphs.c ---- */
/* The device's cache; NULL: the driver lacks the calls, or there is no memory. */
acui_graphs *acui_graphs_of(acu_device *device);
/* The module, or the device, goes. The device is entered, or lost. */
void acui_graphs_forget(acu_device *device, const struct acu_module *module);
void acui_graphs_drop(acu_device *device);

/*
 * Claim an exec for the run on the stream; NULL: the run is to be issued directly, *why says why.
 * The caller holds the stream's issue lock, and all addresses of the run are known.
 */
acui_exec *acui_graphs_claim(acui_run *run, acu_stream *stream, const char **why);
/* Order one now, whether or not the signature was seen before. */
acu_status acui_graphs_make(acui_run *run, acu_device *device);
/* The claim is over. `tasks`: how many it runs for (0: it was not launched); it is in use until
 * acui_graphs_over was called for each. `set`: how many nodes were set. */
void acui_graphs_unclaim(acui_exec *exec, uint32_t tasks, uint32_t set);
void acui_graphs_over(acui_exec *exec);
/* What became of an exec that was ordered: it is ready; the driver refused it, so that the
 * signature is not tried again; the driver had no memory for it, which may change; or nobody
 * tried. */
typedef enum acui_built {
    ACUI_BUILT,
    ACUI_BUILD_REFUSED,
    ACUI_BUILD_SHORT,
    ACUI_NOT_BUILT
} acui_built;
void acui_graphs_built(acui_exec *exec, acui_built how);

/* ---- key.c ---- */
/* Whether a graph can hold the node; and a cached one, which is set again and again: fewer kinds
 * fit. */
bool acui_fits_graph(const acui_node *node);
bool acui_fits_cached(const acui_node *node);
/* The key of a run whose kernels are all loaded. False: no memory. */
bool acui_key_make(acui_key *key, const acui_run *run);
void acui_key_drop(acui_key *key);

/* ---- exec.c ---- */
/* An exec that is still to be made, with the settings of the run; it holds what they need. */
acui_exec *acui_exec_new(const acui_run *run, acu_device *device);
/* Capture the run's calls, if it has any; next. The device is entered. */
acu_status acui_exec_capture(acui_exec *exec, const acui_run *run);
/* Make the driver's objects. The device is entered. */
acu_status acui_exec_make(acui_exec *exec);
/* Set what differs from the run, and launch; adds how many nodes were set to *set. NOT_READY: it is
 * better issued directly; nothing was done. The device is entered. */
acu_status acui_exec_launch(acui_exec *exec, const acui_run *run, acu_stream *stream,
                            uint32_t *set);
/* Launch as it is set; one thread at a time, which has entered the device. */
acu_status acui_exec_launch_as_is(acui_exec *exec, acu_stream *stream);
/* The device is entered, unless it is lost, or the exec was never made. */
void acui_exec_free(acui_exec *exec);
/* Take the needs out of the exec, to be released when no lock is held. */
acui_needs acui_exec_take_needs(acui_exec *exec);
void acui_needs_release(acui_needs *needs);

/* ---- capture.c ---- */
/* Capture what node `i` of the exec, a call, enqueues, as a graph that is the caller's. NULL: the
 * library declined, so that the launch is to be made. The device is entered. */
acu_status acui_capture(acui_exec *exec, uint32_t i, acui_node *node, CUgraph *graph);
bool acui_capturing(CUstream stream); /* this is the stream of such a call, which goes on */
/* Then: temporary memory for what the call enqueues, as long as the exec. kept: for data that is
 * put there now, and stays; else its contents are the call's only while that runs. Errors:
 * DEVICE_MEMORY, LIMIT (of a cache), NO_MEMORY, NOT_SUPPORTED, DRIVER. */
acu_status acui_capture_memory(CUstream stream, size_t bytes, bool kept, CUdeviceptr *memory);
/* The same of the host, which is kept. */
acu_status acui_capture_host_memory(CUstream stream, size_t bytes, void **memory);
void acui_capture_free(acui_exec *exec); /* what captures left in the exec */

/* ---- build.c ---- */
bool acui_build_order(acui_exec *exec); /* false: there is no thread for it */
/* Wait until nothing of the device is being made; what was ordered is not made any more. Blocks. */
void acui_build_drain(acu_device *device);
void acui_build_wait(acu_device *device); /* until all orders are made; blocks */
void acui_build_stop(void);
bool acui_build_busy(void); /* the thread exists */

#endif
