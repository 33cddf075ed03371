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
 * A table of fixed size. The hash of a signature names a set of a few places. A new signature
 * replaces the one in its set about which nothing was learned for the longest time. Called with the
 * flight lock held.
 */
#include "engine/completion/flight.h"

#define SETS 128
#define PLACES 4 /* in each set */

typedef struct length {
    uint64_t ns;
    bool rough; /* nobody saw sharply when it ended */
} length;

static struct entry {
    uint64_t form;
    uint64_t learned; /* the count of all that was learned, when it was last about this form */
    length known[ACUI_LENGTHS]; /* a ring */
    size_t count, next;
    uint8_t doubt; /* for how many tasks more an end may come sooner than is known */
} table[SETS][PLACES];

/* Of the form; NULL: nothing is known. */
static struct entry *entry_of(uint64_t form)
{
    struct entry *set = table[(form >> 20) % SETS];
    for (size_t i = 0; i < PLACES; i++)
        if (set[i].form == form)
            return &set[i];
    return NULL;
}

static struct entry *add_entry(uint64_t form)
{
    struct entry *set = table[(form >> 20) % SETS], *oldest = set;
    for (size_t i = 1; i < PLACES; i++)
        if (set[i].learned < oldest->learned)
            oldest = &set[i];
    *oldest = (struct entry){.form = form};
    return oldest;
}

/* ---- what is expected ---- */

/* Whether a task that was last looked at after `looked` may still take that. */
static bool is_ahead(const length *l, uint64_t looked)
{
    return looked <= l->ns + acui_vary(l->ns) + (l->rough ? ACUI_ROUGH : 0);
}

/* The shortest length that is ahead; NULL: the task has outlasted all. */
static const length *next_of(const struct entry *entry, uint64_t looked)
{
    const length *next = NULL;
    for (size_t i = 0; i < entry->count; i++) {
        const length *l = &entry->known[i];
        if (is_ahead(l, looked) && (!next || l->ns < next->ns))
            next = l;
    }
    return next;
}

/* Whether at least half of the lengths ahead, and a few, are near the shortest of these. */
static bool agree(const struct entry *entry, const length *shortest, uint64_t looked)
{
    uint64_t width = shortest->ns / 8 + ACUI_SOONER;
    uint64_t most = shortest->ns + (width < ACUI_WIDTH_MOST ? width : ACUI_WIDTH_MOST);
    size_t near = 0, ahead = 0;
    for (size_t i = 0; i < entry->count; i++) {
        bool is = is_ahead(&entry->known[i], looked);
        ahead += is;
        near += is && entry->known[i].ns <= most;
    }
    return near >= ACUI_LENGTH_FEW && 2 * near >= ahead;
}

uint64_t acui_lengths_next(uint64_t form, uint64_t looked, bool *doubt)
{
    const struct entry *entry = entry_of(form);
    const length *next = entry ? next_of(entry, looked) : NULL;
    if (!next || !agree(entry, next, looked))
        return 0;
    *doubt = entry->doubt > 0;
    uint64_t sooner = next->rough ? ACUI_SOONER : 0;
    return next->ns > sooner ? next->ns - sooner : 1;
}

uint64_t acui_lengths_short(uint64_t form)
{
    const struct entry *entry = entry_of(form);
    uint64_t most = 0;
    for (size_t i = 0; entry && i < entry->count; i++)
        most = entry->known[i].ns > most ? entry->known[i].ns : most;
    bool known = entry && entry->count >= ACUI_LENGTH_FEW;
    return known && most <= ACUI_LONG ? most + ACUI_SPIN_MOST : 0;
}

/* ---- what is learned ---- */

/* Something better is known of a length: rough ones that may have been the same were. */
static void correct(struct entry *entry, length better)
{
    for (size_t i = 0; i < entry->count; i++) {
        length *l = &entry->known[i];
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

void acui_lengths_learn(uint64_t form, uint64_t ns, uint64_t slack, uint64_t late)
{
    static uint64_t times;
    struct entry *entry = entry_of(form);
    bool rough = slack > ACUI_SHARP, missed = rough && late && late <= slack;
    if (!entry && ns < ACUI_LEARNED)
        return;
    if (!entry)
        entry = add_entry(form);
    entry->learned = ++times;
    entry->doubt = missed ? ACUI_LENGTHS : (uint8_t)(entry->doubt - (entry->doubt > 0));
    length seen = {rough ? guess(ns, slack, late, missed) : ns, rough};
    if (!rough || missed)
        correct(entry, seen);
    if (entry->count < ACUI_LENGTHS)
        entry->count++;
    entry->known[entry->next++ % ACUI_LENGTHS] = seen;
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
