/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The machine that runs PTX: instructions, warps, blocks and launches in the interpreter's form. A
 * register is 32 lanes side by side (64, 128 or 256 bytes), a predicate is one 32-bit mask, and one
 * handler executes an instruction for all lanes of a warp.
 *
 * Owners: code and constants belong to the module, and never change once it is loaded. A block and
 * its warps belong to the one thread that runs them at the moment. A launch is shared between
 * threads; its atomic fields say so.
 */
#ifndef SOFTCUDA_EXEC_MACHINE_H
#define SOFTCUDA_EXEC_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"
#include "ptx/ptx.h"

#define SX_LANES 32
#define SX_ALL_LANES UINT32_C(0xffffffff)
#define SX_MAX_WARPS 32
#define SX_BARRIERS 16
#define SX_OPERANDS 6

/*
 * Generic addresses of memory that is not global. User space ends far below 2^48, so neither a
 * device address nor pinned host memory can collide with them.
 */
#define SX_WINDOW_SHIFT 40
#define SX_WINDOW_BYTES (UINT64_C(1) << SX_WINDOW_SHIFT)
#define SX_LOCAL_WINDOW UINT64_C(0x0001000000000000)
#define SX_SHARED_WINDOW UINT64_C(0x0001010000000000)
#define SX_PARAM_WINDOW UINT64_C(0x0001020000000000)
#define SX_CODE_WINDOW UINT64_C(0x0001030000000000)      /* function n is at + 16 * (n + 1) */
#define SX_WORKSPACE_WINDOW UINT64_C(0x0001040000000000) /* of a cooperative launch */
#define SX_WINDOWS 5

/* Shared memory of each block that is not the program's: CUDA's headers keep what groups of several
 * warps need in the second half. It lies far behind any that a program can have. */
#define SX_RESERVED_SHARED UINT32_C(0x01000000)
#define SX_RESERVED_BYTES 1024u

typedef struct sx_insn sx_insn;
typedef struct sx_warp sx_warp;
typedef struct sx_block sx_block;
typedef struct sx_code sx_code;
typedef struct sx_work sx_work;

/* Executes an instruction for the lanes in w->mask; returns the next one, or NULL with w->event. */
typedef const sx_insn *(*sx_handler)(const sx_insn *i, sx_warp *w);

/*
 * An operand names 32 lanes: the low two bits choose the base (sx_base), the rest is a byte offset.
 * While a function is being decoded the offset of a register is four times its number.
 */
enum sx_base { SX_BASE_REGS, SX_BASE_CONST, SX_BASE_TID, SX_BASE_NONE };
#define SX_NO_OPERAND UINT32_MAX

/* One cache line. */
struct sx_insn {
    sx_handler fn;
    sx_handler inner;        /* what a guarded instruction does (fn tests the guard first) */
    uint32_t o[SX_OPERANDS]; /* operands: results first */
    union {
        int64_t imm;           /* address offset, lookup table, .. */
        const sx_insn *target; /* of a branch */
        const void *info;      /* sx_call_info, sx_switch */
    };
    uint32_t guard;  /* operand of the predicate */
    uint32_t source; /* index of the PTX instruction in its function */
    uint32_t aux;    /* small facts, meant for the handler */
    uint16_t cost;   /* of a backward branch: the fuel it takes */
    uint8_t results; /* how many of o[] are written */
    uint8_t negated; /* the guard is !p */
};

_Static_assert(sizeof(sx_insn) == 64, "an instruction is one cache line");

/* Places for registers, by width: 4, 64, 128 and 256 bytes. */
enum sx_slot_class { SX_SLOT_PRED, SX_SLOT_16, SX_SLOT_32, SX_SLOT_64, SX_SLOT_CLASSES };

/* Where a parameter or an argument lives: a register, or bytes of the local frame. */
typedef struct sx_place {
    bool is_reg;
    uint32_t at; /* operand, or offset */
    uint32_t bytes;
} sx_place;

/* One PTX function, decoded. */
struct sx_code {
    const ptx_function *ptx;
    const sx_insn *insns;
    size_t count;
    uint32_t frame_bytes;  /* registers of one warp */
    uint32_t local_bytes;  /* per thread: .param frame, then .local variables */
    uint32_t local_offset; /* where .local variables start in it */
    const sx_error *refusal; /* why it can not run; NULL: it can */
    uint32_t stack_bytes;  /* local_bytes with everything it may call, where that is known */
    const sx_place *params, *returns; /* of a .func, as many as ptx has */
    const uint32_t *slots;            /* the contents of a frame: place | sx_slot_class */
    uint32_t slot_count;
};

typedef struct sx_call_info {
    const sx_code *callee; /* NULL: indirect, o[0] has the address */
    unsigned builtin;      /* sx_builtin, 0: none */
    uint32_t arg_count, return_count;
    sx_place places[]; /* in the caller: arguments, then returns (at SX_NO_OPERAND: none) */
} sx_call_info;

typedef struct sx_switch {
    uint32_t count;
    const sx_insn *targets[];
} sx_switch;

/* One activation of a function by the lanes that called it together. */
typedef struct sx_frame {
    struct sx_frame *parent;
    const sx_code *code;
    const sx_insn *call; /* the call in the parent; NULL for the kernel */
    char *regs;
    uint32_t lanes;      /* lanes that are still inside of this frame or deeper */
    uint32_t local_base; /* in each thread's local memory */
    uint32_t depth;
    uint32_t size_class; /* of the pooled allocation */
} sx_frame;

enum sx_group_state { SX_RUNNABLE, SX_AT_BARRIER, SX_AT_SYNC };

/* Lanes of a warp that share a place in the program but are not running now. */
typedef struct sx_group {
    const sx_insn *pc;
    sx_frame *frame;
    uint32_t mask;
    uint32_t turn;   /* groups with a smaller turn go first: see sx_group_rotate */
    uint8_t state;   /* sx_group_state */
    uint8_t barrier; /* where AT_BARRIER */
} sx_group;

/* How a warp's 32 addresses lie; one instruction finds out, and others use it: access.h. */
#define SX_PATTERNS 4
typedef struct sx_pattern {
    uint64_t base[2], step[2]; /* of each half, without the instruction's offset */
    bool affine;
} sx_pattern;

enum sx_event { SX_EVENT_NONE, SX_EVENT_DONE, SX_EVENT_BLOCKED, SX_EVENT_YIELD, SX_EVENT_ERROR };

struct sx_warp {
    char *base[4]; /* by sx_base; NONE is never used */
    uint32_t mask; /* lanes that run */
    uint32_t live; /* lanes that have not exited */
    bool full;     /* mask == live: results may go to all lanes at once */
    bool forced;   /* goes on although lanes that a .sync instruction names will not come */
    uint8_t event;
    int32_t fuel;            /* how long until a backward branch looks up: see sx_back_edge */
    const sx_insn *wait_pc;  /* lowest place where lanes of this frame wait; UINTPTR_MAX: nowhere */
    const sx_region *region; /* where the last global access was */
    sx_frame *frame;
    sx_block *block;
    char *local;       /* 32 threads' local memory, block->local_bytes each */
    const sx_insn *pc; /* where to go on after an event */
    uint64_t wake;     /* when its sleep ends, by sx_now; 0: it does not sleep */
    uint32_t turn, last_turn;
    uint32_t index;
    uint32_t group_count;
    sx_group groups[SX_LANES];
    sx_frame root;
    void *pointers[SX_LANES]; /* host addresses of a scattered access */
    sx_pattern patterns[SX_PATTERNS];
};

typedef struct sx_barrier {
    uint32_t arrived;             /* lanes that arrived, including those that a warp no longer
                                   * has */
    uint32_t expected;            /* 0: all threads of the block */
    uint32_t sum;                 /* .red: lanes whose predicate was true */
    uint32_t lanes[SX_MAX_WARPS]; /* lanes that arrived, by warp */
    bool used;
} sx_barrier;

/* Freed frames by size class, kept for the next call. */
#define SX_FRAME_CLASSES 24

struct sx_block {
    sx_block *next; /* links the pool of idle blocks, or a worker's resident ones */
    sx_work *work;
    const sx_launch *launch;
    char *shared, *reserved;
    uint32_t shared_bytes; /* static and dynamic together: the bound for accesses */
    uint32_t local_bytes;  /* per thread */
    uint32_t warp_count, live_warps;
    uint32_t ctaid[3];
    uint64_t linear; /* block number in the grid */
    uint32_t live_threads;
    uint32_t epoch;        /* age of the marks: see races.c */
    struct sx_mark *marks; /* one for each byte of `shared`; NULL: races are not detected */
    uint32_t barriers_used;
    sx_barrier barriers[SX_BARRIERS];
    sx_warp *warps;
    sx_frame *free_frames[SX_FRAME_CLASSES];

    /* storage, kept from launch to launch */
    char *regs;
    char *tids; /* per warp: tid.x, tid.y, tid.z, each 32 lanes */
    char *local;
    struct sx_mark *marks_store;
    size_t warps_room, regs_room, shared_room, local_room, tids_room, marks_room;
    uint32_t tid_block[3]; /* the block shape that `tids` was filled for */
};

/* A launch under way. It lives in sx_run's stack frame; the workers that help see it there. */
struct sx_work {
    sx_work *next, *prev; /* in the pool's list */
    const sx_launch *launch;
    const sx_code *code;
    const sx_module *module;
    uint64_t blocks;
    uint32_t warps, threads;
    uint32_t local_bytes;
    uint32_t shared_bytes;
    uint64_t grid_id;
    _Atomic uint64_t claimed; /* blocks that were handed out; the only contended field */
    _Atomic bool failed;      /* the first error was written: everybody gives up */
    unsigned helpers;         /* workers inside; under the pool's lock */
    /* What CUDA's headers expect at %envreg1:%envreg2 in a cooperative launch: a size, and the
     * grid's barrier, which kernels use with atomics. */
    _Alignas(16) uint32_t workspace[4];
    _Atomic bool reported; /* somebody, the first to fail, writes `error`; nobody else does */
    sx_error *error;
};

struct sx_kernel {
    const sx_module *module;
    const sx_code *code;
    sx_kernel_info info;
    uint32_t local_bytes; /* per thread, including everything that it may call */
    sx_param *params;
};

typedef struct sx_heap sx_heap; /* device malloc: heap.c */

struct sx_module {
    ptx_module *ptx;
    sx_allocator allocator;
    uint64_t globals;      /* one device allocation for all variables; 0: none */
    uint64_t *var_address; /* by ptx_var.index */
    sx_code *codes;        /* by ptx_function.index */
    sx_kernel *kernels;
    size_t kernel_count;
    char *constants; /* broadcast values, at which SX_BASE_CONST begins */
    void **owned;    /* everything that decoding allocated */
    size_t owned_count, owned_room;
    sx_heap *heap;
};

/* ---- what the parts offer each other --------------------------------------------------------- */

/* group.c: lanes of one warp that took different ways */
const sx_insn *sx_group_next(sx_warp *w);
void sx_group_park(sx_warp *w, const sx_insn *pc, uint32_t mask, unsigned state, unsigned barrier);
const sx_insn *sx_group_arrive(sx_warp *w, const sx_insn *pc);
const sx_insn *sx_group_join(sx_warp *w, const sx_insn *pc);
const sx_insn *sx_group_split(sx_warp *w, uint32_t taken, const sx_insn *target,
                              const sx_insn *fall);
const sx_insn *sx_group_wait_sync(sx_warp *w, const sx_insn *pc);
const sx_insn *sx_group_back_edge(sx_warp *w, const sx_insn *target, unsigned cost);
void sx_lanes_exit(sx_warp *w, uint32_t lanes);
#define SX_NO_WAIT ((const sx_insn *)UINTPTR_MAX)

/* The fuel that a warp has between two looks at the world, and what one turn of a spinning loop
 * takes. */
#define SX_FUEL 4096
#define SX_COST_LOOP 1
#define SX_COST_CALL 4
#define SX_COST_SPIN 256

/* op_warp.c: false: the lanes that the member masks name are not all here; wait for them */
bool sx_converged(const sx_insn *i, sx_warp *w, uint32_t operand);

/* barrier.c */
void sx_barrier_exit(sx_block *b, sx_warp *w);

/* frame.c */
sx_frame *sx_frame_enter(sx_warp *w, const sx_code *callee, const sx_insn *call);
void sx_frame_leave(sx_warp *w, sx_frame *frame, uint32_t lanes);
bool sx_frame_merge(sx_warp *w, sx_frame *into, sx_frame *from);
void sx_frame_release_pool(sx_block *b);
void sx_frame_abandon(sx_block *b);

/* The place of `offset` in a thread's local memory; the caller has checked it. */
static inline char *sx_local_at(const sx_warp *w, unsigned lane, uint64_t offset)
{
    return w->local + (size_t)lane * w->block->local_bytes + offset;
}

/* block.c */
uint64_t sx_now(void); /* nanoseconds of a clock that never goes back */
bool sx_block_fit(sx_block *b, sx_work *work);
void sx_block_start(sx_block *b, uint64_t number);
unsigned sx_block_run(sx_block *b); /* DONE, YIELD or ERROR */
void sx_block_free(sx_block *b);

/* pool.c: takes part in a launch until it is over, or for a slice where `slice` is not 0 */
void sx_work_publish(sx_work *work);
void sx_work_join(sx_work *work);
sx_block *sx_block_take(void);
void sx_block_give(sx_block *b);
void sx_work_take_part(sx_work *work, unsigned slice);

/* fault.c: the first error of a launch wins; these return NULL with event ERROR */
enum sx_access_kind { SX_READ, SX_WRITE, SX_ATOMIC };
const sx_insn *sx_fault_access(sx_warp *w, const sx_insn *i, unsigned lane, uint64_t address,
                               unsigned bytes, unsigned kind);
const sx_insn *sx_fault(sx_warp *w, const sx_insn *i, unsigned lane, unsigned code,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));
void sx_fault_block(sx_block *b, unsigned code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* memory.c */
char *sx_generic_at(sx_warp *w, unsigned lane, uint64_t address, uint64_t bytes,
                    unsigned kind);
char *sx_global_slow(sx_warp *w, uint64_t address, uint64_t bytes);
/* Whether the bytes at `at`, in this region, may be read (it has marks); a write makes them so. */
bool sx_is_written(const sx_region *r, const char *at, uint64_t bytes, unsigned kind);

/* races.c: fit makes room for a block's marks; the checks want w->pointers to be set, and
 * block->marks to be there */
bool sx_races_fit(sx_block *b, bool wanted);
void sx_races_next_epoch(sx_block *b);
bool sx_races_none(sx_warp *w, const sx_insn *i, unsigned bytes, unsigned kind);

/* heap.c */
sx_heap *sx_heap_create(const sx_allocator *allocator);
void sx_heap_destroy(sx_heap *heap, const sx_allocator *allocator);
uint64_t sx_heap_alloc(sx_heap *heap, uint64_t bytes);
bool sx_heap_free(sx_heap *heap, uint64_t address);

/* kernels.c: fills module->kernels with those that can run; false: out of memory */
bool sx_list_kernels(sx_module *m);

/* module.c */
const sx_code *sx_code_at(const sx_module *module, uint64_t address);

enum sx_builtin {
    SX_BUILTIN_NONE,
    SX_BUILTIN_VPRINTF,
    SX_BUILTIN_ASSERTFAIL,
    SX_BUILTIN_MALLOC,
    SX_BUILTIN_FREE,
};
const sx_insn *sx_builtin_call(const sx_insn *i, sx_warp *w, const sx_call_info *info);

#endif
