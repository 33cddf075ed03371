/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How long work takes: for each signature, its last few lengths. The next task is expected to end
 * at the shortest of them that it has not outlasted, if half of those that it has not are near that
 * one. After an end that was missed, lengths may have become shorter: so that is in doubt for a
 * while.
 *
 * A thread that polls when work ends sees its length sharply. One that comes later knows only that
 * it was over by then, and takes it to be a little shorter: so the next look comes sooner, until
 * the end is seen.
 *
 * A table of fixed size. The hash of a signature names a set of a few slots. A new signature
 * replaces the one in its set about which nothing was learned for the longest time. Each device has
 * a table, guarded by its lock (flight.h).
 */
#include "engine/flight/flight.h"

typedef acui_length length;
typedef acui_lengths entry;

/* Where the signature is in its set; negative: nothing is known of it. */
static int slot_of(const entry *set, uint64_t signature)
{
    for (int i = 0; i < ACUI_LENGTH_PLACES; i++)
        if (set[i].signature == signature)
            return i;
    return -1;
}

static size_t set_of(uint64_t signature)
{
    return (signature >> 20) % ACUI_LENGTH_SETS;
}

/* Of the signature; NULL: nothing is known. */
static const entry *entry_of(const acui_flight *flight, uint64_t signature)
{
    const entry *set = flight->lengths[set_of(signature)];
    int slot = slot_of(set, signature);
    return slot < 0 ? NULL : &set[slot];
}

static entry *add_entry(entry *set, uint64_t signature)
{
    entry *oldest = set;
    for (int i = 1; i < ACUI_LENGTH_PLACES; i++)
        if (set[i].learned < oldest->learned)
            oldest = &set[i];
    *oldest = (entry){.signature = signature};
    return oldest;
}

/* ---- what is expected ---- */

/* Whether a task that was last looked at after `looked` may still take that. */
static bool is_ahead(const length *l, uint64_t looked)
{
    return looked <= l->ns + acui_vary(l->ns) + (l->rough ? ACUI_ROUGH : 0);
}

/* The shortest length that is ahead; NULL: the task has outlasted all. */
static const length *next_of(const entry *e, uint64_t looked)
{
    const length *next = NULL;
    for (size_t i = 0; i < e->count; i++) {
        const length *l = &e->known[i];
        if (is_ahead(l, looked) && (!next || l->ns < next->ns))
            next = l;
    }
    return next;
}

/* Whether at least half of the lengths ahead, and a few, are near the shortest of these. */
static bool agree(const entry *e, const length *shortest, uint64_t looked)
{
    uint64_t width = shortest->ns / 8 + ACUI_SOONER;
    uint64_t most = shortest->ns + (width < ACUI_WIDTH_MOST ? width : ACUI_WIDTH_MOST);
    size_t near = 0, ahead = 0;
    for (size_t i = 0; i < e->count; i++) {
        bool is = is_ahead(&e->known[i], looked);
        ahead += is;
        near += is && e->known[i].ns <= most;
    }
    return near >= ACUI_LENGTH_FEW && 2 * near >= ahead;
}

uint64_t acui_lengths_next(const acui_flight *flight, uint64_t signature, uint64_t looked,
                           bool *doubt)
{
    const entry *e = entry_of(flight, signature);
    const length *next = e ? next_of(e, looked) : NULL;
    if (!next || !agree(e, next, looked))
        return 0;
    *doubt = e->doubt > 0;
    uint64_t sooner = next->rough ? ACUI_SOONER : 0;
    return next->ns > sooner ? next->ns - sooner : 1;
}

uint64_t acui_lengths_short(const acui_flight *flight, uint64_t signature)
{
    const entry *e = entry_of(flight, signature);
    uint64_t most = 0;
    for (size_t i = 0; e && i < e->count; i++)
        most = e->known[i].ns > most ? e->known[i].ns : most;
    bool known = e && e->count >= ACUI_LENGTH_FEW;
    return known && most <= ACUI_LONG ? most + ACUI_SPIN_MOST : 0;
}

/* ---- what is learned ---- */

/* Something better is known of a length: rough ones that may have been the same were. */
static void correct(entry *e, length better)
{
    for (size_t i = 0; i < e->count; i++) {
        length *l = &e->known[i];
        uint64_t off = l->ns > better.ns ? l->ns - better.ns : better.ns - l->ns;
        if (l->rough && off <= acui_vary(better.ns) + ACUI_ROUGH)
            *l = better;
    }
}

/* What a task took that was over after `ns`, and not yet `slack` before. If it was missed, the look
 * that was planned `late` ago should have been sooner. */
static uint64_t guess(uint64_t ns, uint64_t slack, uint64_t late, bool missed)
{
    uint64_t off = slack < ACUI_SOONER ? slack : ACUI_SOONER;
    if (missed && late > off)
        off = late;
    return ns > off ? ns - off : 1;
}

void acui_lengths_learn(acui_flight *flight, uint64_t signature, uint64_t ns, uint64_t slack,
                        uint64_t late)
{
    entry *set = flight->lengths[set_of(signature)];
    int slot = slot_of(set, signature);
    bool rough = slack > ACUI_SHARP, missed = rough && late && late <= slack;
    if (slot < 0 && ns < ACUI_LEARNED)
        return;
    entry *e = slot < 0 ? add_entry(set, signature) : &set[slot];
    e->learned = ++flight->learned;
    e->doubt = missed ? ACUI_LENGTHS : (uint8_t)(e->doubt - (e->doubt > 0));
    length seen = {rough ? guess(ns, slack, late, missed) : ns, rough};
    if (!rough || missed)
        correct(e, seen);
    if (e->count < ACUI_LENGTHS)
        e->count++;
    e->known[e->next++ % ACUI_LENGTHS] = seen;
}

uint64_t acui_spin_after(uint64_t spin, uint64_t waited, bool blocked)
{
    if (!blocked) /* looking on was right, even if it had only just begun */
        return waited > ACUI_SPIN_LEAST ? ACUI_SPIN_MOST : spin;
    if (waited < ACUI_SPIN_MOST + ACUI_LATE)
        return ACUI_SPIN_MOST;
    if (spin <= ACUI_SPIN_LEAST) /* tried again now and then */
        return waited < ACUI_DOUBTFUL ? ACUI_SPIN_MOST : ACUI_SPIN_LEAST;
    return spin / 2 < ACUI_SPIN_LEAST ? ACUI_SPIN_LEAST : spin / 2;
}
