/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The one thread that the file under test starts, and may start again after it was joined. A model
 * includes this before that file, and has model_thread among its threads; model_thread_over ends
 * it.
 */
#ifndef ACUDA_TESTS_MODELS_ONE_THREAD_H
#define ACUDA_TESTS_MODELS_ONE_THREAD_H

#include "explore.h"

#include "base/threads.h"

#define pthread_join(thread, value) ((void)(thread), (void)(value), model_join())

enum { MODEL_NEVER = 100 };

static _Atomic(uint32_t) model_starts, model_ends;
static void *(*model_run)(void *);
static void *model_context;

bool acui_thread_start_with(pthread_t *thread, const char *name, void *(*fn)(void *),
                            void *context)
{
    (void)thread, (void)name;
    if (model_starts != model_ends)
        explore_fail("two of them");
    model_run = fn;
    model_context = context;
    model_starts++;
    explore_unpark(&model_starts);
    return true;
}

bool acui_thread_start(pthread_t *thread, const char *name, void *(*fn)(void *))
{
    return acui_thread_start_with(thread, name, fn, NULL);
}

const char *acui_thread_words(char words[ACUI_THREAD_WORDS])
{
    words[0] = 0; /* it always starts */
    return words;
}

static void model_join(void)
{
    uint32_t seen;
    while ((seen = model_ends) != model_starts)
        explore_park(&model_ends, seen);
}

static void model_thread(void)
{
    for (uint32_t n = 0; model_starts != MODEL_NEVER; n++) {
        while (model_starts == n)
            explore_park(&model_starts, n);
        if (model_starts == MODEL_NEVER)
            return;
        model_run(model_context);
        model_ends++;
        explore_unpark(&model_ends);
    }
}

static void model_thread_over(void)
{
    model_starts = MODEL_NEVER;
    explore_unpark(&model_starts);
}

#endif
