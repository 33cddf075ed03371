/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting threads. */
#include "base/threads.h"

#include "base/local.h"
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static ACUI_LOCAL int failure; /* of the last pthread_create */

bool acui_thread_start(pthread_t *thread, const char *name, void *(*run)(void *))
{
    return acui_thread_start_with(thread, name, run, NULL);
}

bool acui_thread_start_with(pthread_t *thread, const char *name, void *(*run)(void *),
                            void *context)
{
    sigset_t all, before;
    acui_signals_watch();
    sigfillset(&all);
    /* The new thread inherits the mask, so the program's handlers run on the program's threads. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failure = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0)
        pthread_setname_np(*thread, name);
    return failure == 0;
}

/* EAGAIN stands for several limits. */
const char *acui_thread_words(char words[ACUI_THREAD_WORDS])
{
    char reason[64];
    snprintf(words, ACUI_THREAD_WORDS, "%s%s", strerror_r(failure, reason, sizeof reason),
             failure == EAGAIN ? " (threads are limited by ulimit -u or by a container, memory for "
                                 "their stacks by ulimit -v)"
                               : "");
    return words;
}
