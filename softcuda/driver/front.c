/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The fronts of the entry points: what softcuda_symbol, cuGetProcAddress and the stand-in give out.
 * Mostly they just call the implementation. SOFTCUDA_SEED, SOFTCUDA_FAULTS and SOFTCUDA_TRACE want
 * to know of each call of the program, and of no others: the driver's own parts call each other
 * behind the fronts.
 */
#include "driver/front.h"

#include "driver/context.h"
#include "driver/errors.h"
#include "driver/faults.h"
#include "driver/schedule.h"
#include "driver/trace.h"

#include <errno.h>
#include <stdlib.h>

static _Atomic bool busy; /* a seed, script or trace is set; written once, before the driver is
                           * ready */

/* Whether the call counts. Calls that will be refused at the door do not, above all those of host
 * functions. */
static bool looks(void)
{
    return atomic_load_explicit(&busy, memory_order_relaxed) && !sd_enter();
}

/* If not 0, the call must do nothing but return this. */
static unsigned before(const char *name)
{
    if (sd_seeded())
        sd_schedule_call(name);
    else
        sd_trace("call %s", name);
    return sd_faults_on() ? sd_faults_begin(name) : ACU_CUDA_SUCCESS;
}

static unsigned after(const char *name, unsigned result)
{
    if (sd_faults_on())
        sd_faults_end();
    const char *error = NULL;
    if (result && sd_trace_on() && sd_cuGetErrorName(result, &error) == ACU_CUDA_SUCCESS)
        sd_trace("     %s: %s", name, error);
    return result;
}

#define ACUDA(name, symbol, since, effect, kind, parameters, arguments) \
    FRONT(symbol, parameters, arguments)
#define MORE(symbol, since, parameters, arguments) FRONT(symbol, parameters, arguments)
#define FRONT(symbol, parameters, arguments) \
    unsigned sdf_##symbol parameters \
    { \
        if (__builtin_expect(!looks(), 1)) \
            return sd_##symbol arguments; \
        unsigned refused = before(#symbol); \
        return after(#symbol, refused ? refused : sd_##symbol arguments); \
    }
SD_ACUDA_CALLS(ACUDA)
SD_MORE_CALLS(MORE)

/* ---- the environment ---- */

static unsigned read_seed(const char *text)
{
    char *end;
    int error = errno;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 0);
    bool number = *text >= '0' && *text <= '9' && !*end && !errno;
    errno = error;
    if (!number) {
        sd_error_say("SOFTCUDA_SEED=%s is not a number of 64 bits", text);
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    if (!sd_schedule_init(seed))
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    sd_trace("seed %llu", seed);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_front_init(void)
{
    const char *trace = secure_getenv("SOFTCUDA_TRACE"), *seed = secure_getenv("SOFTCUDA_SEED");
    const char *faults = secure_getenv("SOFTCUDA_FAULTS");
    char why[512];
    if (!sd_report_open(why, sizeof why) ||
        (trace && *trace && !sd_trace_on() && !sd_trace_open(trace, why, sizeof why)) ||
        (faults && *faults && !sd_faults_on() && !sd_faults_read(faults, why, sizeof why))) {
        sd_error_say("%s", why);
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    unsigned result = seed && *seed && !sd_seeded() ? read_seed(seed) : ACU_CUDA_SUCCESS;
    atomic_store_explicit(&busy, sd_seeded() || sd_trace_on() || sd_faults_on(),
                          memory_order_relaxed);
    return result;
}
