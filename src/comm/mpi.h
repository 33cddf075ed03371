/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * MPI, found at run time. The ABIs in use differ in their handles: pointers to exported data in
 * Open MPI, integers in MPICH and its kin, and constants in the standard ABI of MPI 5.0.
 * mpi_calls.h is compiled for each (mpi_open.c, mpi_mpich.c, mpi_abi.c), and here they look the
 * same: a handle is a uintptr_t.
 */
#ifndef ACUI_COMM_MPI_H
#define ACUI_COMM_MPI_H

#include <acuda/comm.h>
#include <stdint.h>

/* What to post. */
typedef struct acui_mpi_post {
    acu_collective_kind kind;
    acu_reduction reduction;
    acu_dtype dtype;
    int rank;       /* the root, or the other rank */
    int tag;        /* of a send or receive */
    bool is_root;   /* this rank is that root */
    int count;      /* elements of one rank's part */
    const void *in; /* NULL: in place */
    void *out;      /* NULL: nothing is received */
} acui_mpi_post;

enum { ACUI_MPI_WORDS = 512 }; /* MPI_MAX_ERROR_STRING is at most that */

/* Each call answers MPI's error code, 0 for success. Called by one thread. */
typedef struct acui_mpi {
    const char *name;
    /* The first symbol that the library lacks; NULL: it has all, and is in use from now on. */
    const char *(*use)(void *library);
    int (*state)(bool *initialised, bool *finalised, bool *multiple);
    int (*start)(void);
    int (*end)(void);
    int (*join)(uintptr_t *comm, int *rank, int *ranks);
    int (*leave)(uintptr_t *comm);
    bool (*reduces)(acu_dtype dtype); /* has a type for it that its reductions take */
    int (*post)(uintptr_t comm, const acui_mpi_post *post, uintptr_t *request);
    /* All ranks' `count` numbers. */
    int (*exchange)(uintptr_t comm, const int64_t *mine, int64_t *all, int count,
                    uintptr_t *request);
    int (*test)(uintptr_t *request, bool *over);
    void (*words)(int code, char words[ACUI_MPI_WORDS]);
} acui_mpi;

extern const acui_mpi acui_mpi_open, acui_mpi_mpich, acui_mpi_abi;

/* The library to use, opened. NULL: there is none; `looked` says where it was looked for. */
const acui_mpi *acui_mpi_find(char *looked, size_t bytes);

#endif
