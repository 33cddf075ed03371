/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda's own threads: they have names, block signals, and are ended by the last close. */
#ifndef ACUI_BASE_THREADS_H
#define ACUI_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

bool acui_thread_start(pthread_t *thread, const char *name, void *(*run)(void *));
bool acui_thread_start_with(pthread_t *thread, const char *name, void *(*run)(void *),
                            void *context);

/* Why this thread could not start one, for messages. */
#define ACUI_THREAD_WORDS 160
const char *acui_thread_words(char words[ACUI_THREAD_WORDS]);

#endif
