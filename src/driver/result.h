/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From the result of a driver call to a status and the thread's error record:
 *
 *     acu_status st = ACUI_CU(cu, StreamCreate, (&stream, flags), "making a stream");
 */
#ifndef ACUI_DRIVER_RESULT_H
#define ACUI_DRIVER_RESULT_H

#include "base/local.h"

#include <acuda/driver.h>

/* The status that corresponds to a CUresult. */
acu_status acui_result_status(unsigned result);

/* Record that `call` (ACU_CALL_x) returned `result`, with a message that says what was being done;
 * returns the status. A result that is not a failure (0, CUDA_ERROR_NOT_READY) leaves the record
 * unchanged. */
ACU_PRINTF(3, 4) acu_status acui_fail_driver(acu_driver_call call, unsigned result,
                                             const char *format, ...);

/* The last failed result of ACUI_CU on this thread, passed from the check of the call to the
 * report, so that success costs one comparison. */
extern ACUI_LOCAL unsigned acui_result_kept;

static inline bool acui_result_ok(unsigned result)
{
    if (result == ACU_CUDA_SUCCESS)
        return true;
    acui_result_kept = result;
    return false;
}

/* Call entry `name` of the table `cu` with the parenthesised `args`. Returns ACU_OK, or records the
 * failure with a printf-like message that says what was being done. */
#define ACUI_CU(cu, name, args, ...)                                                               \
    (acui_result_ok((cu)->name args) ? ACU_OK                                                      \
                                     : acui_fail_driver(ACU_CALL_##name, acui_result_kept,         \
                                                        __VA_ARGS__))

#endif
