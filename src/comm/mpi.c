/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which MPI to use: what the process has, else what is named, else what its launcher belongs to. */
#include "comm/mpi.h"

#include "driver/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MPI "libmpi.so.40"
#define MPICH "libmpi.so.12"
#define DEBIANS_MPICH "libmpich.so.12"
#define STANDARD "libmpi_abi.so.1"

/* MPICH 5 has the function in both of its libraries, and that with its own ABI says so. */
static bool is_standard(void *library)
{
    int (*version)(int *major, int *minor), major = -1, minor;
    return acui_vendor_symbol(library, "MPI_Abi_get_version", &version) &&
           version(&major, &minor) == 0 && major >= 1;
}

/* In `library`; NULL: of no use. */
static const acui_mpi *use(void *library, const char *name, char *why, size_t bytes)
{
    void *address;
    const acui_mpi *mpi = acui_vendor_symbol(library, "ompi_mpi_comm_world", &address)
                              ? &acui_mpi_open
                          : is_standard(library) ? &acui_mpi_abi
                                                 : &acui_mpi_mpich;
    const char *lacks = mpi->use(library);
    if (!lacks)
        return mpi;
    size_t length = strlen(why);
    snprintf(why + length, bytes - length, "%s%s (has no %s)", length ? ", " : "", name, lacks);
    return NULL;
}

static const acui_mpi *try(const char *name, char *looked, size_t bytes)
{
    void *library = acui_vendor_open_global(name);
    const acui_mpi *mpi = library ? use(library, name, looked, bytes) : NULL;
    if (library && !mpi)
        acui_vendor_close(library);
    if (!library) {
        size_t length = strlen(looked);
        snprintf(looked + length, bytes - length, "%s%s", length ? ", " : "", name);
    }
    return mpi;
}

const acui_mpi *acui_mpi_find(char *looked, size_t bytes)
{
    static const char *const names[] = {OPEN_MPI, MPICH, DEBIANS_MPICH, STANDARD};
    enum { NAMES = sizeof names / sizeof *names };
    looked[0] = '\0';
    void *own = acui_vendor_open_global(NULL), *address;
    if (own && acui_vendor_symbol(own, "MPI_Init_thread", &address)) {
        const acui_mpi *mpi = use(own, "the program", looked, bytes);
        if (mpi)
            return mpi;
    }
    const char *named = secure_getenv("ACUDA_MPI");
    if (named && *named)
        return try(named, looked, bytes);
    size_t first = secure_getenv("PMI_RANK") && !secure_getenv("OMPI_COMM_WORLD_RANK") ? 1 : 0;
    for (size_t i = 0; i < NAMES; i++) {
        const acui_mpi *mpi = try(names[(first + i) % NAMES], looked, bytes);
        if (mpi)
            return mpi;
    }
    return NULL;
}
