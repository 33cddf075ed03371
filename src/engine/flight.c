/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is on the devices: streams with tasks, and when it pays to look at each. */
#include "base/clock.h"
#include "engine/flight.h"

#define LOOK_GAP ACU_US(20)  /* between two questions of the reactor's to the driver: they slow down
                              * those who submit */
#define ARMED 16             /* streams whose flags the reactor watches */
#define LOOK_MOST ACU_US(4)  /* of one take: with many streams the next one goes on */
#define SPIN ACU_US(100)     /* the reactor's, for work of unknown length */
#define NAP_LEAST ACU_US(20)
#define NAP_MOST ACU_MS(1)
#define LAZY ACU_MS(5)       /* between looks that nobody waits for */
#define FAULT ACU_MS(50)     /* between looks at what is foreseen: a fault may end it any time */
#define IDLE ACU_MS(20)      /* after that a stream with nothing on it is let go */
#define SHORT_GAP ACU_US(50) /* until more short work comes: it pays to stay awake */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the reactor */
    bool prepared;
    bool alone;          /* on one core */
    bool sleeping;       /* the reactor is, ... */
    uint64_t until;      /* ... so long */
    uint64_t called;     /* it was to look at this time, but was awake: since its last acui_flight_due */
    acu_stream *active;  /* streams with tasks, or that had some a while ago; each retained */
    uint64_t sequence;   /* tasks so far */
    uint64_t over_at;    /* when the last was over that somebody wanted to be told of */
    uint64_t gap;        /* between that and the next one, on average; never over 2 SHORT_GAP */
    uint64_t length;     /* of these, on average; never over 2 ACUI_LONG */
    uint64_t expected;   /* until then something short may come any moment */
} flight = {.lock = PTHREAD_MUTEX_INITIALIZER, .called = ACU_FOREVER, .gap = SHORT_GAP};

/* What the reactor watches without the lock; it alone lets go of streams. */
static struct {
    acu_stream *list[ARMED];
    size_t count;
} armed;

static _Atomic(uint64_t) changes; /* of the list; relaxed: a hint to stop pausing */

void acui_flight_lock(void)
{
    pthread_mutex_lock(&flight.lock);
    if (!flight.prepared) {
        acui_cond_init(&flight.wake);
        flight.prepared = true;
    }
}

void acui_flight_unlock(void)
{
    pthread_mutex_unlock(&flight.lock);
}

void acui_flight_wait(pthread_cond_t *changed)
{
    pthread_cond_wait(changed, &flight.lock);
}

bool acui_flight_any(void)
{
    return flight.active != NULL;
}

void acui_flight_one_core(bool alone)
{
    flight.alone = alone;
}

/* ---- the reactor's sleep ---- */

void acui_flight_sleep(uint64_t time)
{
    if (flight.called < time) /* between acui_flight_due, which said so long, and now */
        time = flight.called;
    flight.sleeping = true;
    flight.until = time;
    acui_cond_wait_until(&flight.wake, &flight.lock, time);
    flight.sleeping = false;
}

/* Lock held. */
static void wake_before(uint64_t time)
{
    if (!flight.sleeping) {
        flight.called = time < flight.called ? time : flight.called;
        return;
    }
    if (flight.until <= time)
        return;
    flight.sleeping = false; /* once is enough */
    pthread_cond_signal(&flight.wake);
}

void acui_flight_wake(void)
{
    acui_flight_lock();
    wake_before(0);
    acui_flight_unlock();
}

void acui_flight_expect(void)
{
    acui_flight_lock();
    if (flight.length < ACUI_LONG) {
        flight.expected = acui_now() + SHORT_GAP;
        wake_before(0);
    }
    acui_flight_unlock();
}

uint64_t acui_flight_expected(void)
{
    return flight.alone ? 0 : flight.expected;
}

uint64_t acui_flight_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_relaxed);
}

bool acui_flight_is_written(void)
{
    for (size_t i = 0; i < armed.count; i++)
        if (acui_stream_flag_passed(armed.list[i]))
            return true;
    return false;
}

/* ---- when to look; lock held ---- */

/* Relaxed: the number is looked at again and again. */
static bool is_full(const acui_gate *gate)
{
    return atomic_load_explicit(&gate->waiting, memory_order_relaxed) > 0;
}

static bool is_wanted(const acu_stream *stream)
{
    return stream->first_task && (stream->first_task->number <= stream->wanted ||
                                  is_full(&stream->gate) || is_full(&stream->device->gate) ||
                                  acui_memory_is_short());
}

static bool is_armed(const acu_stream *stream)
{
    return stream->first_task && stream->first_task->number <= stream->armed;
}

static uint64_t start_of(const acu_stream *stream)
{
    uint64_t issued = stream->first_task->issued_at;
    return issued > stream->over_at ? issued : stream->over_at;
}

/* The time of the first known end that is not passed, or a time before `now` if it is about now; 0:
 * none is known. */
static uint64_t next_end(acui_task *task, uint64_t start, uint64_t now, bool *sure)
{
    uint64_t lengths[ACUI_LENGTHS], age = now > start ? now - start : 0;
    if (!task->form)
        task->form = acui_form_of(task);
    size_t n = acui_lengths_find(task->form, lengths, sure);
    for (size_t i = 0; i < n; i++) {
        uint64_t margin = ACU_US(20) + lengths[i] / 128; /* a timer's sleep, and a length, vary */
        if (age <= lengths[i] + margin)
            return lengths[i] > margin ? start + lengths[i] - margin : start;
    }
    return 0;
}

uint64_t acui_flight_next_look(acu_stream *stream, uint64_t now, uint64_t spin)
{
    acui_task *task = stream->first_task;
    if (!task)
        return ACU_FOREVER;
    bool sure = false;
    uint64_t start = start_of(stream), end = next_end(task, start, now, &sure);
    uint64_t age = now > start ? now - start : 0;
    if (end && (sure || end <= now))
        return end < now + FAULT ? end : now + FAULT;
    if (!end && age < spin)
        return now;
    /* It may also end sooner than the first of its lengths, if that is not sure. */
    if (stream->waited_for >= task->number || acui_blocked_ask(stream, task->number))
        return end ? end : ACU_FOREVER;
    uint64_t nap = age / 8;
    return now + (nap < NAP_LEAST ? NAP_LEAST : nap > NAP_MOST ? NAP_MOST : nap);
}

uint64_t acui_flight_wait_for(acu_stream *stream, uint64_t now, uint64_t spin)
{
    acui_flight_lock();
    uint64_t next = stream->first_task ? acui_flight_next_look(stream, now, spin) : 0;
    if (next != ACU_FOREVER && next > stream->tended)
        stream->tended = next; /* by who waits: until then the reactor need not */
    acui_flight_unlock();
    return next;
}

uint64_t acui_flight_wait_for_any(uint64_t now, uint64_t spin)
{
    uint64_t first = 0;
    acui_flight_lock();
    for (acu_stream *stream = flight.active; stream; stream = stream->next_active) {
        uint64_t next = stream->first_task ? acui_flight_next_look(stream, now, spin) : 0;
        first = first == 0 || (next && next < first) ? next : first;
    }
    acui_flight_unlock();
    return first;
}

acu_stream *acui_flight_last_of(const acui_submission *submission)
{
    if (submission->lane_count != 1)
        return NULL;
    acu_stream *stream = submission->lanes[0].stream;
    acui_flight_lock();
    const acui_task *last = stream->last_task;
    bool is_last = last && last->submission == submission;
    acui_flight_unlock();
    return is_last ? stream : NULL;
}

/* The reactor's next look; it leaves streams alone that others look at. */
static uint64_t due_at(acu_stream *stream, uint64_t now)
{
    if (!stream->first_task)
        return stream->looked_at + IDLE;
    if (!is_wanted(stream)) {
        if (stream->waited_for >= stream->first_task->number)
            return ACU_FOREVER; /* the blocked thread wakes the reactor */
        uint64_t last = stream->tended > stream->looked_at ? stream->tended : stream->looked_at;
        return last + LAZY;
    }
    if (is_armed(stream) && acui_stream_flag_passed(stream))
        return now;
    uint64_t next = acui_flight_next_look(stream, now, SPIN);
    uint64_t gap = stream->looked_at + (flight.alone ? NAP_LEAST : LOOK_GAP);
    return next > gap ? next : gap;
}

/* ---- tasks ---- */

static uint64_t average(uint64_t old, uint64_t new, uint64_t most)
{
    return (3 * old + (new < most ? new : most)) / 4;
}

static void note_wanted(acu_stream *stream, uint64_t now)
{
    stream->wanted = stream->last_task->number;
    wake_before(due_at(stream, now));
}

bool acui_flight_is_told(const acui_task *task)
{
    /* seq_cst, with acui_flight_want_future: one of the two sees the other. */
    const acu_future *future = task->submission->future;
    return future && atomic_load(&future->told);
}

void acui_flight_add(acu_stream *stream, acui_task *task, bool is_armed)
{
    uint64_t now = acui_now();
    acui_flight_lock();
    task->issued_at = now;
    task->sequence = ++flight.sequence;
    if (stream->last_task)
        stream->last_task->next_on_stream = task;
    else
        stream->first_task = task;
    stream->last_task = task;
    if (!stream->active) {
        stream->active = true;
        stream->looked_at = now;
        acu_stream_retain(stream);
        acu_device_retain(stream->device); /* a pooled stream does not hold it */
        stream->next_active = flight.active;
        flight.active = stream;
        wake_before(now + IDLE);
    }
    if (is_armed)
        stream->armed = task->number;
    if (task->awaited || acui_flight_is_told(task)) {
        if (flight.over_at)
            flight.gap = average(flight.gap, now - flight.over_at, 2 * SHORT_GAP);
        flight.over_at = 0;
        note_wanted(stream, now);
        atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
    }
    acui_flight_unlock();
}

void acui_flight_full(void)
{
    acui_flight_lock();
    wake_before(acui_now() + LOOK_GAP);
    acui_flight_unlock();
}

void acui_flight_want(acu_stream *stream)
{
    acui_flight_lock();
    if (stream->first_task)
        note_wanted(stream, acui_now());
    acui_flight_unlock();
}

void acui_flight_want_all(void)
{
    acui_flight_lock();
    uint64_t now = acui_now();
    for (acu_stream *stream = flight.active; stream; stream = stream->next_active)
        if (stream->first_task)
            note_wanted(stream, now);
    acui_flight_unlock();
}

void acui_flight_want_future(acu_future *future)
{
    atomic_store(&future->told, true);
    if (atomic_load(&future->state) != ACUI_FUTURE_RUNNING)
        return;
    const acui_submission *s = future->submission;
    for (size_t i = 0; i < s->lane_count; i++)
        acui_flight_want(s->lanes[i].stream);
}

/* Tasks are over that the reactor, or somebody else, was to tell of. */
static void note_over(acu_stream *stream, const acui_task *first, uint64_t last, uint64_t now)
{
    bool told = first->number <= stream->wanted;
    if (told) {
        uint64_t start = start_of(stream);
        flight.length = average(flight.length, now > start ? now - start : 0, 2 * ACUI_LONG);
    }
    if (!told || last < stream->wanted)
        return; /* more of them are to come */
    flight.over_at = now;
    if (flight.gap < SHORT_GAP && flight.length < ACUI_LONG)
        flight.expected = now + SHORT_GAP;
}

/* One task is over, and how long it took is known as well as the time of the last look. */
static void learn(acu_stream *stream, acui_task *task, uint64_t now)
{
    uint64_t start = start_of(stream), since = stream->looked_at > start ? stream->looked_at : start;
    if (now < start + ACUI_LEARNED || now < since)
        return;
    if (!task->form)
        task->form = acui_form_of(task);
    acui_lengths_learn(task->form, now - start, now - since);
}

acui_task *acui_flight_passed(acu_stream *stream, bool all)
{
    uint64_t now = acui_now(), last = 0;
    acui_flight_lock();
    acui_task *first = stream->first_task, **end = &stream->first_task;
    while (*end && (all || acui_stream_passed(stream, (*end)->number))) {
        last = (*end)->number;
        end = &(*end)->next_on_stream;
    }
    if (end == &stream->first_task) {
        first = NULL;
    } else {
        if (end == &first->next_on_stream && !all)
            learn(stream, first, now);
        note_over(stream, first, last, now);
        acui_task *rest = *end;
        *end = NULL; /* cuts the list that is given away */
        stream->first_task = rest;
        if (!rest)
            stream->last_task = NULL;
        stream->over_at = now;
    }
    stream->looked_at = now;
    acui_flight_unlock();
    return first;
}

void acui_flight_heads(const acu_device *device, void (*look)(const acui_task *, void *),
                       void *context)
{
    acui_flight_lock();
    for (acu_stream *stream = flight.active; stream; stream = stream->next_active) {
        const acui_task *task = stream->device == device ? stream->first_task : NULL;
        while (task && acui_stream_passed(stream, task->number))
            task = task->next_on_stream;
        if (task)
            look(task, context);
    }
    acui_flight_unlock();
}

/* ---- streams ---- */

static void retain(acu_stream *stream)
{
    acu_device_retain(stream->device);
    acu_stream_retain(stream);
}

void acui_flight_let_go(acu_stream *const *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        acu_device *device = streams[i]->device;
        acu_stream_release(streams[i]);
        acu_device_release(device);
    }
}

size_t acui_flight_due(acu_stream **streams, size_t most, uint64_t now, uint64_t *next)
{
    size_t n = 0;
    *next = flight.called = ACU_FOREVER;
    armed.count = 0;
    for (acu_stream **link = &flight.active; *link;) {
        acu_stream *stream = *link;
        uint64_t due = due_at(stream, now);
        if (is_armed(stream) && armed.count < ARMED)
            armed.list[armed.count++] = stream;
        if (due > now || n == most) {
            *next = due < *next ? due : *next;
        } else {
            streams[n++] = stream;
            if (!stream->first_task) { /* takes the list's references */
                *link = stream->next_active;
                stream->active = false;
                continue;
            }
            retain(stream);
        }
        link = &stream->next_active;
    }
    return n;
}

void acui_flight_drop_idle(void)
{
    for (bool more = true; more;) {
        acu_stream *stream = NULL;
        acui_flight_lock();
        for (acu_stream **link = &flight.active; *link && !stream; link = &(*link)->next_active)
            if (!(*link)->first_task) {
                stream = *link;
                *link = stream->next_active;
                stream->active = false;
                break;
            }
        more = stream != NULL;
        acui_flight_unlock();
        acui_flight_let_go(&stream, more);
    }
}

/* The stream with work that nobody has looked at for longest, before `limit`; retained. */
static acu_stream *take_oldest(uint64_t limit)
{
    acu_stream *oldest = NULL;
    acui_flight_lock();
    for (acu_stream *stream = flight.active; stream; stream = stream->next_active)
        if (stream->first_task && stream->looked_at < limit &&
            (!oldest || stream->looked_at < oldest->looked_at))
            oldest = stream;
    if (oldest)
        retain(oldest);
    acui_flight_unlock();
    return oldest;
}

void acui_look_for(const _Atomic(bool) *found)
{
    uint64_t start = acui_now(), now = start;
    acu_stream *stream;
    /* Relaxed: a hint; what was found is read under a lock. */
    while (!atomic_load_explicit(found, memory_order_relaxed) && now - start < LOOK_MOST &&
           (stream = take_oldest(start))) {
        acui_harvest(stream);
        acui_flight_let_go(&stream, 1);
        now = acui_now();
    }
}

void acui_look_everywhere(void)
{
    enum { BATCH = 64 };
    acu_stream *batch[BATCH];
    size_t skip = 0, n;
    do {
        n = 0;
        acui_flight_lock();
        acu_stream *stream = flight.active;
        for (size_t i = 0; i < skip && stream; i++)
            stream = stream->next_active;
        for (; stream && n < BATCH; stream = stream->next_active, skip++)
            if (stream->first_task) {
                retain(stream);
                batch[n++] = stream;
            }
        acui_flight_unlock();
        for (size_t i = 0; i < n; i++)
            acui_harvest(batch[i]);
        acui_flight_let_go(batch, n);
    } while (n == BATCH);
}
