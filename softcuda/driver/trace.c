/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The file of a trace, and what is written to it. */
#include "driver/trace.h"

#include "driver/memory.h"
#include "driver/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 4096
#define ABOUT_BYTES 160

/* Never closed, because a process may end at any moment. Each line is written out at once. */
static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `steps`; a leaf */
static unsigned long long steps;

bool sd_trace_on(void)
{
    return file != NULL;
}

/* Never as one of the standard streams, which the program may have closed and print to all the
 * same. */
static FILE *open_file(const char *path)
{
    int low = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int number = low >= 0 && low <= 2 ? fcntl(low, F_DUPFD_CLOEXEC, 3) : low;
    if (number != low)
        close(low);
    return number < 0 ? NULL : fdopen(number, "w");
}

FILE *sd_file_open(const char *variable, const char *name, char *why, size_t bytes)
{
    char path[NAME_BYTES];
    FILE *opened = NULL;
    const char *process = strstr(name, "%p");
    int length = process ? snprintf(path, sizeof path, "%.*s%ld%s", (int)(process - name), name,
                                    (long)getpid(), process + 2)
                         : snprintf(path, sizeof path, "%s", name);
    int error = errno;
    if (length > 0 && (size_t)length < sizeof path)
        opened = open_file(path);
    if (!opened)
        snprintf(why, bytes, "%s=%s: the file cannot be written: %s", variable, name,
                 strerror(errno));
    else
        setvbuf(opened, NULL, _IOLBF, BUFSIZ);
    errno = error;
    return opened;
}

bool sd_trace_open(const char *name, char *why, size_t bytes)
{
    file = sd_file_open("SOFTCUDA_TRACE", name, why, bytes);
    return file != NULL;
}

void sd_trace(const char *format, ...)
{
    if (!file)
        return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(file, "%s\n", line);
}

sd_spot sd_spot_of(uint64_t address)
{
    sd_spot spot;
    const sd_device *device = sd_device_of(address);
    if (device)
        snprintf(spot.text, sizeof spot.text, "d%d+0x%llx", device->ordinal,
                 (unsigned long long)(address - device->range.base));
    else if (atomic_load_explicit(&sd_host.mapped, memory_order_acquire) &&
             address - sd_host.range.base < sd_host.range.bytes)
        snprintf(spot.text, sizeof spot.text, "pinned+0x%llx",
                 (unsigned long long)(address - sd_host.range.base));
    else
        snprintf(spot.text, sizeof spot.text, "the program's");
    return spot;
}

void sd_trace_step(const sd_stream *stream, const sd_work *work)
{
    if (!file)
        return;
    char about[ABOUT_BYTES] = "";
    if (work->kind->tell)
        work->kind->tell(work, about, sizeof about);
    pthread_mutex_lock(&lock);
    sd_trace("step %llu: device %d stream %llu #%llu %s%s%s", ++steps,
             stream->object.context->device->ordinal, (unsigned long long)stream->number,
             (unsigned long long)work->at, work->kind->name, *about ? " " : "", about);
    pthread_mutex_unlock(&lock);
}
