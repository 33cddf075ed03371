/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random programs against a serial model on the host: tensors, slices and strided views of them on
 * two devices, in page-locked and in pageable memory, made by acuda, imported, exchanged with
 * another library; launches (also of modules that come and go), tiles, copies, fills, host and
 * foreign work, declared uses, compositions of these and of one another, callbacks that submit,
 * graphs (made anew meanwhile), alternatives, groups, streams, policies and priorities. They run
 * from two threads, on devices that issue in different ways (by the submitting thread, by runtime
 * threads, by threads of devices, several submissions as one) and whose caches of graphs change.
 * Operations fail, submissions are given up, waits end early, the program captures streams, and
 * threads look on.
 *
 * The model computes as if everything succeeded, and notes for each word what is known about it: a
 * word whose computation failed must not be readable, and one whose computation may have failed is
 * right if it can be read at all.
 *
 *   ACUDA_RANDOM_SEED   the first program (1)
 *   ACUDA_RANDOM_SEEDS  how many (6); millions of operations are a matter of hours
 *   SOFTCUDA_SEED       how streams of the software device interleave meanwhile
 *   SOFTCUDA_FAULTS     what fails meanwhile, or which device is lost: then each operation may
 *                       fail, but all come to an end, and what can be read is right
 */
#include "support/support.h"
#include "support/batch.h"

#include <acuda/adapters/dlpack.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

extern const char test_random_ptx[];

enum { N = 96, PIECE = 8, TENSORS = 4, STEPS = 250, THREADS = 2, PLACES = 4, HOST = 2, PAGED = 3 };
enum { STREAMS = 3, POLICIES = 6, NOTES = STEPS, GRAPHS = 3, KEPT = 4 };
#define VECTOR ACU_SHAPE(N)

/* What is known of a word, or of an outcome; higher values are worse. */
typedef enum truth {
    GOOD,  /* what the model says */
    MAYBE, /* that, or it can not be read */
    ANY,   /* nothing is known */
    BAD    /* it can not be read */
} truth;

static truth worse(truth a, truth b)
{
    return a > b ? a : b;
}

/* Two devices, or the same one twice, and what the programs share. */
typedef struct machine {
    acu_device *devices[2];
    int count;
    bool handed; /* some device has a runtime thread */
    bool shares; /* memory as descriptors */
    bool lossy;  /* calls may fail and devices may be lost: whatever can be read is right all the
                  * same */
    acu_kernel *steps[2], *tiles[2];
    acu_pool *pools[2]; /* that keep their memory, also with SOFTCUDA_EXACT */
    acu_policy *policies[POLICIES];
    acu_stream *streams[STREAMS], *own[THREADS]; /* these for one program each */
} machine;

typedef struct range {
    int place, tensor, part;
    int64_t begin, end;
} range;

/* Elements of a tensor in rows and columns, at any distances: element [i, j] is word
 * begin + i * steps[0] + j * steps[1]. */
typedef struct grid {
    int place, tensor;
    int64_t begin, steps[2], sizes[2];
    acu_tensor *view;
} grid;

/* What a composition does to a tensor if a part beside it fails, or the submission is given up. */
typedef enum fate {
    LEFT,   /* nothing at all */
    OPEN,   /* its words are as known, or can not be read */
    SURE,   /* its words are as known: the last op of a `finally` writes it */
    PERHAPS /* as OPEN, or it is unchanged: an alternative writes it, which may not run */
} fate;

typedef struct effect {
    truth outcome;
    fate fates[PLACES][TENSORS];
} effect;

/* One program: what a thread does with its own tensors. */
typedef struct program {
    machine *m;
    test_random random;
    uint64_t seed;
    int step;
    acu_tensor *tensors[PLACES][TENSORS];
    uint32_t model[PLACES][TENSORS][N];
    truth known[PLACES][TENSORS][N];
    /* A failure may stay with the word until the whole tensor is overwritten at once: a view with
     * gaps failed there, or overwrote a failure. */
    bool sticky[PLACES][TENSORS][N];
    acu_graph *graphs[GRAPHS];
    acu_stream *own; /* of the machine, but used by this program only */
    bool captures;   /* ... and captured now */
    acu_queue *queue;
    struct note {
        bool open;
        truth outcome;
    } notes[NOTES]; /* of submissions whose completion goes to the queue */
    acu_future *kept[KEPT]; /* looked at later */
    truth kept_outcomes[KEPT];

    /* The operation that is being made; its parts may fail separately. */
    truth reads[2];
    range writes[8];
    int write_count;
    bool fails;
    bool unplanned;   /* if it is given up, it may not even have been planned */
    const grid *to;   /* or it writes this, */
    effect *tree;     /* or is a composition, which the model has done already */
    acu_group *group; /* in which it is to be a member; NULL: none */
    bool refused;     /* whether the last one was, by its group */

    char failure[1200]; /* what went wrong; empty if nothing did */
} program;

/* ---- checking ---- */

#define MUST(p, condition, ...) \
    do { \
        if (!(condition) && !(p)->failure[0]) \
            describe((p), __LINE__, #condition, __VA_ARGS__); \
    } while (0)

/* As long as no call fails. */
#define EXPECT(p, condition, ...) MUST(p, (condition) || (p)->m->lossy, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static void describe(program *p, int line,
                                                           const char *condition,
                                                           const char *format, ...)
{
    char more[256], error[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    acu_error_describe(acu_last_error(), error, sizeof error);
    snprintf(p->failure, sizeof p->failure, "line %d, step %d: %s: %s (last error: %s)", line,
             p->step, condition, more, error);
}

static bool fits(truth outcome, acu_status status)
{
    return outcome == GOOD ? status == ACU_OK : outcome != BAD || status != ACU_OK;
}

static uint64_t below(program *p, uint64_t limit)
{
    return test_below(&p->random, limit);
}

/* ---- what an operation touches ---- */

static void forget(program *p)
{
    p->reads[0] = p->reads[1] = GOOD;
    p->write_count = 0;
    p->fails = false;
    p->unplanned = p->m->handed;
    p->to = NULL;
    p->tree = NULL;
}

static void know(program *p, int place, int tensor, truth is)
{
    for (int i = 0; i < N; i++)
        p->known[place][tensor][i] = is;
}

static truth known_of(const program *p, int place, int tensor)
{
    truth is = GOOD;
    for (int i = 0; i < N; i++)
        is = worse(is, p->known[place][tensor][i]);
    return is;
}

static void reads(program *p, int part, int place, int tensor, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        p->reads[part] = worse(p->reads[part], p->known[place][tensor][i]);
}

static void writes(program *p, int part, int place, int tensor, int64_t begin, int64_t end)
{
    p->writes[p->write_count++] = (range){place, tensor, part, begin, end};
}

/* ---- views with gaps ---- */

static int64_t word_of(const grid *g, int64_t i, int64_t j)
{
    return g->begin + i * g->steps[0] + j * g->steps[1];
}

static int64_t end_of(const grid *g)
{
    return word_of(g, g->sizes[0] - 1, g->sizes[1] - 1) + 1;
}

/* It is going to be written. The words between its own are not, but may count as read. */
static void spans_grid(program *p, const grid *g)
{
    for (int64_t word = g->begin; word < end_of(g); word++)
        if (p->known[g->place][g->tensor][word] != GOOD)
            p->reads[0] = worse(p->reads[0], MAYBE);
}

/* Its words are read; a failure of the words between them may be taken for one of theirs. */
static void reads_grid(program *p, const grid *g)
{
    for (int64_t i = 0; i < g->sizes[0]; i++)
        for (int64_t j = 0; j < g->sizes[1]; j++) {
            int64_t word = word_of(g, i, j);
            reads(p, 0, g->place, g->tensor, word, word + 1);
        }
    spans_grid(p, g);
}

/* Including failures that stay in the words between. */
static void settle_grid(program *p, const grid *g, truth is)
{
    truth *known = p->known[g->place][g->tensor];
    bool *sticky = p->sticky[g->place][g->tensor];
    for (int64_t i = 0; i < g->sizes[0]; i++)
        for (int64_t j = 0; j < g->sizes[1]; j++) {
            int64_t word = word_of(g, i, j);
            known[word] = known[word] == GOOD ? is : worse(is, MAYBE);
        }
    for (int64_t word = g->begin; word < end_of(g); word++)
        if (known[word] != GOOD || is != GOOD) {
            sticky[word] = true;
            known[word] = worse(known[word], MAYBE);
        }
}

static void updates(program *p, int part, int place, int tensor)
{
    reads(p, part, place, tensor, 0, N);
    writes(p, part, place, tensor, 0, N);
}

/* The outcome of a part, if the submission is not given up. A part does not run if another one
 * fails before it begins. */
static truth outcome_of(const program *p, int part)
{
    truth own = p->reads[part], other = p->reads[!part];
    if (p->fails)
        return BAD;
    return other == GOOD ? own : worse(own, MAYBE);
}

/* A part beside the composition fails. */
static void disturb(program *p, const effect *e)
{
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++)
            if (e->fates[place][t] == PERHAPS)
                know(p, place, t, ANY);
            else if (e->fates[place][t] == OPEN)
                for (int i = 0; i < N; i++)
                    p->known[place][t][i] = worse(p->known[place][t][i], MAYBE);
}

static void lose_tree(program *p, const effect *e)
{
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++)
            if (e->fates[place][t] != LEFT)
                know(p, place, t, ANY);
}

static truth settle_tree(program *p, bool given_up)
{
    if (p->m->lossy || (given_up && (p->unplanned || p->group)))
        lose_tree(p, p->tree);
    else if (given_up)
        disturb(p, p->tree);
    /* What can not even be planned on a lost device leaves everything as it was: so an alternative
     * may succeed that would else read what failed. */
    return given_up || p->m->lossy ? ANY : p->tree->outcome;
}

/* The operation was submitted; `given_up`: and cancelled, or given a deadline. */
static truth settle(program *p, bool given_up)
{
    truth all = GOOD;
    if (p->tree)
        return settle_tree(p, given_up);
    for (int i = 0; i < p->write_count; i++) {
        const range *w = &p->writes[i];
        truth is = outcome_of(p, w->part);
        /* A submission that is not even planned changes nothing. */
        if (given_up || p->m->lossy)
            is = p->unplanned ? ANY : worse(is, MAYBE);
        bool all_anew = w->begin == 0 && w->end == N && is == GOOD && !given_up;
        for (int64_t k = w->begin; k < w->end; k++) {
            bool *sticky = &p->sticky[w->place][w->tensor][k];
            *sticky &= !all_anew;
            p->known[w->place][w->tensor][k] = *sticky ? worse(is, MAYBE) : is;
        }
    }
    if (p->to)
        settle_grid(p, p->to, given_up || p->m->lossy
                                  ? p->unplanned ? ANY : worse(outcome_of(p, 0), MAYBE)
                                  : outcome_of(p, 0));
    for (int part = 0; part < 2; part++)
        all = worse(all, outcome_of(p, part));
    return given_up ? ANY : p->m->lossy ? worse(all, MAYBE) : all;
}

/* Nothing is known of the words that it was to write. */
static void lose_track(program *p)
{
    if (p->tree)
        lose_tree(p, p->tree);
    for (int i = 0; i < p->write_count; i++)
        for (int64_t k = p->writes[i].begin; k < p->writes[i].end; k++)
            p->known[p->writes[i].place][p->writes[i].tensor][k] = ANY;
    if (p->to)
        settle_grid(p, p->to, ANY);
}

/* ---- submitting ---- */

/* Takes all completions that are on the queue. */
static void harvest(program *p)
{
    acu_completion done[16];
    size_t count = 0;
    do {
        EXPECT(p, acu_queue_take(p->queue, done, 16, &count) == ACU_OK, "take");
        for (size_t i = 0; i < count; i++) {
            struct note *note = &p->notes[done[i].tag % NOTES];
            MUST(p, note->open, "completion %d comes twice", (int)done[i].tag);
            MUST(p, fits(note->outcome, done[i].status), "submission %d: outcome %d, but %s",
                   (int)done[i].tag, (int)note->outcome, acu_status_name(done[i].status));
            note->open = false;
            acu_future_release(done[i].future);
        }
    } while (count == 16);
}

/* Looks at the op in all ways, which must not change anything. */
static void look_at_op(program *p, acu_op *op)
{
    acu_value_info infos[2];
    char text[600];
    size_t count = 0, room = below(p, sizeof text + 1);
    acu_status st;
    switch (below(p, 24)) {
    case 0:
        st = acu_explain_op(op, below(p, 2) ? ACU_EXPLAIN_DOT : ACU_EXPLAIN_TEXT, text, room, NULL);
        EXPECT(p, st == ACU_OK, "acu_explain_op: %s", acu_status_name(st));
        break;
    case 1: /* an op that can not be described is submitted all the same */
        st = acu_op_describe(NULL, op, infos, below(p, 3), &count);
        EXPECT(p, st == ACU_OK || st == ACU_ERR_NOT_SUPPORTED || st == ACU_ERR_INVALID,
               "acu_op_describe: %s", acu_status_name(st));
        break;
    default:
        break;
    }
}

static void look_at_future(program *p, acu_future *future, bool explained)
{
    char text[600];
    size_t room = below(p, sizeof text + 1), needed = 0;
    acu_status st = acu_explain(future, below(p, 2) ? ACU_EXPLAIN_DOT : ACU_EXPLAIN_TEXT, text,
                                room, &needed);
    bool told = st == ACU_OK && needed > 0;
    /* It may have been too late before it was planned, and then has no record. */
    bool unplanned = p->m->handed || acu_future_poll(future) == ACU_ERR_DEADLINE;
    MUST(p, explained ? told || st == ACU_NOT_READY || unplanned
                      : st == ACU_ERR_INVALID || st == ACU_NOT_READY,
         "acu_explain: %s", acu_status_name(st));
    MUST(p, !told || !room || memchr(text, 0, room), "acu_explain: no end");
    acu_future_values(future);
    acu_future_tensor(future, below(p, 3));
}

static uint64_t some_time(program *p)
{
    static const uint64_t limits[] = {1, 1000, 100000, 1000000};
    return below(p, 4) ? below(p, limits[below(p, 4)]) : ACU_FOREVER;
}

/* Waits once for a short time and, if that was too short, until it is over. */
static void await(program *p, acu_future *future, truth outcome)
{
    uint64_t timeout = some_time(p);
    acu_status st = acu_future_wait(future, timeout);
    MUST(p, st != ACU_TIMEOUT || timeout != ACU_FOREVER, "for ever has an end");
    if (st == ACU_TIMEOUT && below(p, 2))
        return;
    if (st == ACU_TIMEOUT)
        st = acu_future_wait(future, ACU_FOREVER);
    MUST(p, fits(outcome, st), "outcome %d, but %s", (int)outcome, acu_status_name(st));
}

/* Keeps the future, in the place of another one. */
static void keep(program *p, acu_future *future, truth outcome)
{
    size_t at = below(p, KEPT);
    acu_future_release(p->kept[at]);
    p->kept[at] = acu_future_retain(future);
    p->kept_outcomes[at] = outcome;
}

/* Submits, again and again as long as the device is full. */
static acu_status submit_alone(program *p, acu_op *op, const acu_submit_options *options,
                               acu_future **future)
{
    if (!options->refuse_when_full)
        return acu_submit(NULL, op, options, future);
    acu_status st;
    while ((st = acu_submit(NULL, op, options, future)) == ACU_ERR_FULL)
        acu_device_wait(p->m->devices[0], ACU_US(50));
    return st;
}

/* Submits the op to a random place in a random way; `first`: all of it is on device 0, whose
 * policies and streams may be used. Returns whether it was given up. */
static bool submit(program *p, acu_op *op, bool first)
{
    acu_submit_options options = {.size = sizeof options};
    acu_future *future = NULL;
    uint64_t way = below(p, 12), end = below(p, 32);
    struct note *note = &p->notes[p->step];
    bool given_up = end < 2, noted = below(p, 2) && !note->open;
    bool wanted = noted || given_up || below(p, 4) == 0;
    if (first && way < POLICIES)
        options.policy = p->m->policies[way];
    else if (first && way - POLICIES < STREAMS)
        options.stream = p->m->streams[way - POLICIES];
    else if (way >= 10)
        options.priority = -1 - (int)(way == 11);
    options.warm = below(p, 8) == 0;
    options.explain = below(p, 16) == 0;
    options.refuse_when_full = !p->group && below(p, 8) == 0;
    if (noted) {
        options.queue = p->queue;
        options.tag = (uint64_t)p->step;
    }
    if (end == 0)
        options.timeout = 1 + below(p, 100000);
    else if (end == 2)
        options.timeout = ACU_MS(3600000);
    /* What is too late may be refused all the same: then it is not submitted again. */
    p->unplanned = p->m->handed || (noted && end == 0 && options.refuse_when_full);
    truth outcome = settle(p, given_up || p->group);
    look_at_op(p, op);
    if (noted)
        *note = (struct note){.open = true, .outcome = outcome};
    acu_status st =
        p->group ? acu_group_submit(p->group, NULL, op, &options, wanted ? &future : NULL)
                 : submit_alone(p, op, &options, wanted ? &future : NULL);
    p->refused = p->group && st == ACU_ERR_CANCELLED;
    EXPECT(p, st == ACU_OK || p->refused, "acu_submit: %s", acu_status_name(st));
    if (st != ACU_OK) {
        note->open &= !noted;
        lose_track(p);
        return given_up;
    }
    if (end == 1)
        acu_future_cancel(future);
    if (wanted && below(p, 8) == 0)
        look_at_future(p, future, options.explain);
    if (wanted && below(p, 3) == 0)
        await(p, future, outcome);
    else if (wanted && below(p, 4) == 0)
        keep(p, future, outcome);
    acu_future_release(future);
    return given_up;
}

/* ---- operations ---- */

static acu_tensor *tensor_at(program *p, int place, int tensor)
{
    return p->tensors[place][tensor];
}

static int device_of(const program *p, int place)
{
    return p->m->count > 1 ? place : 0;
}

static void slice(program *p, int place, int tensor, int64_t begin, int64_t end, acu_tensor **view)
{
    acu_status st = acu_tensor_slice(tensor_at(p, place, tensor), &begin, &end, view);
    EXPECT(p, st == ACU_OK, "acu_tensor_slice");
}

static void random_range(program *p, int64_t *begin, int64_t *end)
{
    *begin = below(p, 3) ? (int64_t)below(p, N) : 0;
    *end = *begin ? *begin + 1 + (int64_t)below(p, (uint64_t)(N - *begin)) : N;
}

static acu_op *step_with(program *p, acu_kernel *kernel, int part, int place, int z, int a,
                         uint32_t c)
{
    acu_config config = acu_for_num_elems(N);
    config.cooperative = c % 4 == 1; /* another form of graphs */
    reads(p, part, place, a, 0, N);
    updates(p, part, place, z);
    uint32_t *to = p->model[place][z];
    const uint32_t *from = p->model[place][a];
    for (int i = 0; i < N; i++)
        to[i] = 3 * to[i] + from[i] + c;
    return acu_launch(kernel, config, acu_inout(tensor_at(p, place, z)),
                      acu_in(tensor_at(p, place, a)), acu_u32(c), acu_u32(N));
}

static acu_op *step_op(program *p, int part, int place, int z, int a, uint32_t c)
{
    return step_with(p, p->m->steps[device_of(p, place)], part, place, z, a, c);
}

/* Two different tensors of a place. */
static void two_of(program *p, int *z, int *a)
{
    *z = (int)below(p, TENSORS);
    *a = (*z + 1 + (int)below(p, TENSORS - 1)) % TENSORS;
}

static void do_step(program *p)
{
    int place = (int)below(p, 2), z, a;
    two_of(p, &z, &a);
    submit(p, step_op(p, 0, place, z, a, (uint32_t)below(p, 1000)), device_of(p, place) == 0);
}

/* Tiles of a part of a tensor. */
static void do_tiles(program *p)
{
    int place = (int)below(p, 2), z, a;
    int64_t begin, end;
    acu_tensor *view = NULL;
    two_of(p, &z, &a);
    random_range(p, &begin, &end);
    slice(p, place, z, begin, end, &view);
    reads(p, 0, place, a, 0, N);
    reads(p, 0, place, z, begin, end);
    writes(p, 0, place, z, begin, end);
    for (int64_t i = begin; i < end; i++)
        p->model[place][z][i] = 5 * p->model[place][z][i] + p->model[place][a][i - begin];
    acu_op *parts = acu_partition(view, ACU_SHAPE(16 + 8 * (int)below(p, 3)));
    submit(p,
           acu_launch(p->m->tiles[device_of(p, place)], ACU_BLOCK(32), acu_inout(parts),
                      acu_in(tensor_at(p, place, a))),
           device_of(p, place) == 0);
    acu_tensor_release(view);
}

/* Passes on a piece of a tensor as it is: its contents are valid when the future is complete. */
static void do_pass(program *p)
{
    int place = (int)below(p, PLACES), z = (int)below(p, TENSORS);
    int64_t begin, end;
    acu_tensor *view = NULL;
    acu_future *future = NULL;
    random_range(p, &begin, &end);
    slice(p, place, z, begin, end, &view);
    reads(p, 0, place, z, begin, end);
    truth known = settle(p, false);
    acu_op *op = below(p, 2) ? acu_value(view) : acu_zip(acu_value(view), acu_value(view));
    acu_status st = acu_submit(NULL, op, NULL, &future);
    if (st == ACU_OK)
        st = acu_future_wait(future, ACU_FOREVER);
    MUST(p, fits(known, st), "passed on: known %d, but %s", (int)known, acu_status_name(st));
    if (st == ACU_OK && place >= HOST && known < ANY && !p->m->lossy)
        MUST(p, memcmp(acu_tensor_host(view), &p->model[place][z][begin],
                       (size_t)(end - begin) * sizeof(uint32_t)) == 0,
             "tensor %d from %d is not there when its future is complete", z, (int)begin);
    acu_tensor_release(view);
    acu_future_release(future);
}

static void do_copy(program *p)
{
    int from = (int)below(p, PLACES), to = (int)below(p, PLACES), z, a;
    int64_t begin, end;
    acu_tensor *source = NULL, *target = NULL;
    two_of(p, &z, &a);
    random_range(p, &begin, &end);
    slice(p, from, a, begin, end, &source);
    slice(p, to, z, begin, end, &target);
    reads(p, 0, from, a, begin, end);
    writes(p, 0, to, z, begin, end);
    memcpy(&p->model[to][z][begin], &p->model[from][a][begin],
           (size_t)(end - begin) * sizeof(uint32_t));
    submit(p, acu_copy(target, source), false);
    acu_tensor_release(source);
    acu_tensor_release(target);
}

static void do_fill(program *p)
{
    int place = (int)below(p, 2), z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)test_next(&p->random);
    int64_t begin, end;
    acu_tensor *target = NULL;
    random_range(p, &begin, &end);
    slice(p, place, z, begin, end, &target);
    writes(p, 0, place, z, begin, end);
    for (int64_t i = begin; i < end; i++)
        p->model[place][z][i] = c;
    submit(p, acu_fill(target, acu_u32(c)), device_of(p, place) == 0);
    acu_tensor_release(target);
}

/* User data of callbacks: a number, and whether to fail. */
static void *order_of(uint32_t c, bool fail)
{
    return (void *)(uintptr_t)(2 * (uint64_t)c + fail);
}

static acu_status host_step(void *user, const acu_val *values, size_t count)
{
    uint32_t *x = acu_tensor_host(values[0].tensor);
    uint32_t c = (uint32_t)((uintptr_t)user / 2);
    for (int i = 0; i < N && count == 1; i++)
        x[i] = 3 * x[i] + c;
    return (uintptr_t)user % 2 ? ACU_ERR_CALLBACK : ACU_OK;
}

static void do_host(program *p)
{
    int place = HOST + (int)below(p, PLACES - HOST), z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1000);
    p->fails = below(p, 16) == 0;
    updates(p, 0, place, z);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = 3 * p->model[place][z][i] + c;
    submit(p, acu_host(host_step, order_of(c, p->fails), acu_inout(tensor_at(p, place, z))), false);
}

/* Fills the whole tensor or, if it fails, perhaps nothing. */
static acu_status foreign_fill(void *user, CUstream stream, const acu_val *values, size_t count)
{
    uint32_t c = (uint32_t)((uintptr_t)user / 2);
    bool fail = (uintptr_t)user % 2;
    if (fail && c % 2)
        return ACU_ERR_CALLBACK;
    unsigned result =
        acu_driver()->MemsetD32Async(acu_tensor_address(values[0].tensor), c, N, stream);
    return result || fail || count != 1 ? ACU_ERR_CALLBACK : ACU_OK;
}

static acu_op *foreign_op(program *p, int place, int z, uint32_t c, bool fail)
{
    acu_op *op = acu_foreign(foreign_fill, order_of(c, fail), acu_out(tensor_at(p, place, z)));
    return acu_on(p->m->devices[device_of(p, place)], op);
}

static void do_foreign(program *p)
{
    int place = (int)below(p, 2), z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1 << 30);
    p->fails = below(p, 8) == 0;
    writes(p, 0, place, z, 0, N);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = c;
    submit(p, foreign_op(p, place, z, c, p->fails), device_of(p, place) == 0);
}

/* A foreign call that may fail, and a fill as its alternative. */
static void do_alternative(program *p)
{
    int place = (int)below(p, 2), z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1 << 30), other = (uint32_t)below(p, 1000);
    bool fails = below(p, 2);
    writes(p, 0, place, z, 0, N);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = fails ? other : c;
    acu_op *op = acu_or_else(foreign_op(p, place, z, c, fails),
                             acu_fill(tensor_at(p, place, z), acu_u32(other)));
    submit(p, op, device_of(p, place) == 0);
    if (p->m->lossy) /* it may fail where the model does not expect it */
        lose_track(p);
}

/* ---- views with gaps, written and read ---- */

/* A random grid in the tensor, row by row or column by column. */
static void random_grid(program *p, int place, int tensor, const int64_t sizes[2], grid *g)
{
    int inner = (int)below(p, 2);
    *g = (grid){.place = place, .tensor = tensor, .sizes = {sizes[0], sizes[1]}};
    g->steps[inner] = 1 + (int64_t)below(p, 3);
    g->steps[!inner] = sizes[inner] * g->steps[inner] + (int64_t)below(p, 4);
    g->begin = (int64_t)below(p, (uint64_t)(N - end_of(g)));
    acu_tensor *whole = tensor_at(p, place, tensor);
    size_t offset = acu_tensor_offset(whole) + (size_t)g->begin * sizeof(uint32_t);
    acu_status st = acu_tensor_create_strided(acu_tensor_buffer(whole), offset, ACU_U32,
                                              ACU_SHAPE(sizes[0], sizes[1]), g->steps, &g->view);
    EXPECT(p, st == ACU_OK, "acu_tensor_create_strided: %s", acu_status_name(st));
}

/* A copy, or a sum on one device. */
static void do_grids(program *p)
{
    int64_t sizes[] = {1 + (int64_t)below(p, 4), 1 + (int64_t)below(p, 6)};
    bool sum = below(p, 4) == 0;
    int from = (int)below(p, sum ? 2 : PLACES), to = sum ? from : (int)below(p, PLACES), z, a;
    uint32_t c = sum ? (uint32_t)below(p, 1000) : 0;
    grid source, target;
    two_of(p, &z, &a);
    random_grid(p, from, a, sizes, &source);
    random_grid(p, to, z, sizes, &target);
    reads_grid(p, &source);
    spans_grid(p, &target);
    for (int64_t i = 0; i < sizes[0]; i++)
        for (int64_t j = 0; j < sizes[1]; j++)
            p->model[to][z][word_of(&target, i, j)] =
                p->model[from][a][word_of(&source, i, j)] + c;
    p->to = &target;
    submit(p, sum ? acu_into(target.view, acu_add(source.view, acu_u32(c)))
                  : acu_copy(target.view, source.view), false);
    p->to = NULL;
    acu_tensor_release(source.view);
    acu_tensor_release(target.view);
}

static void do_fill_grid(program *p)
{
    int64_t sizes[] = {1 + (int64_t)below(p, 4), 1 + (int64_t)below(p, 6)};
    int place = (int)below(p, 2), z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)test_next(&p->random);
    grid target;
    random_grid(p, place, z, sizes, &target);
    spans_grid(p, &target);
    for (int64_t i = 0; i < sizes[0]; i++)
        for (int64_t j = 0; j < sizes[1]; j++)
            p->model[place][z][word_of(&target, i, j)] = c;
    p->to = &target;
    submit(p, acu_fill(target.view, acu_u32(c)), device_of(p, place) == 0);
    p->to = NULL;
    acu_tensor_release(target.view);
}

/* ---- modules that come and go ---- */

/* A kernel of a module that nobody else holds when it is loaded, or launched. */
static void do_module(program *p)
{
    int place = (int)below(p, 2), z, a;
    acu_device *device = p->m->devices[device_of(p, place)];
    acu_module_source source = {.size = sizeof source, .ptx = test_random_ptx};
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    acu_future *load = NULL;
    acu_status st;
    bool lost = false;
    if (below(p, 3)) {
        st = acu_module_load_async(device, &source, &load);
        if (st == ACU_OK)
            st = acu_future_module(load, &module);
        lost = load && below(p, 8) == 0;
        if (lost) /* perhaps before its turn */
            acu_future_cancel(load);
    } else {
        st = acu_module_load(device, ACU_PTX(NULL, test_random_ptx), &module);
    }
    if (st == ACU_OK)
        st = acu_kernel_get(module, "step", &kernel);
    EXPECT(p, st == ACU_OK || lost, "a module: %s", acu_status_name(st));
    acu_module_release(module);
    acu_future_release(load);
    if (st == ACU_OK) {
        two_of(p, &z, &a);
        acu_op *op = step_with(p, kernel, 0, place, z, a, (uint32_t)below(p, 1000));
        if (!lost)
            submit(p, op, device_of(p, place) == 0);
        else
            acu_submit(NULL, op, NULL, NULL);
        if (lost)
            lose_track(p);
    }
    acu_kernel_release(kernel);
}

/* ---- compositions ---- */

/* Steps on one device, some of which can run side by side. */
static void do_branches(program *p)
{
    int place = (int)below(p, 2), count = 2 + (int)below(p, 3), z, a;
    acu_op *ops[4];
    for (int i = 0; i < count; i++) {
        two_of(p, &z, &a);
        ops[i] = step_op(p, 0, place, z, a, (uint32_t)i);
    }
    submit(p, acu_op_zip(ops, (size_t)count, ACU_SITE), device_of(p, place) == 0);
}

/* Small submissions that share no data with each other, nor with anything in flight, so that they
 * may be issued in batches. */
static void many(program *p, int place, int a)
{
    uint32_t all[N];
    for (int i = 0; i < TENSORS; i++)
        acu_read_sync(tensor_at(p, place, i), all, sizeof all);
    for (int i = 1; i < TENSORS; i++) {
        forget(p);
        acu_op *op = step_op(p, 0, place, (a + i) % TENSORS, a, 4 * (uint32_t)below(p, 100));
        settle(p, false);
        acu_status st = acu_submit(NULL, op, NULL, NULL);
        EXPECT(p, st == ACU_OK, "acu_submit: %s", acu_status_name(st));
        if (st != ACU_OK)
            lose_track(p);
    }
}

static void do_many(program *p)
{
    int place = (int)below(p, 2), a = (int)below(p, TENSORS);
    for (int times = 1 + (int)below(p, 4); times > 0; times--)
        many(p, place, a);
}

/* One step on each device. */
static void do_both(program *p)
{
    int z, a, y, b;
    two_of(p, &z, &a);
    two_of(p, &y, &b);
    acu_op *near = step_op(p, 0, 0, z, a, 5), *far = step_op(p, p->m->count > 1, 1, y, b, 6);
    submit(p, acu_zip(near, far), false);
}

/* A chain through temporary memory. */
static void do_chain(program *p)
{
    int place = (int)below(p, 2), z, a, b = (int)below(p, TENSORS);
    int device = device_of(p, place);
    two_of(p, &z, &a);
    reads(p, 0, place, a, 0, N);
    reads(p, 0, place, b, 0, N);
    writes(p, 0, place, z, 0, N);
    uint32_t made[N];
    for (int i = 0; i < N; i++)
        made[i] = 3 * p->model[place][a][i] + p->model[place][b][i] + 9;
    memcpy(p->model[place][z], made, sizeof made);
    acu_op *step = acu_launch(p->m->steps[device], acu_for_num_elems(N),
                              acu_inout(acu_dup(tensor_at(p, place, a))),
                              acu_in(tensor_at(p, place, b)), acu_u32(9), acu_u32(N));
    submit(p, acu_copy(tensor_at(p, place, z), acu_first(step)), device == 0);
}

/* To the host and back, with host work in between. */
static void do_round(program *p)
{
    int place = (int)below(p, 2), z, a;
    uint32_t c = (uint32_t)below(p, 1000);
    two_of(p, &z, &a);
    p->fails = below(p, 16) == 0;
    reads(p, 0, place, a, 0, N);
    writes(p, 0, place, z, 0, N);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = 3 * p->model[place][a][i] + c;
    acu_op *host = acu_host(host_step, order_of(c, p->fails),
                            acu_inout(acu_to_host(tensor_at(p, place, a))));
    acu_op *back = acu_to_device(p->m->devices[device_of(p, place)], host);
    submit(p, acu_copy(tensor_at(p, place, z), back), false);
}

/* One op in two submissions: it runs once, also if the first of them is given up. */
static void do_shared(program *p)
{
    int place = (int)below(p, 2), z, a, y = (int)below(p, TENSORS);
    two_of(p, &z, &a);
    if (y == a || y == z)
        return;
    acu_op *op = acu_op_retain(acu_dup(tensor_at(p, place, a)));
    bool first = device_of(p, place) == 0;
    int targets[] = {z, y};
    for (int i = 0; i < 2; i++) {
        forget(p);
        reads(p, 0, place, a, 0, N);
        writes(p, 0, place, targets[i], 0, N);
        memcpy(p->model[place][targets[i]], p->model[place][a], sizeof p->model[place][a]);
        submit(p, acu_copy(tensor_at(p, place, targets[i]), op), first);
        if (i == 0 && ++p->step == STEPS) {
            acu_op_release(op);
            p->step--;
            return;
        }
    }
}

/* ---- temporaries, enough of them that they are worth having the same memory in turn ---- */

enum { ROWS = 32, MADE = 16, UNION = ROWS * N };

/* Tensors of u32 [ROWS, N] that are made of others; the program holds each op until `release`. */
typedef struct temporaries {
    program *p;
    acu_tensor *x;
    acu_device *device;
    acu_op *ops[MADE];
    uint32_t (*model)[UNION];
    int count;
} temporaries;

/* One more, of two that there are; or of the tensor, if there is none. */
static acu_op *make_temporary(temporaries *t, const uint32_t *x)
{
    program *p = t->p;
    uint32_t *to = t->model[t->count], c = (uint32_t)below(p, 1000);
    if (t->count == 0 || below(p, 4) == 0) {
        for (int i = 0; i < UNION; i++)
            to[i] = x[i % N] + (uint32_t)(i / N) * c;
        acu_op *rows = acu_reshape(acu_arange(ACU_U32, 0, ROWS, 1), ACU_SHAPE(ROWS, 1));
        return acu_add(acu_mul(acu_on(t->device, rows), acu_u32(c)), t->x);
    }
    /* Mostly the latest ones, so that there are chains. */
    int a = below(p, 3) ? t->count - 1 : (int)below(p, (uint64_t)t->count);
    int b = (int)below(p, (uint64_t)t->count);
    uint64_t way = below(p, 4);
    for (int i = 0; i < UNION; i++)
        to[i] = way == 0   ? t->model[a][i]
                : way == 1 ? t->model[a][i] * c
                           : t->model[a][i] + t->model[b][i];
    acu_op *op = acu_op_retain(t->ops[a]);
    return way == 0   ? acu_dup(op)
           : way == 1 ? acu_mul(op, acu_u32(c))
                      : acu_add(op, acu_op_retain(t->ops[b]));
}

static void release_temporaries(temporaries *t)
{
    while (t->count > 0)
        acu_op_release(t->ops[--t->count]);
}

/* A row of temporary `which` goes to tensor z. */
static void submit_row(temporaries *t, int place, int a, int z, int which, bool whole)
{
    program *p = t->p;
    int row = (int)below(p, ROWS);
    forget(p);
    reads(p, 0, place, a, 0, N);
    writes(p, 0, place, z, 0, N);
    memcpy(p->model[place][z], &t->model[which][row * N], sizeof p->model[place][z]);
    acu_op *op = acu_op_retain(t->ops[which]);
    op = acu_copy(tensor_at(p, place, z), acu_select(op, 0, row));
    if (whole) /* the submission yields it, too */
        op = acu_zip(op, acu_op_retain(t->ops[which]));
    if (which == t->count - 1 && below(p, 2))
        release_temporaries(t);
    acu_pool *pool = p->m->pools[device_of(p, place)];
    submit(p, pool ? acu_with_pool(pool, op) : op, device_of(p, place) == 0);
}

/* The last one, whose parts may be nobody else's; if they are, another one is read later: it keeps
 * what it yielded. */
static void do_temporaries(program *p)
{
    int place = (int)below(p, 2), z, a, y = (int)below(p, TENSORS);
    two_of(p, &z, &a);
    temporaries t = {.p = p,
                     .x = tensor_at(p, place, a),
                     .device = p->m->devices[device_of(p, place)],
                     .model = malloc(MADE * sizeof *t.model)};
    int count = 4 + (int)below(p, MADE - 3);
    for (; t.count < count; t.count++)
        t.ops[t.count] = make_temporary(&t, p->model[place][a]);
    submit_row(&t, place, a, z, count - 1, below(p, 4) == 0);
    if (t.count && y != a && y != z && p->step + 1 < STEPS) {
        p->step++;
        submit_row(&t, place, a, y, (int)below(p, (uint64_t)count), false);
    }
    release_temporaries(&t);
    free(t.model);
}

/* The last op runs whatever becomes of the rest, and of the submission. */
static void do_finally(program *p)
{
    int place = (int)below(p, 2), z, y;
    uint32_t c = (uint32_t)below(p, 1 << 30), d = (uint32_t)below(p, 1000);
    two_of(p, &z, &y);
    p->fails = below(p, 2);
    writes(p, 0, place, z, 0, N);
    for (int i = 0; i < N; i++) {
        p->model[place][z][i] = c;
        p->model[place][y][i] = d;
    }
    acu_op *op = acu_finally(foreign_op(p, place, z, c, p->fails),
                             acu_fill(tensor_at(p, place, y), acu_u32(d)));
    bool given_up = submit(p, op, device_of(p, place) == 0);
    for (int i = 0; i < N; i++)
        p->known[place][y][i] = (given_up && p->unplanned) || p->m->lossy ? ANY : GOOD;
}

/* A scheduled submission takes its place in the order when it is started. */
static void do_later(program *p)
{
    int z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1000);
    acu_future *future = NULL;
    acu_op *op = acu_fill(tensor_at(p, 0, z), acu_u32(c));
    acu_status st = acu_schedule(p->m->policies[below(p, POLICIES)], op, &future);
    EXPECT(p, st == ACU_OK, "acu_schedule: %s", acu_status_name(st));
    do_step(p);
    if (below(p, 4) > 0) {
        st = acu_future_start(future);
        EXPECT(p, st == ACU_OK, "acu_future_start: %s", acu_status_name(st));
        for (int i = 0; i < N; i++) {
            p->model[0][z][i] = c;
            p->known[0][z][i] = p->m->lossy ? ANY : GOOD;
        }
    }
    acu_future_release(future);
}

/* ---- explicit graphs ---- */

/* The ops of the graphs, and what they do. In the third one, nodes come behind an op that is used
 * twice, and the graph has memory of its own. */
static acu_op *graph_op(program *p, int which)
{
    int place = which == 1;
    if (which < 2)
        return acu_zip(step_op(p, 0, place, 0, 1, 21), step_op(p, 0, place, 1, 2, 22));
    acu_op *made = acu_dup(tensor_at(p, 0, 3));
    reads(p, 0, 0, 3, 0, N);
    writes(p, 0, 0, 2, 0, N);
    memcpy(p->model[0][2], p->model[0][3], sizeof p->model[0][2]);
    acu_op *copy = acu_copy(tensor_at(p, 0, 2), acu_op_retain(made));
    acu_op *step = step_op(p, 0, 0, 3, 2, 23);
    p->reads[0] = known_of(p, 0, 3); /* the other tensor is overwritten */
    return acu_zip(copy, step, made);
}

static acu_status load_graph(program *p, int which)
{
    uint32_t kept[PLACES][TENSORS][N];
    memcpy(kept, p->model, sizeof kept);
    acu_op *op = graph_op(p, which);
    memcpy(p->model, kept, sizeof kept);
    forget(p);
    return acu_graph_load(p->m->devices[device_of(p, which == 1)], op, NULL, &p->graphs[which]);
}

static acu_op *replay_op(program *p, int which)
{
    acu_op_release(graph_op(p, which)); /* done for the model only */
    return acu_replay(p->graphs[which]);
}

/* A replay with another input, written in the same submission. */
static void replay_anew(program *p, int which)
{
    int place = which == 1, x = which == 2 ? 3 : 2, from = (int)below(p, PLACES);
    int a = (x + 1 + (int)below(p, TENSORS - 1)) % TENSORS;
    truth is = known_of(p, from, a);
    memcpy(p->model[place][x], p->model[from][a], sizeof p->model[place][x]);
    reads(p, 1, from, a, 0, N);
    writes(p, 1, place, x, 0, N);
    acu_op *copy = acu_copy(tensor_at(p, place, x), tensor_at(p, from, a));
    truth before[N];
    memcpy(before, p->known[place][x], sizeof before);
    know(p, place, x, is); /* for the tensor that the replay reads */
    acu_op *replay = replay_op(p, which);
    memcpy(p->known[place][x], before, sizeof before);
    submit(p, acu_zip(copy, replay), false);
}

static void make_graph_anew(program *p, int which)
{
    acu_graph_release(p->graphs[which]);
    p->graphs[which] = NULL;
    acu_status st = load_graph(p, which);
    EXPECT(p, st == ACU_OK, "acu_graph_load: %s", acu_status_name(st));
}

/* Replays a graph, which may be made anew before, while it runs. */
static void do_graph(program *p)
{
    int which = (int)below(p, GRAPHS);
    if (below(p, 8) == 0)
        make_graph_anew(p, which);
    if (p->graphs[which] && below(p, 2))
        submit(p, replay_op(p, which), device_of(p, which == 1) == 0);
    else if (p->graphs[which])
        replay_anew(p, which);
}

/* A graph of the result of a submission that may not be on the device yet. */
static void do_graph_of_result(program *p)
{
    int place = (int)below(p, 2), z, a;
    acu_future *future = NULL;
    acu_graph *graph = NULL;
    two_of(p, &z, &a);
    acu_status st = acu_submit(NULL, acu_dup(tensor_at(p, place, a)), NULL, &future);
    EXPECT(p, st == ACU_OK, "acu_submit: %s", acu_status_name(st));
    acu_tensor *made = st == ACU_OK ? acu_future_tensor(future, 0) : NULL;
    bool sound = known_of(p, place, a) == GOOD && !p->m->lossy;
    if (made)
        st = acu_graph_load(NULL, acu_copy(tensor_at(p, place, z), made), NULL, &graph);
    MUST(p, st == ACU_OK || !sound, "acu_graph_load: %s", acu_status_name(st));
    if (graph) {
        reads(p, 0, place, a, 0, N);
        writes(p, 0, place, z, 0, N);
        memcpy(p->model[place][z], p->model[place][a], sizeof p->model[place][z]);
        submit(p, acu_replay(graph), device_of(p, place) == 0);
    }
    acu_graph_release(graph);
    acu_future_release(future);
}

/* ---- the cache of graphs ---- */

static void do_cache(program *p)
{
    static const uint32_t limits[] = {0, 1, 3, ACU_GRAPH_CACHE_DEFAULT};
    acu_device *device = p->m->devices[below(p, 2)];
    acu_status st = below(p, 2) ? acu_graph_cache_limit(device, limits[below(p, 4)])
                                : acu_graph_cache_wait(device);
    EXPECT(p, st == ACU_OK, "the cache: %s", acu_status_name(st));
}

/* ---- callbacks that submit, and uses ---- */

typedef struct two_steps {
    acu_op *inner, *outer;
} two_steps;

static acu_op *submit_inner(void *user, acu_val *values, size_t count)
{
    two_steps *steps = user;
    acu_op *inner = steps->inner, *outer = steps->outer;
    (void)values, (void)count;
    steps->inner = steps->outer = NULL;
    if (acu_submit(NULL, inner, NULL, NULL) == ACU_OK)
        return outer;
    acu_op_release(outer);
    return acu_op_fail(ACU_ERR_CALLBACK, "inner", ACU_SITE, "it was refused");
}

static void free_steps(void *user)
{
    two_steps *steps = user;
    acu_op_release(steps->inner);
    acu_op_release(steps->outer);
    free(steps);
}

/* A step that is submitted while another one is planned, and comes before it. */
static void do_inner(program *p)
{
    int place = (int)below(p, 2), z, a;
    two_of(p, &z, &a);
    two_steps *steps = calloc(1, sizeof *steps);
    steps->inner = step_op(p, 0, place, z, a, (uint32_t)below(p, 1000));
    steps->outer = step_op(p, 0, place, z, a, (uint32_t)below(p, 1000));
    submit(p, acu_then(acu_value(tensor_at(p, place, a)), submit_inner, steps, free_steps),
           device_of(p, place) == 0);
}

/* ---- work of the program's own, and of other libraries ---- */

/* Makes the context current without disturbing a capture of the other thread. */
static bool enter(program *p)
{
    acu_driver()->ThreadExchangeStreamCaptureMode(
        &(unsigned){ACU_CU_STREAM_CAPTURE_MODE_RELAXED});
    return acu_driver()->CtxPushCurrent(acu_device_context(p->m->devices[0])) == 0;
}

static void leave(bool entered)
{
    if (entered)
        acu_driver()->CtxPopCurrent(&(CUcontext){0});
    acu_driver()->ThreadExchangeStreamCaptureMode(
        &(unsigned){ACU_CU_STREAM_CAPTURE_MODE_GLOBAL});
}

/* Fills a tensor of device 0, or of a device with access to it, on the program's own stream. */
static bool fill_by_hand(program *p, acu_tensor *tensor, uint32_t c)
{
    bool entered = enter(p);
    unsigned result = acu_driver()->MemsetD32Async(acu_tensor_address(tensor), c, N,
                                                   acu_stream_raw(p->own));
    leave(entered);
    EXPECT(p, result == 0, "cuMemsetD32Async: %u", result);
    return result == 0;
}

/* The model: it was filled, in order with the rest. */
static void filled(program *p, int place, int z, uint32_t c)
{
    writes(p, 0, place, z, 0, N);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = c;
    settle(p, false);
    if (p->m->lossy)
        lose_track(p);
}

/* Lends a tensor to another library for a while. */
static void do_lend(program *p)
{
    int z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1 << 30);
    struct DLManagedTensorVersioned *managed = NULL;
    acu_tensor *tensor = tensor_at(p, 0, z);
    if (p->captures || known_of(p, 0, z) != GOOD) /* lending might be refused */
        return;
    acu_status st = acu_dlpack_export_wait(tensor, (intptr_t)acu_stream_raw(p->own),
                                           ACU_DLPACK_STREAM_LIVES, ACU_FOREVER, &managed);
    EXPECT(p, st == ACU_OK, "acu_dlpack_export_wait: %s", acu_status_name(st));
    if (st != ACU_OK)
        return;
    fill_by_hand(p, tensor, c);
    acu_dlpack_release(managed);
    filled(p, 0, z, c);
}

/* Replaces a tensor by one of another library's memory, whose contents are still being written. */
static void do_exchange(program *p)
{
    enum { LAST = TENSORS - 1 };
    uint32_t c = (uint32_t)below(p, 1 << 30);
    intptr_t stream = (intptr_t)acu_stream_raw(p->own);
    struct DLManagedTensorVersioned *managed = NULL;
    acu_tensor *theirs = NULL, *ours = NULL;
    if (p->captures)
        return;
    acu_status st = acu_tensor_alloc(p->m->devices[0], ACU_U32, VECTOR, &theirs);
    if (st == ACU_OK)
        st = acu_dlpack_export_wait(theirs, stream, 0, ACU_FOREVER, &managed);
    if (st == ACU_OK && fill_by_hand(p, theirs, c))
        st = acu_dlpack_import(p->m->devices[0], managed, stream, &ours);
    EXPECT(p, st == ACU_OK && ours, "DLPack: %s", acu_status_name(st));
    acu_tensor_release(theirs);
    if (!ours) {
        acu_dlpack_release(managed);
        return;
    }
    acu_tensor_release(p->tensors[0][LAST]);
    p->tensors[0][LAST] = ours;
    memset(p->sticky[0][LAST], 0, sizeof p->sticky[0][LAST]);
    filled(p, 0, LAST, c);
    make_graph_anew(p, 2); /* the graph still has the old tensor */
}

static void do_any(program *p);

/* acuda refuses a stream that the program is capturing. */
static void refuse_captured(program *p)
{
    acu_submit_options options = {.size = sizeof options, .stream = p->own};
    acu_use *use = NULL;
    acu_tensor *tensor = tensor_at(p, 0, 0);
    acu_status st = ACU_ERR_CAPTURE;
    if (!p->m->handed) /* otherwise it may be planned after the capture */
        st = acu_submit(NULL, acu_dup(tensor), &options, NULL);
    EXPECT(p, st == ACU_ERR_CAPTURE, "acu_submit: %s", acu_status_name(st));
    st = acu_use_begin(p->own, &use, acu_in(tensor));
    EXPECT(p, st == ACU_ERR_CAPTURE || st == ACU_NOT_READY || st == ACU_ERR_DEPENDENCY,
           "acu_use_begin: %s", acu_status_name(st));
    st = acu_stream_poll(p->own);
    EXPECT(p, st == ACU_ERR_CAPTURE, "acu_stream_poll: %s", acu_status_name(st));
}

/* The program captures a graph while acuda works for it, and launches that graph. */
static void do_capture(program *p)
{
    static const unsigned modes[] = {ACU_CU_STREAM_CAPTURE_MODE_GLOBAL,
                                     ACU_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                     ACU_CU_STREAM_CAPTURE_MODE_RELAXED};
    const acu_driver_table *cu = acu_driver();
    CUstream raw = acu_stream_raw(p->own);
    int z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1 << 30);
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    acu_use *use = NULL;
    if (p->captures)
        return;
    bool entered = enter(p);
    unsigned result = cu->StreamBeginCapture(raw, modes[below(p, 3)]);
    leave(entered);
    EXPECT(p, result == 0, "cuStreamBeginCapture: %u", result);
    if (result != 0)
        return;
    p->captures = true;
    for (uint64_t others = below(p, 4); others > 0; others--)
        do_any(p);
    forget(p);
    refuse_captured(p);
    fill_by_hand(p, tensor_at(p, 0, z), c);
    p->captures = false;
    entered = enter(p);
    result = cu->StreamEndCapture(raw, &graph);
    if (result == 0)
        result = cu->GraphInstantiateWithFlags(&exec, graph, 0);
    if (graph)
        cu->GraphDestroy(graph);
    leave(entered);
    EXPECT(p, result == 0, "a capture: %u", result);
    acu_status st = acu_use_begin_wait(p->own, ACU_FOREVER, &use, acu_out(tensor_at(p, 0, z)));
    EXPECT(p, st == ACU_OK, "acu_use_begin_wait: %s", acu_status_name(st));
    entered = enter(p);
    if (st == ACU_OK && exec)
        result = cu->GraphLaunch(exec, raw);
    if (exec)
        cu->GraphExecDestroy(exec);
    leave(entered);
    EXPECT(p, result == 0, "cuGraphLaunch: %u", result);
    if (st == ACU_OK)
        MUST(p, acu_use_end(use, ACU_OK, NULL) == ACU_OK, "acu_use_end");
    filled(p, 0, z, c);
}

/* Work that the program places itself, in a declared use that succeeds or fails. */
static void do_use(program *p)
{
    int z = (int)below(p, TENSORS);
    uint32_t c = (uint32_t)below(p, 1 << 30);
    acu_stream *stream = p->m->streams[below(p, STREAMS)];
    acu_use *use = NULL;
    acu_status st =
        acu_use_begin_wait(stream, ACU_FOREVER, &use, acu_out(tensor_at(p, 0, z)));
    EXPECT(p, st == ACU_OK, "acu_use_begin_wait: %s", acu_status_name(st));
    p->fails = below(p, 8) == 0;
    writes(p, 0, 0, z, 0, N);
    if (st == ACU_OK) {
        acu_val value = {.kind = ACU_TENSOR, .tensor = tensor_at(p, 0, z)};
        bool entered = enter(p);
        if (foreign_fill(order_of(c, false), acu_stream_raw(stream), &value, 1) != ACU_OK)
            p->fails = true;
        leave(entered);
        MUST(p, acu_use_end(use, p->fails ? ACU_ERR_CALLBACK : ACU_OK, NULL) == ACU_OK, "use");
    }
    for (int i = 0; i < N; i++)
        p->model[0][z][i] = c;
    settle(p, false);
    if (p->m->lossy)
        lose_track(p);
}

/* ---- waiting, and looking on ---- */

/* Waits for one of several futures, or for all, for some time. */
static void do_wait(program *p)
{
    acu_future *futures[KEPT];
    truth outcomes[KEPT], all = GOOD;
    size_t count = 0, which = KEPT;
    for (int i = 0; i < KEPT; i++)
        if (p->kept[i]) {
            outcomes[count] = p->kept_outcomes[i];
            futures[count++] = p->kept[i];
        }
    if (count == 0)
        return;
    bool one = below(p, 2);
    uint64_t timeout = some_time(p);
    acu_status st = one ? acu_wait_any(futures, count, timeout, &which)
                        : acu_wait_all(futures, count, timeout);
    MUST(p, st != ACU_TIMEOUT || timeout != ACU_FOREVER, "for ever has an end");
    if (st == ACU_TIMEOUT)
        return;
    for (size_t i = 0; i < count; i++)
        all = worse(all, outcomes[i] == ANY ? MAYBE : outcomes[i]);
    MUST(p, !one || which < count, "acu_wait_any: %d", (int)which);
    if (!p->failure[0])
        MUST(p, fits(one ? outcomes[which] : all, st), "%s of %d: %s", one ? "one" : "all",
             (int)count, acu_status_name(st));
}

static void do_stream_wait(program *p)
{
    acu_stream *stream = p->m->streams[below(p, STREAMS)];
    uint64_t timeout = some_time(p);
    bool settles = below(p, 2);
    acu_status st = settles ? acu_stream_settle(stream, timeout) : acu_stream_wait(stream, timeout);
    EXPECT(p, st == ACU_OK || (st == ACU_TIMEOUT && timeout != ACU_FOREVER), "a stream: %s",
           acu_status_name(st));
    st = acu_stream_poll(stream);
    EXPECT(p, st == ACU_OK || st == ACU_NOT_READY, "acu_stream_poll: %s", acu_status_name(st));
}

static void do_look(program *p)
{
    acu_device *device = p->m->devices[below(p, 2)];
    acu_process_statistics counters = {.size = sizeof counters};
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    acu_pool_statistics stats = {.size = sizeof stats};
    char text[512];
    size_t some, all;
    acu_process_stats(&counters);
    acu_debug_live_report(text, below(p, sizeof text + 1));
    acu_queue_pending(p->queue);
    acu_status st = acu_graph_cache_stats(device, &counts);
    if (st == ACU_OK)
        st = acu_pool_stats(acu_device_pool(device), &stats);
    if (st == ACU_OK)
        st = acu_device_memory(device, &some, &all);
    if (st == ACU_OK && below(p, 4) == 0)
        st = acu_pool_trim(acu_device_pool(device), below(p, 1 << 20), &some);
    EXPECT(p, st == ACU_OK, "looking on: %s", acu_status_name(st));
    for (int i = 0; i < KEPT; i++)
        if (p->kept[i]) {
            st = acu_future_poll(p->kept[i]);
            MUST(p, st == ACU_NOT_READY || fits(p->kept_outcomes[i], st), "outcome %d, but %s",
                 (int)p->kept_outcomes[i], acu_status_name(st));
        }
}

/* ---- compositions of compositions ---- */

static acu_op *tree(program *p, int depth, bool last, effect *e);

/* The effect of both, one after the other. */
static void join(effect *to, const effect *more)
{
    to->outcome = worse(to->outcome, more->outcome);
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++)
            if (more->fates[place][t] != LEFT)
                to->fates[place][t] = more->fates[place][t];
}

/* It writes z, of which that much is known. An op that reads a tensor of which nothing is known may
 * fail. */
static void leaf_effect(program *p, int place, int z, truth is, effect *e)
{
    *e = (effect){.outcome = is == ANY ? MAYBE : is};
    e->fates[place][z] = OPEN;
    know(p, place, z, is);
}

/* An op that overwrites a tensor of a device. */
static acu_op *write_leaf(program *p, int place, int z, effect *e)
{
    uint32_t c = (uint32_t)below(p, 1000);
    bool fill = below(p, 2), fails = !fill && below(p, 2);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = c;
    leaf_effect(p, place, z, fails ? BAD : GOOD, e);
    return fill ? acu_fill(tensor_at(p, place, z), acu_u32(c)) : foreign_op(p, place, z, c, fails);
}

static acu_op *step_leaf(program *p, int place, int z, int a, effect *e)
{
    truth is = worse(known_of(p, place, a), known_of(p, place, z));
    acu_op *op = step_op(p, 0, place, z, a, (uint32_t)below(p, 1000));
    forget(p); /* the effect says this */
    leaf_effect(p, place, z, is, e);
    return op;
}

static acu_op *host_leaf(program *p, int z, effect *e)
{
    int place = HOST + (int)below(p, PLACES - HOST);
    uint32_t c = (uint32_t)below(p, 1000);
    bool fails = below(p, 3) == 0;
    truth is = fails ? BAD : known_of(p, place, z);
    for (int i = 0; i < N; i++)
        p->model[place][z][i] = 3 * p->model[place][z][i] + c;
    leaf_effect(p, place, z, is, e);
    return acu_host(host_step, order_of(c, fails), acu_inout(tensor_at(p, place, z)));
}

static acu_op *copy_leaf(program *p, int place, int z, int a, effect *e)
{
    int from = (int)below(p, PLACES);
    memcpy(p->model[place][z], p->model[from][a], sizeof p->model[place][z]);
    leaf_effect(p, place, z, known_of(p, from, a), e);
    return acu_copy(tensor_at(p, place, z), tensor_at(p, from, a));
}

static acu_op *replay_leaf(program *p, effect *e)
{
    int which = (int)below(p, 2), z;
    truth is = worse(known_of(p, which, 0), worse(known_of(p, which, 1), known_of(p, which, 2)));
    acu_op *op = replay_op(p, which);
    forget(p);
    leaf_effect(p, which, 0, is, e);
    for (z = 0; z < 2; z++) {
        know(p, which, z, is);
        e->fates[which][z] = OPEN;
    }
    return op;
}

/* `last`: for the last op of a `finally`, which reads nothing here. */
static acu_op *leaf(program *p, bool last, effect *e)
{
    int place = (int)below(p, 2), z, a;
    two_of(p, &z, &a);
    switch (last ? 0 : below(p, 8)) {
    case 7:
        if (p->graphs[0] && p->graphs[1])
            return replay_leaf(p, e);
        /* fall through */
    case 0:
    case 1:
        return write_leaf(p, place, z, e);
    case 2:
        return host_leaf(p, z, e);
    case 3:
        return copy_leaf(p, place, z, a, e);
    default:
        return step_leaf(p, place, z, a, e);
    }
}

/* Ops side by side: if one fails, the others may not begin. */
static acu_op *beside(program *p, int depth, bool last, effect *e)
{
    acu_op *ops[3];
    int count = 2 + (int)below(p, 2);
    *e = (effect){.outcome = GOOD};
    for (int i = 0; i < count; i++) {
        effect one;
        ops[i] = tree(p, depth - 1, last, &one);
        join(e, &one);
    }
    if (e->outcome != GOOD)
        disturb(p, e);
    return count == 2 && below(p, 3) == 0 ? acu_after(ops[1], ops[0])
                                          : acu_op_zip(ops, (size_t)count, ACU_SITE);
}

static bool as_told(void *wanted, const acu_error *error)
{
    return wanted && error->status != ACU_OK;
}

/* An op and its alternative yield the same, so that nothing is copied. */
static acu_op *yields_one(acu_op *op)
{
    return acu_last(acu_zip(op, acu_scalar(acu_u32(1))));
}

/* Adds the effect of the alternative: what was tried certainly failed, and the alternative ran; or
 * nobody can tell. */
static void join_other(program *p, effect *e, effect *other)
{
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++) {
            fate *is = &other->fates[place][t];
            bool touched = *is != LEFT || e->fates[place][t] != LEFT;
            if (e->outcome != BAD && touched)
                know(p, place, t, ANY);
            if (*is != LEFT || (e->outcome != BAD && touched))
                *is = PERHAPS;
        }
    truth outcome = e->outcome == BAD || other->outcome == GOOD ? other->outcome : MAYBE;
    join(e, other);
    e->outcome = outcome;
}

static acu_op *either(program *p, int depth, bool last, effect *e)
{
    static char wanted[1];
    effect other;
    uint32_t model[PLACES][TENSORS][N];
    truth known[PLACES][TENSORS][N];
    bool asks = below(p, 3) == 0, wants = !asks || below(p, 2);
    acu_op *x = yields_one(tree(p, depth - 1, last, e));
    memcpy(model, p->model, sizeof model);
    memcpy(known, p->known, sizeof known);
    acu_op *y = yields_one(tree(p, depth - 1, last, &other));
    bool good = e->outcome == GOOD && !p->m->lossy; /* else it may fail unexpectedly */
    if (good || !wants) { /* then nothing of the alternative is done */
        memcpy(p->model, model, sizeof model);
        memcpy(p->known, known, sizeof known);
    } else {
        join_other(p, e, &other);
    }
    return asks ? acu_or_else_if(x, y, as_told, wants ? wanted : NULL) : acu_or_else(x, y);
}

static acu_op *lasting(program *p, int depth, bool within, effect *e)
{
    effect last;
    acu_op *x = tree(p, depth - 1, within, e), *y = tree(p, depth - 1, true, &last);
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++)
            if (last.fates[place][t] == OPEN)
                last.fates[place][t] = SURE;
    join(e, &last);
    return acu_finally(x, y);
}

static acu_op *tree(program *p, int depth, bool last, effect *e)
{
    switch (depth > 0 ? below(p, 7) : 0) {
    case 1:
    case 2:
        return beside(p, depth, last, e);
    case 3:
        return acu_with_context(tree(p, depth - 1, last, e), "tree");
    case 4:
    case 5:
        return either(p, depth, last, e);
    case 6:
        return lasting(p, depth, last, e);
    default:
        return leaf(p, last, e);
    }
}

static void do_tree(program *p)
{
    effect e;
    acu_op *op = tree(p, 3, false, &e);
    forget(p);
    p->tree = &e;
    submit(p, op, false);
    p->tree = NULL;
}

/* Each member ends once, and the group's outcome is that of a member that failed. */
static void take_members(program *p, int count)
{
    bool failed = false;
    acu_future *future;
    for (int i = 0; i < count && !p->failure[0]; i++) {
        acu_status st = acu_group_wait_any(p->group, ACU_FOREVER, &future);
        MUST(p, st == ACU_OK, "acu_group_wait_any: %s, %d of %d", acu_status_name(st), i, count);
        if (st != ACU_OK)
            return;
        st = acu_future_poll(future);
        MUST(p, st != ACU_NOT_READY, "a member was taken that is not over");
        failed |= st != ACU_OK && st != ACU_ERR_CANCELLED;
        acu_future_release(future);
    }
    MUST(p, acu_group_take(p->group, &future) == ACU_ERR_NOT_FOUND, "a member too many");
    acu_status st = acu_group_wait(p->group, ACU_FOREVER);
    MUST(p, (st != ACU_OK) == failed, "%s, and some member %s", acu_status_name(st),
         failed ? "failed" : "did not");
}

/* Ends the group, in one of several ways. */
static void end_group(program *p)
{
    acu_future *all = NULL;
    uint64_t timeout = some_time(p);
    acu_status st;
    switch (below(p, 6)) {
    case 0:
        MUST(p, acu_group_cancel(p->group) == ACU_OK, "acu_group_cancel");
        break;
    case 1:
        st = acu_group_drain(p->group, timeout);
        MUST(p, st != ACU_TIMEOUT || timeout != ACU_FOREVER, "for ever has an end");
        MUST(p, acu_group_pending(p->group) == 0, "acu_group_drain leaves some");
        break;
    case 2:
        st = acu_group_finish(p->group, &all);
        EXPECT(p, st == ACU_OK, "acu_group_finish: %s", acu_status_name(st));
        st = acu_future_wait(all, ACU_FOREVER);
        MUST(p, acu_group_error(p->group, NULL) == st, "finished: %s", acu_status_name(st));
        acu_future_release(all);
        break;
    case 3:
        st = acu_group_wait(p->group, timeout);
        MUST(p, st == ACU_TIMEOUT || acu_group_error(p->group, NULL) == st, "acu_group_wait: %s",
             acu_status_name(st));
        break;
    default:
        break;
    }
}

static void do_group(program *p)
{
    acu_group_options options = {
        .size = sizeof options, .collect = true, .keep_going = below(p, 2)};
    int accepted = 0, count = 1 + (int)below(p, 4);
    acu_status st = acu_group_create(&options, &p->group);
    EXPECT(p, st == ACU_OK, "acu_group_create: %s", acu_status_name(st));
    for (int i = 0; i < count && st == ACU_OK; i++) {
        p->refused = false;
        do_tree(p);
        accepted += !p->refused;
    }
    if (st == ACU_OK)
        end_group(p);
    if (st == ACU_OK && !p->m->lossy)
        take_members(p, accepted);
    acu_group_release(p->group);
    p->group = NULL;
}

/* ---- a program ---- */

static void do_any(program *p)
{
    static void (*const all[])(program *) = {
        do_step,     do_step,   do_tiles,       do_tiles, do_copy,    do_copy,        do_copy,
        do_fill,     do_fill,   do_host,        do_host,  do_foreign, do_branches,    do_chain,
        do_both,     do_graph,  do_graph,       do_round, do_shared,  do_alternative, do_later,
        do_finally,  do_many,   do_many,        do_pass,  do_pass,    do_tree,        do_tree,
        do_tree,     do_group,  do_cache,       do_inner, do_use,     do_grids,       do_grids,
        do_grids,    do_module, do_fill_grid,   do_wait,  do_look,    do_capture,     do_lend,
        do_exchange, do_stream_wait, do_graph_of_result, do_temporaries, do_temporaries,
    };
    forget(p);
    all[below(p, sizeof all / sizeof all[0])](p);
    if (below(p, 8) == 0)
        harvest(p);
}

/* ---- tensors, made in all ways that there are ---- */

static acu_status make_paged(acu_device *device, acu_tensor **made)
{
    acu_buffer *buffer = NULL;
    void *memory = malloc(N * sizeof(uint32_t));
    acu_status st = acu_buffer_wrap_pageable(device, memory, N * sizeof(uint32_t),
                                             (acu_user){memory, free}, &buffer);
    if (st == ACU_OK)
        st = acu_tensor_create(buffer, 0, ACU_U32, VECTOR, made);
    acu_buffer_release(buffer);
    return st;
}

/* A tensor as another process would import it. */
static acu_status make_imported(acu_device *device, acu_tensor **made)
{
    acu_external_options from = {.size = sizeof from, .kind = ACU_EXTERNAL_CUDA, .fd = -1};
    acu_external *external = NULL;
    acu_buffer *first = NULL, *buffer = NULL;
    acu_status st = acu_buffer_create_exportable(device, 2 * N * sizeof(uint32_t), &first);
    if (st == ACU_OK)
        st = acu_buffer_export(first, &from.fd);
    if (st == ACU_OK) {
        from.bytes = acu_buffer_bytes(first);
        st = acu_external_import(device, &from, &external);
        close(from.fd);
    }
    if (st == ACU_OK)
        st = acu_external_buffer(external, 64, N * sizeof(uint32_t), &buffer);
    if (st == ACU_OK)
        st = acu_tensor_create(buffer, 0, ACU_U32, VECTOR, made);
    acu_external_release(external);
    acu_buffer_release(buffer);
    acu_buffer_release(first);
    return st;
}

/* A tensor as another library would hold it, which works on the legacy default stream. */
static acu_status make_exchanged(acu_device *device, acu_tensor **made)
{
    struct DLManagedTensorVersioned *managed = NULL;
    acu_tensor *theirs = NULL;
    acu_status st = acu_tensor_alloc(device, ACU_U32, VECTOR, &theirs);
    if (st == ACU_OK)
        st = acu_dlpack_export_wait(theirs, 1, 0, ACU_FOREVER, &managed);
    if (st == ACU_OK)
        st = acu_dlpack_import(device, managed, 1, made);
    if (st != ACU_OK)
        acu_dlpack_release(managed);
    acu_tensor_release(theirs);
    return st;
}

static acu_status make_tensor(program *p, int place, acu_tensor **made)
{
    acu_device *device = p->m->devices[place >= HOST ? 0 : place];
    uint64_t way = below(p, 5);
    if (place == HOST)
        return acu_tensor_alloc_pinned(device, ACU_U32, VECTOR, made);
    if (place == PAGED)
        return make_paged(device, made);
    if (way == 0 && p->m->shares)
        return make_imported(device, made);
    if (way == 1)
        return make_exchanged(device, made);
    return way < 4 ? acu_sync(device, acu_full(VECTOR, acu_u32(0)), made)
                   : acu_tensor_alloc(device, ACU_U32, VECTOR, made);
}

static bool open_program(program *p, machine *m, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->m = m;
    p->own = m->own[seed % THREADS];
    p->seed = seed;
    p->random = (test_random){seed};
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++) {
            acu_tensor **made = &p->tensors[place][t];
            for (int i = 0; i < N; i++)
                p->model[place][t][i] = (uint32_t)(place * 1000 + t * 100 + i);
            acu_status st = make_tensor(p, place, made);
            EXPECT(p, st == ACU_OK, "a tensor");
            st = acu_write_sync(*made, p->model[place][t], sizeof p->model[place][t]);
            EXPECT(p, st == ACU_OK, "acu_write_sync");
            for (int i = 0; i < N && st != ACU_OK; i++)
                p->known[place][t][i] = ANY;
        }
    EXPECT(p, acu_queue_create(NULL, &p->queue) == ACU_OK, "a queue");
    for (int i = 0; i < GRAPHS; i++)
        EXPECT(p, load_graph(p, i) == ACU_OK, "a graph");
    return !p->failure[0];
}

static void compare_piece(program *p, int place, int tensor, int64_t begin)
{
    truth known = GOOD;
    uint32_t got[PIECE];
    acu_tensor *view = NULL;
    for (int i = 0; i < PIECE; i++)
        known = worse(known, p->known[place][tensor][begin + i]);
    slice(p, place, tensor, begin, begin + PIECE, &view);
    acu_status st = acu_read_sync(view, got, sizeof got);
    acu_tensor_release(view);
    bool lost = p->m->lossy && st == ACU_ERR_DEVICE_LOST; /* a fault takes all devices along */
    MUST(p, lost || fits(known, st), "place %d tensor %d from %d: known %d, read %s", place, tensor,
           (int)begin, (int)known, acu_status_name(st));
    if (st == ACU_OK && known < ANY)
        MUST(p, memcmp(got, &p->model[place][tensor][begin], sizeof got) == 0,
               "place %d tensor %d from %d: %u instead of %u", place, tensor, (int)begin, got[0],
               p->model[place][tensor][begin]);
}

static void close_program(program *p)
{
    for (int place = 0; place < PLACES; place++)
        for (int t = 0; t < TENSORS; t++) {
            for (int64_t begin = 0; begin < N && !p->failure[0]; begin += PIECE)
                compare_piece(p, place, t, begin);
            acu_tensor_release(p->tensors[place][t]);
        }
    acu_completion done;
    size_t count;
    while (p->queue && acu_queue_pending(p->queue) && !p->failure[0]) {
        harvest(p);
        if (acu_queue_wait(p->queue, &done, 0, &count, ACU_MS(1)) == ACU_OK)
            continue;
    }
    for (int i = 0; i < NOTES && !p->failure[0]; i++)
        MUST(p, !p->notes[i].open, "submission %d never completed", i);
    acu_queue_release(p->queue);
    for (int i = 0; i < KEPT; i++)
        acu_future_release(p->kept[i]);
    for (int i = 0; i < GRAPHS; i++)
        acu_graph_release(p->graphs[i]);
}

static void *run_program(void *user)
{
    program *p = user;
    for (p->step = 0; p->step < STEPS && !p->failure[0]; p->step++)
        do_any(p);
    close_program(p);
    return NULL;
}

/* ---- machines ---- */

/* Teaches the device that both kernels are short, for every number of launches that a task has
 * here. */
static void teach_all(const machine *m, int i)
{
    acu_config config = acu_for_num_elems(N);
    acui_dims dims = {.block = {config.block[0], config.block[1], config.block[2]},
                      .grid = {config.grid[0], config.grid[1], config.grid[2]}};
    for (uint32_t launches = 1; launches <= 4; launches++)
        test_teach(m->devices[i], test_form_of(m->steps[i], dims, launches), 1, 0, 1000);
    for (int tile = 16; tile <= 32; tile += 8) {
        dims = (acui_dims){.block = {32, 1, 1}, .grid = {(unsigned)(N / tile), 1, 1}};
        test_teach(m->devices[i], test_form_of(m->tiles[i], dims, 1), 1, 0, 1000);
    }
}

/* Which tasks are queued and batched: those that the clock shows to be short, on a busy device; or
 * those that were taught to be short; and threads of devices. */
static void issue_batches(machine *m, test_random *random)
{
    bool taught = test_below(random, 2);
    atomic_store(&acui_batch_timeless, taught);
    for (int i = 0; i < m->count; i++) {
        if (taught)
            teach_all(m, i);
        if (test_below(random, 3))
            assert_true(test_wake_thread(m->devices[i]) || m->lossy);
    }
}

static size_t choose_any(void *user, const acu_policy_stream *streams, size_t count)
{
    static _Atomic(size_t) turn;
    (void)user;
    return (atomic_fetch_add(&turn, 7) + streams[0].load) % count;
}

/* Policies of all kinds for the device. */
static void make_policies(machine *m)
{
    acu_device *device = m->devices[0];
    acu_policy_options least = {.size = sizeof least, .order = ACU_LEAST_LOADED},
                       own = {.size = sizeof own, .choose = choose_any, .streams = 3},
                       given = {.size = sizeof given, .given = m->streams, .given_count = STREAMS};
    assert_works(acu_policy_round_robin(device, 3, &m->policies[0]));
    assert_works(acu_policy_single(device, NULL, &m->policies[1]));
    assert_works(acu_policy_round_robin(device, 1, &m->policies[2]));
    assert_works(acu_policy_create(device, &least, &m->policies[3]));
    assert_works(acu_policy_create(device, &own, &m->policies[4]));
    assert_works(acu_policy_create(device, &given, &m->policies[5]));
}

/* Opens two devices, in the modes that the seed chooses. */
static void open_machine(machine *m, uint64_t seed)
{
    test_random random = {seed};
    acu_open_options options = test_options(0);
    memset(m, 0, sizeof *m);
    m->lossy = getenv("SOFTCUDA_FAULTS") != NULL;
    assert_works(acu_device_count_load(&options, &m->count));
    if (m->count > 2)
        m->count = 2;
    for (int i = 0; i < m->count; i++) {
        options = test_options(i);
        options.runtime_thread = test_below(&random, 3) == 0;
        options.max_in_flight = test_below(&random, 3) ? 0 : 1 + (unsigned)test_below(&random, 6);
        options.one_by_one = test_below(&random, 12) == 0;
        m->handed |= options.runtime_thread;
        assert_works(acu_open(&options, &m->devices[i]));
        m->steps[i] = test_kernel(m->devices[i], test_random_ptx, "step");
        m->tiles[i] = test_kernel(m->devices[i], test_random_ptx, "tiles");
        acu_pool_options pool = {.size = sizeof pool, .keep = ACU_KEEP_ALL};
        assert_works(acu_pool_create(m->devices[i], &pool, &m->pools[i]));
        if (test_below(&random, 3) == 0)
            assert_works(acu_graph_cache_limit(m->devices[i], (uint32_t)test_below(&random, 3)));
    }
    m->shares = true;
    for (int i = 0; i < m->count; i++)
        m->shares &= test_can_share(m->devices[i]);
    if (m->count < 2)
        m->devices[1] = m->devices[0];
    for (int i = 0; i < STREAMS; i++)
        assert_works(acu_stream_create(m->devices[0], 0, &m->streams[i]));
    for (int i = 0; i < THREADS; i++)
        assert_works(acu_stream_create(m->devices[0], 0, &m->own[i]));
    make_policies(m);
    issue_batches(m, &random);
}

/* For the record: how much was done. */
static uint64_t operations, queued, batched;

static void count_all(const machine *m)
{
    acu_process_statistics counters = {.size = sizeof counters};
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    acu_process_stats(&counters); /* since the process began */
    operations = counters.operations;
    queued = 0;
    for (int i = 0; i < m->count; i++) {
        queued += acui_dispatch_of(m->devices[i])->added;
        if (acu_graph_cache_stats(m->devices[i], &counts) == ACU_OK)
            batched += counts.together;
    }
}

static void close_machine(machine *m)
{
    for (int i = 0; i < STREAMS; i++)
        acu_stream_release(m->streams[i]);
    for (int i = 0; i < POLICIES; i++)
        acu_policy_release(m->policies[i]);
    for (int i = 0; i < m->count; i++) {
        acu_kernel_release(m->steps[i]);
        acu_kernel_release(m->tiles[i]);
        acu_pool_release(m->pools[i]);
        acu_status st = acu_close(m->devices[i]);
        assert_true(st == ACU_OK || (m->lossy && st == ACU_ERR_DEVICE_LOST));
    }
    acu_dlpack_drain(); /* imports know streams */
    for (int i = 0; i < THREADS; i++)
        acu_stream_release(m->own[i]);
    if (!m->lossy)
        test_leaks_none();
    char text[512]; /* a lost device keeps the driver's objects */
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("handles are left:\n%s", text);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void run_seed(uint64_t seed)
{
    static program programs[THREADS];
    pthread_t threads[THREADS];
    machine m;
    open_machine(&m, seed);
    for (int i = 0; i < THREADS; i++)
        open_program(&programs[i], &m, seed * THREADS + (uint64_t)i);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_program, &programs[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < m.count; i++) /* so that a loss is noticed, even by what was given up */
        acu_device_wait(m.devices[i], ACU_FOREVER);
    for (int i = 0; i < THREADS; i++)
        if (programs[i].failure[0])
            test_seed_failed(seed, "thread %d: %s", i, programs[i].failure);
    const char *faults = getenv("SOFTCUDA_FAULTS");
    if (faults && !strstr(faults, "=invalid") && !strstr(faults, "=out-of") &&
        acu_device_status(m.devices[0], NULL) == ACU_OK)
        assert_int_equal(acu_device_status(m.devices[1], NULL), ACU_ERR_DEVICE_LOST);
    count_all(&m);
    close_machine(&m);
}

static void random_programs_match_a_serial_model(void **state)
{
    (void)state;
    uint64_t first = test_setting("ACUDA_RANDOM_SEED", 1),
             count = test_setting("ACUDA_RANDOM_SEEDS", 6);
    for (uint64_t seed = first; seed < first + count; seed++)
        run_seed(seed);
    atomic_store(&acui_batch_timeless, false);
    print_message("%llu operations; %llu submissions were queued, and %llu batched\n",
                  (unsigned long long)operations, (unsigned long long)queued,
                  (unsigned long long)batched);
    if (!getenv("ACUDA_RANDOM_SEED"))
        assert_true(queued > 0); /* otherwise this program does not test that any more */
}

static void and_so_they_do_however_streams_interleave(void **state)
{
    (void)state;
    if (!test_is_plain())
        skip();
    for (int seed = 1; seed <= 4; seed++) {
        char setting[40];
        snprintf(setting, sizeof setting, "SOFTCUDA_SEED=%d", seed);
        test_seeds_with(setting, 100 * seed, 2);
    }
}

/* Wherever a call fails or a device is lost, everything in flight completes once, nothing wrong can
 * be read, and nothing is left over. */
static void they_end_where_calls_fail_and_devices_are_lost(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "work#300=trap",
        "device:1#90=ecc",
        "kernel:step#20=lost",
        "kernel:tiles#1=timeout; work#600=trap", /* now and then no tiles are launched */
        "copy#25=assert",
        "EventRecord#50=ecc",
        "GraphLaunch=trap",
        "fill#8+=illegal-address",
        ("StreamWaitEvent#9=invalid-value; EventRecord#70=invalid-value; "
         "EventRecord#110=invalid-value"),
        "MemAllocFromPoolAsync#40+=invalid-value",
    };
    if (!test_is_plain())
        skip();
    for (int i = 0; i < (int)(sizeof faults / sizeof faults[0]); i++) {
        char setting[160];
        snprintf(setting, sizeof setting, "SOFTCUDA_FAULTS=%s", faults[i]);
        test_seeds_with(setting, 1000 + i, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_match_a_serial_model),
        cmocka_unit_test(and_so_they_do_however_streams_interleave),
        cmocka_unit_test(they_end_where_calls_fail_and_devices_are_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
