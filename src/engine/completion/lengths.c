/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How long work takes. For each form, the few lengths that were seen most: a form whose length
 * depends on its data may have two, which come in any order. A length is believed once it was seen
 * twice. A belief that was wrong takes longer to come back each time, so work that varies is hardly
 * ever foreseen.
 *
 * A thread that polls when work ends sees its length sharply. A thread that waits in the driver
 * wakes up some 50 us after the end: what it learns is rough, but enough to be there in time when
 * such work comes again.
 *
 * A table of fixed size. The hash of a form names a set of a few places. A new form replaces the
 * one in its set about which nothing was learned for the longest time. Called with the flight lock
 * held.
 */
#include "base/hash.h"
#include "engine/completion/flight.h"

#define SETS 128
#define PLACES 4    /* in each set */

typedef struct known {
    uint64_t ns;
    uint32_t spread; /* how much it varies, on average; of a guess: how wrong it may be; in ns */
    uint8_t score;
    bool guessed; /* nobody saw sharply when it ended */
} known;

static struct entry {
    uint64_t form;
    uint64_t learned; /* the count of all that was learned, when it was last about this form */
    known lengths[ACUI_LENGTHS];
    uint8_t patience, left; /* `left`: how many tasks must still take a known length before one is
                             * foreseen; 0: the next one is */
    uint8_t doubt, believed, turn;
    acui_between between;
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
    *oldest = (struct entry){.form = form, .patience = 1};
    return oldest;
}

static uint64_t node_hash(uint64_t h, const acui_node *node)
{
    const acui_dims *dims;
    h = acui_hash_with(h, node->kind);
    switch (node->kind) {
    case ACUI_NODE_LAUNCH:
        dims = &node->u.launch.dims;
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->u.launch.kernel->raw);
        h = acui_hash_with(h, (uint64_t)(uintptr_t)acui_launch_instead(node));
        h = acui_hash_with(h, (uint64_t)dims->grid[0] | (uint64_t)dims->grid[1] << 32);
        return acui_hash_with(h, (uint64_t)dims->grid[2] | (uint64_t)dims->block[0] << 32);
    case ACUI_NODE_COPY:
        return acui_hash_with(acui_hash_with(h, node->u.copy.bytes), node->u.copy.way);
    case ACUI_NODE_FILL:
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->device);
        return acui_hash_with(h, node->u.fill.elements * node->u.fill.element_bytes);
    case ACUI_NODE_REPLAY:
        return acui_hash_with(h, (uint64_t)(uintptr_t)node->u.replay.graph);
    default:
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->site.file);
        return acui_hash_with(h, (uint64_t)node->site.line);
    }
}

uint64_t acui_form_of(const acui_task *task)
{
    uint64_t h = acui_hash_with(0, task->count);
    for (size_t i = 0; i < task->count; i++)
        h = node_hash(h, task->nodes[i]);
    return h | 1; /* 0 is an empty place */
}

size_t acui_lengths_find(uint64_t form, acui_length lengths[ACUI_LENGTHS], acui_trust *trust)
{
    const struct entry *entry = entry_of(form);
    size_t n = 0;
    *trust = ACUI_UNSURE;
    if (!entry || entry->left > ACUI_LEFT_HOPE)
        return 0;
    if (entry->left == 0)
        *trust = entry->doubt ? ACUI_DOUBTED : ACUI_SURE;
    for (int i = 0; i < ACUI_LENGTHS; i++) {
        if (entry->lengths[i].score < ACUI_LENGTH_FEW)
            continue;
        size_t at = n++;
        for (; at > 0 && lengths[at - 1].ns > entry->lengths[i].ns; at--)
            lengths[at] = lengths[at - 1];
        const known *k = &entry->lengths[i];
        uint64_t spread = k->spread < ACUI_SPREAD_MOST ? k->spread : ACUI_SPREAD_MOST;
        lengths[at] = (acui_length){k->ns, spread};
    }
    return n;
}

uint64_t acui_lengths_short(uint64_t form)
{
    const struct entry *entry = entry_of(form);
    uint64_t most = 0;
    for (int i = 0; i < ACUI_LENGTHS && entry; i++)
        if (entry->lengths[i].score >= ACUI_LENGTH_FEW && entry->lengths[i].ns > most)
            most = entry->lengths[i].ns;
    return most && most <= ACUI_LONG ? most + ACUI_SPIN_MOST : 0;
}

uint64_t acui_lengths_between(uint64_t form, bool foreseen, uint64_t looked, uint64_t lead)
{
    const struct entry *entry = entry_of(form);
    if (!entry)
        return 0;
    bool tried = entry->patience < ACUI_PATIENCE_WRONG || entry->turn % ACUI_SELDOM == 0;
    if (foreseen && tried)
        return 0;
    return acui_between_next(&entry->between, looked, lead);
}

/* The known length that is as long, give or take what timers and kernels vary by, and `more`; else
 * NULL. */
static known *near(struct entry *entry, uint64_t ns, uint64_t more)
{
    known *best = NULL;
    uint64_t least = 0;
    for (int i = 0; i < ACUI_LENGTHS; i++) {
        known *k = &entry->lengths[i];
        uint64_t off = k->ns > ns ? k->ns - ns : ns - k->ns;
        uint64_t most = acui_vary(k->ns) + more + (k->guessed ? k->spread + ACUI_ROUGH : 0);
        if (k->score && off <= most && (!best || off < least)) {
            best = k;
            least = off;
        }
    }
    return best;
}

/* The length to be replaced. The scores of all fall, so that those which never come again make
 * room. */
static known *weakest(struct entry *entry)
{
    known *k = &entry->lengths[0];
    for (int i = 0; i < ACUI_LENGTHS; i++) {
        if (entry->lengths[i].score < k->score)
            k = &entry->lengths[i];
        if (entry->lengths[i].score > 1)
            entry->lengths[i].score--;
    }
    return k;
}

static uint32_t spread_of(uint64_t off)
{
    return (uint32_t)(off < UINT32_MAX ? off : UINT32_MAX);
}

static void see(known *k, uint64_t ns)
{
    uint64_t off = k->ns > ns ? k->ns - ns : ns - k->ns;
    k->spread = k->guessed ? ACUI_FIRST_SPREAD : (k->spread + spread_of(off)) / 2;
    k->ns = k->guessed ? ns : (k->ns + ns) / 2;
    k->guessed = false;
}

static void age(struct entry *entry)
{
    if (++entry->turn % ACUI_SELDOM)
        return;
    for (int i = 0; i < ACUI_LENGTHS; i++)
        if (entry->lengths[i].score)
            entry->lengths[i].score--;
}

/* A length has come again; `foreseen`: it was planned for. */
static void fits(struct entry *entry, known *k, bool foreseen)
{
    if (k->score < ACUI_SCORE_TOP)
        k->score++;
    if (foreseen && entry->patience > 1)
        entry->patience = (uint8_t)(entry->patience - 1 - entry->patience / 4);
    if (entry->left)
        entry->left--;
}

/* The task took none of the known lengths. If one was foreseen, that was wrong: it took longer. The
 * first wrong prediction in a while costs no trust, since one more look in vain is cheaper than
 * noticing an end late. */
static void misses(struct entry *entry, bool foreseen)
{
    int twice = 2 * entry->patience;
    entry->left = (uint8_t)(entry->patience - foreseen);
    if (foreseen)
        entry->patience = (uint8_t)(twice < ACUI_PATIENCE_MOST ? twice : ACUI_PATIENCE_MOST);
}

/* The length that may have ended while the thread that was to look overslept by `late`; NULL:
 * none. */
static known *slept_over(struct entry *entry, uint64_t ns, uint64_t late)
{
    for (int i = 0; i < ACUI_LENGTHS && late; i++) {
        known *k = &entry->lengths[i];
        if (k->score >= ACUI_LENGTH_FEW && k->ns <= ns + 2 * k->spread + ACU_US(5) &&
            k->ns >= ns - late)
            return k;
    }
    return NULL;
}

/* The thread that was to look from shortly before the end on was not there when it came. That is no
 * news about the length, unless it goes on. */
static bool believe(struct entry *entry, known *k)
{
    if (!k || k->guessed || entry->believed >= ACUI_BLINDLY)
        return false;
    entry->believed++;
    fits(entry, k, true);
    return true;
}

/* Nobody was there when it ended. A thread that sleeps too long never sees by how much, so the next
 * look comes a little sooner, and now and then much earlier, in case the work is much shorter. If
 * somebody looked before the end, the length is taken to be in the middle between that look and the
 * next: then it is none of the lengths that were foreseen. */
static void learn_blindly(struct entry *entry, uint64_t ns, uint64_t slack, uint64_t late)
{
    bool foreseen = late > 0, unseen = slack > ns / 4 * 3; /* nobody looked before */
    known *k = slept_over(entry, ns, late < slack ? late : slack);
    if (believe(entry, k))
        return;
    entry->believed = 0;
    if (k && k->ns < ns)
        ns = k->ns; /* by then somebody was to be there */
    else
        k = unseen ? near(entry, ns - ACUI_SOONER, ACUI_SOONER) : NULL;
    bool just = k && k->spread <= ACUI_BLIND; /* an end that was foreseen, and just missed */
    uint64_t off = just ? ACUI_SOONER : slack / 2, guess = ns > off ? ns - off : 1;
    if (unseen)
        entry->doubt = ACUI_DOUBT;
    k = near(entry, guess, ACUI_SOONER);
    if (k && guess < k->ns)
        *k = (known){guess, spread_of(off), k->score, true};
    if (!k)
        *weakest(entry) = (known){guess, spread_of(off), 1, true};
    if (k && (just || !foreseen))
        fits(entry, k, false);
    else
        misses(entry, foreseen);
}

/* The end was seen by a thread in the driver, or by one that was polling but was kept from running
 * at the foreseen time. If a thread did look at that time and the work was not over, its length is
 * none of the known ones. */
static void learn_roughly(struct entry *entry, uint64_t ns, uint64_t slack, bool foreseen)
{
    if (foreseen && believe(entry, slept_over(entry, ns, slack)))
        return;
    entry->believed = 0;
    ns -= slack;
    known *k = foreseen ? NULL : near(entry, ns, ACUI_ROUGH);
    if (!k) {
        *weakest(entry) = (known){ns, ACUI_ROUGH, 1, true};
        misses(entry, foreseen);
        return;
    }
    if (k->guessed && (ns < k->ns || k->spread > ACUI_ROUGH))
        *k = (known){ns, ACUI_ROUGH, k->score, true};
    fits(entry, k, false);
}

static void learn_sharply(struct entry *entry, uint64_t ns, bool foreseen)
{
    known *k = near(entry, ns, 0);
    if (entry->doubt)
        entry->doubt--;
    if (k) {
        see(k, ns);
        fits(entry, k, foreseen);
    } else {
        *weakest(entry) = (known){ns, ACUI_FIRST_SPREAD, 1, false};
        misses(entry, foreseen);
    }
}

void acui_lengths_learn(uint64_t form, uint64_t ns, uint64_t slack, uint64_t late)
{
    static uint64_t times;
    struct entry *entry = entry_of(form);
    if (!entry && ns < ACUI_LEARNED)
        return;
    if (!entry)
        entry = add_entry(form);
    entry->learned = ++times;
    age(entry);
    bool foreseen = late > 0;
    acui_between_learn(&entry->between, ns, slack, foreseen);
    if (slack > ACUI_BLIND) {
        learn_blindly(entry, ns, slack, late);
        return;
    }
    if (slack > ACUI_SHARP) {
        learn_roughly(entry, ns, slack, foreseen);
        return;
    }
    entry->believed = 0;
    learn_sharply(entry, ns, foreseen);
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
