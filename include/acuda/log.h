/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What acuda does that a program may want in its log: which driver it found and which libraries it
 * did not, what was compiled, what could not be loaded or kept, that a device was lost. Nothing is
 * said unless the program asks for it, and acuda never prints by itself.
 *
 *   static void note(void *data, const acu_log_line *line)
 *   {
 *       fprintf(data, "%s %s: %s\n", acu_log_level_name(line->level), line->about, line->text);
 *   }
 *   ...
 *   acu_log_to(ACU_LOG_INFO, note, ACU_USER(stderr));
 *
 * None of this replaces a status: what fails is reported by the call or the future that it belongs
 * to, and that says all that the log says. The log has what belongs to none, and when it was.
 */
#ifndef ACUDA_LOG_H
#define ACUDA_LOG_H

#include <acuda/base.h>
#include <acuda/status.h>

ACU_BEGIN

typedef enum acu_log_level {
    ACU_LOG_NOTHING, /* the default */
    ACU_LOG_ERROR,   /* a device was lost */
    ACU_LOG_WARNING, /* something failed, or goes a slower way: a module that could not be loaded, a
                      * compiler that failed, a library that is not fit, a cache that can not be
                      * used, a graph that the driver did not make (its work is issued directly),
                      * the software device because there is no GPU */
    ACU_LOG_INFO,    /* what happens a few times in a process: the driver and the libraries that
                      * were found or are missing, devices opened and reset, code compiled */
    ACU_LOG_DEBUG    /* what happens more often: code found in the cache on disk, modules loaded,
                      * submissions refused */
} acu_log_level;

typedef struct acu_log_line {
    size_t size; /* sizeof(acu_log_line), in the library */
    acu_log_level level;
    int device;        /* its ordinal; -1: of none */
    uint64_t time;     /* of acu_now */
    const char *about; /* "driver", "device", "library", "compiler", "cache", "module", "submit",
                        * "graph", "trace" */
    const char *text;  /* one line, without its end; valid during the call */
} acu_log_line;

/*
 * The function is called for each line, by the thread on which it happened, whichever that is, and
 * by several at a time. acuda may hold locks meanwhile: it must not call acuda, except acu_now and
 * the functions that give names (acu_log_level_name, acu_status_name, ...), must not throw, and
 * should return soon. What would be logged inside of it is not.
 */
typedef void (*acu_log_fn)(void *data, const acu_log_line *line);

/*
 * From now on, call `fn` for all lines up to the level `most`, instead of what was asked for
 * before. ACU_LOG_NOTHING, with NULL, ends that. One function in a process; before the first open
 * is the best time, since the choice of the driver is logged too. `user` is released once the
 * function is not called any more: by the next acu_log_to, or never. A process that was forked logs
 * nothing.
 * Blocks while other threads are in the function that is replaced. Errors: INVALID, IN_CALLBACK,
 * FORKED; then `user` is released.
 */
ACU_API acu_status acu_log_to(acu_log_level most, acu_log_fn fn, acu_user user);

/* "warning" for ACU_LOG_WARNING; "?" for an invalid number. */
ACU_API const char *acu_log_level_name(acu_log_level level);

ACU_END
#endif
