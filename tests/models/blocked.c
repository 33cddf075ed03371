/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A helper: src/engine/flight/blocked.c itself, asked to wait for a stream while the last close
 * ends it. What it was asked it does before it ends, and then it holds neither stream nor device.
 */
#include "one_thread.h"

#include "engine/flight/flight.h"

#ifndef BLOCKED_FILE
#define BLOCKED_FILE "../../src/engine/flight/blocked.c"
#endif
#include BLOCKED_FILE

static acu_stream stream;
static int streams, devices; /* references that helpers hold */
static bool asked, waited;

/* ---- what it uses ---- */

acui_engine acui_all_engines[ACUI_ENGINES];
void acui_flight_lock(acui_flight *flight) { (void)flight; }
void acui_flight_unlock(acui_flight *flight) { (void)flight; }
void acui_due_changed(acu_stream *of) { (void)of; }
void acui_done_announce(void) {}
void acui_harvest(acu_stream *of, uint64_t now) { (void)of, (void)now; }
uint64_t acui_now(void) { return ACU_SECONDS(1); }

bool acui_stream_block(acu_stream *of, uint64_t number)
{
    waited = of == &stream && number == 1;
    return true;
}

acu_device *acu_device_retain(acu_device *of)
{
    devices++;
    return of;
}

acu_stream *acu_stream_retain(acu_stream *of)
{
    streams++;
    return of;
}

void acui_flight_let_go(acu_stream *const *list, size_t count)
{
    (void)list;
    streams -= (int)count;
    devices -= (int)count;
}

void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline)
{
    (void)deadline; /* none here */
    explore_park(word, seen);
}

void acui_unpark(_Atomic(uint32_t) *word)
{
    explore_unpark(word);
}

/* ---- the case ---- */

static void start(void)
{
    static acu_device device;
    stream.device = &device;
    for (int i = 0; i < HELPERS; i++)
        all.list[i] = (helper){.running = false};
    all.again = 0;
    all.stop = false;
    model_starts = model_ends = 0;
    streams = devices = 0;
    asked = waited = false;
}

/* One that may be in its first turn, or asleep, and is then ended. */
static void ask_and_end(void)
{
    asked = acui_blocked_ask(&stream, 1);
    acui_blocked_stop();
    if (acui_blocked_busy())
        explore_fail("it runs, after it was ended");
    model_thread_over();
}

static void nothing_is_left(void)
{
    if (!asked || !waited)
        explore_fail("asked %d, waited %d", asked, waited);
    if (streams || devices)
        explore_fail("%d streams and %d devices are held", streams, devices);
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "asked, and ended", .start = start, .threads = {model_thread, ask_and_end},
         .check = nothing_is_left, .interruptions = 3, .delays = 1},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
