/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting threads. */
#include "base/threads.h"

#include "base/signals.h"

#include <signal.h>

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
    bool started = pthread_create(thread, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_setname_np(*thread, name);
    return started;
}
