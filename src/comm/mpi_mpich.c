/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MPI by the ABI of MPICH, which Intel MPI, MVAPICH and Cray's share: handles are integers. */
#include "comm/mpi.h"

typedef int HANDLE;
#define IN_PLACE ((void *)-1)
#define STATUS_IGNORE ((void *)1)
#define MULTIPLE 3

static HANDLE world(void)
{
    return 0x44000000;
}

static HANDLE self(void)
{
    return 0x44000001;
}

static HANDLE return_errors(void)
{
    return 0x54000001;
}

/* The third byte from the right is the number of bytes of an element. */
static bool type_of(acu_dtype dtype, HANDLE *type)
{
    static const int types[] = {
        [ACU_I8] = 0x4c000137,  [ACU_U8] = 0x4c00013b,  [ACU_I16] = 0x4c000238,
        [ACU_U16] = 0x4c00023c, [ACU_I32] = 0x4c000439, [ACU_U32] = 0x4c00043d,
        [ACU_I64] = 0x4c00083a, [ACU_U64] = 0x4c00083e, [ACU_F32] = 0x4c00040a,
        [ACU_F64] = 0x4c00080b,
    };
    *type = (size_t)dtype < sizeof types / sizeof *types ? types[dtype] : 0;
    return *type;
}

static HANDLE op_of(acu_reduction reduction)
{
    return reduction == ACU_REDUCE_SUM    ? 0x58000003
           : reduction == ACU_REDUCE_PROD ? 0x58000004
           : reduction == ACU_REDUCE_MIN  ? 0x58000002
                                          : 0x58000001;
}

#include "comm/mpi_calls.h"

const acui_mpi acui_mpi_mpich = {
    "MPICH", use_calls, state, start, end, join, leave, reduces, post, exchange, test, words,
};
