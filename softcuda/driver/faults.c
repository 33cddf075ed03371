/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The script of faults at work: counting its places, and striking. */
#include "driver/faults.h"

#include "driver/errors.h"
#include "driver/fault_script.h"
#include "driver/launch.h"
#include "driver/symbols.h"
#include "driver/trace.h"

#include <stdlib.h>
#include <string.h>

/* Never freed, because a process may end at any moment. */
static sd_fault *faults;

static _Thread_local const sd_fault *pending; /* the late fault of the call that this thread is
                                               * in */

bool sd_faults_read(const char *script, char *why, size_t bytes)
{
    return sd_script_read(script, &faults, why, bytes);
}

bool sd_faults_on(void)
{
    return faults != NULL;
}

/* Counts one more of the fault's places; true: it is its turn. */
static bool counts(sd_fault *f)
{
    uint64_t number = 1 + atomic_fetch_add_explicit(&f->count, 1, memory_order_relaxed);
    return f->on ? number >= f->nth : number == f->nth;
}

static void say(const sd_fault *f, const char *where, const char *more)
{
    sd_error_say("SOFTCUDA_FAULTS: %s: %s%s%s", f->text, where, *more ? " " : "", more);
    sd_trace("fault: %s", f->text);
}

/* ---- calls ---- */

unsigned sd_faults_begin(const char *symbol)
{
    pending = NULL;
    for (sd_fault *f = faults; f; f = f->next) {
        if (f->place != SD_FAULT_CALL || !sd_is_form_of(symbol, f->name) || !counts(f))
            continue;
        if (!f->late) {
            say(f, symbol, "");
            return f->result;
        }
        if (!pending)
            pending = f;
    }
    return ACU_CUDA_SUCCESS;
}

void sd_faults_mark(sd_work *work)
{
    if (!work->kind->run)
        return;
    work->fault = pending;
    pending = NULL;
}

/* A late fault that no work took over strikes now. */
void sd_faults_end(void)
{
    const sd_fault *f = pending;
    sd_context *context = NULL;
    pending = NULL;
    if (!f || sd_enter_current(&context) != ACU_CUDA_SUCCESS) {
        sd_context_leave(&context);
        return;
    }
    say(f, "the call issued no work", "");
    sd_context_fault(context, f->result);
    sd_context_leave(&context);
}

/* ---- works ---- */

/* Whether `kind`, from a trace, is `name`, from a script. */
static bool same_kind(const char *kind, const char *name)
{
    for (; *kind && (*kind == *name || (*kind == ' ' && *name == '-')); kind++)
        name++;
    return *kind == *name;
}

static bool is_at(const sd_fault *f, const sd_stream *stream, const sd_work *work)
{
    const char *kernel;
    switch (f->place) {
    case SD_FAULT_KERNEL:
        kernel = sd_launch_kernel(work);
        return kernel && strcmp(kernel, f->name) == 0;
    case SD_FAULT_DEVICE:
        return stream->object.context->device->ordinal == f->device;
    case SD_FAULT_WORK:
        return strcmp(f->name, "work") == 0 || same_kind(work->kind->name, f->name);
    default:
        return false;
    }
}

const sd_fault *sd_faults_meet(const sd_stream *stream, const sd_work *work)
{
    const sd_fault *met = work->fault;
    if (work->kind->run)
        for (sd_fault *f = faults; f; f = f->next)
            if (is_at(f, stream, work) && counts(f) && !met)
                met = f;
    return met;
}

void sd_faults_strike(const sd_fault *f, sd_stream *stream, const sd_work *work)
{
    char about[160] = "";
    if (work->kind->tell)
        work->kind->tell(work, about, sizeof about);
    say(f, work->kind->name, about);
    if (f->place == SD_FAULT_DEVICE)
        sd_device_fault(stream->object.context->device, f->result);
    else
        sd_context_fault(stream->object.context, f->result);
}
