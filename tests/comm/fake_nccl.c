/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library that poses as NCCL for the software device, among ranks of one process. As NCCL's, its
 * communicators are made once all ranks have come; collectives run on streams, in the order of the
 * calls, and wait there for the same call of the other ranks, so that wrong orders hang; sends and
 * receives of one group run at once, others one after the other. What the ranks say of a collective
 * is compared.
 */
#include "../vendor/fake.h"

#include <time.h>

enum { SUCCESS, SYSTEM = 2, INTERNAL, INVALID_ARGUMENT, INVALID_USAGE, REMOTE, MOST = 16 };
enum { SUM, PROD, MAX, MIN, MEAN };
enum { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE };

static fake_driver fake;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct id {
    char bytes[128];
} id;

typedef struct call {
    int kind, type, op, root; /* the peer, of a send or receive */
    size_t count;
    const char *in;
    char *out;
    struct comm *comm;
    void *stream;
} call;

/* One collective: what each rank said of it. */
typedef struct meeting {
    struct meeting *next;
    long number;
    int arrived, left;
    bool broken; /* one that had arrived was aborted: it never is complete */
    call calls[MOST];
} meeting;

/* A message that was sent and not received. */
typedef struct message {
    struct message *next;
    const char *data;
    size_t bytes;
    int from, to;
    bool taken;
} message;

typedef struct clique {
    struct clique *next;
    char name[128];
    int ranks, joined, gone;
    bool broken; /* what comes never ends, unless it is aborted */
    meeting *meetings;
    message *messages;
} clique;

typedef struct comm {
    clique *of;
    int rank;
    long calls;
    bool aborted;
    int error; /* to be reported */
    _Atomic(int) inside; /* threads that call something about it */
    int running;         /* what of it is on streams; lock */
} comm;

static clique *cliques;
static int given_up; /* those who wait for ranks that do not come go */
static _Atomic(int) report;

/* ---- for tests ------------------------------------------------------------------------------- */

void fake_nccl_report(int error); /* asynchronously, by all; 0: no more */
void fake_nccl_give_up(int now); /* also those that begin to wait; 0: no more */

void fake_nccl_report(int error)
{
    atomic_store(&report, error);
}

void fake_nccl_give_up(int now)
{
    pthread_mutex_lock(&lock);
    given_up = now;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static bool is_float(int type)
{
    return type >= 6;
}

static double real_at(int type, const char *at, size_t i)
{
    static const int types[] = {[6] = FAKE_R_16F, FAKE_R_32F, FAKE_R_64F, FAKE_R_16BF};
    return fake_get(types[type], at, (long long)i);
}

static uint64_t whole_at(int type, const char *at, size_t i)
{
    uint64_t value = 0;
    size_t bytes = sizes[type];
    memcpy(&value, at + i * bytes, bytes);
    bool is_signed = type % 2 == 0;
    if (is_signed && bytes < 8 && value >> (8 * bytes - 1))
        value |= UINT64_MAX << (8 * bytes);
    return value;
}

static uint64_t whole(int op, bool is_signed, uint64_t a, uint64_t b)
{
    bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    return op == SUM ? a + b : op == PROD ? a * b : (op == MIN) == less ? a : b;
}

static double real(int op, double a, double b)
{
    return op == SUM || op == MEAN ? a + b : op == PROD ? a * b : (op == MIN) == (a < b) ? a : b;
}

/* Element `from` of what the ranks give, into element `to`. */
static void reduce_one(const meeting *m, int ranks, size_t from, char *out, size_t to)
{
    const call *c = m->calls;
    static const int types[] = {[6] = FAKE_R_16F, FAKE_R_32F, FAKE_R_64F, FAKE_R_16BF};
    if (is_float(c->type)) {
        double x = real_at(c->type, m->calls[0].in, from);
        for (int r = 1; r < ranks; r++)
            x = real(c->op, x, real_at(c->type, m->calls[r].in, from));
        x = c->op == MEAN ? x / ranks : x;
        fake_put(types[c->type], out, (long long)to, x);
        return;
    }
    uint64_t x = whole_at(c->type, m->calls[0].in, from);
    for (int r = 1; r < ranks; r++)
        x = whole(c->op, c->type % 2 == 0, x, whole_at(c->type, m->calls[r].in, from));
    memcpy(out + to * sizes[c->type], &x, sizes[c->type]);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static size_t in_count(const call *c)
{
    return c->kind == REDUCE_SCATTER ? c->count * (size_t)c->comm->of->ranks : c->count;
}

static size_t out_count(const call *c)
{
    return c->kind == ALL_GATHER ? c->count * (size_t)c->comm->of->ranks : c->count;
}

static bool reads(const call *c)
{
    return c->kind != BROADCAST || c->root == c->comm->rank;
}

static bool writes(const call *c)
{
    return c->kind != REDUCE || c->root == c->comm->rank;
}

/* Addresses become the host's. */
static bool find_memory(meeting *m, int ranks)
{
    bool found = true;
    for (int r = 0; r < ranks; r++) {
        call *c = &m->calls[r];
        size_t bytes = sizes[c->type];
        c->in = reads(c) ? fake_input(&fake, c->in, in_count(c) * bytes) : NULL;
        c->out = writes(c) ? fake_memory(&fake, c->out, out_count(c) * bytes) : NULL;
        found &= (c->in || !reads(c)) && (c->out || !writes(c));
    }
    return found;
}

/* In place, what is read is written; so the results are made apart first. */
static void compute(meeting *m, int ranks)
{
    if (!find_memory(m, ranks))
        return;
    char *results[MOST];
    const call *first = m->calls;
    size_t size = sizes[first->type], n = first->count;
    for (int r = 0; r < ranks; r++) {
        const call *c = &m->calls[r];
        results[r] = malloc(out_count(c) * size + 1);
        for (size_t i = 0; i < n && writes(c); i++)
            if (c->kind == ALL_GATHER)
                for (size_t j = 0; j < (size_t)ranks; j++)
                    memcpy(results[r] + (j * n + i) * size, m->calls[j].in + i * size, size);
            else if (c->kind == BROADCAST)
                memcpy(results[r] + i * size, m->calls[c->root].in + i * size, size);
            else
                reduce_one(m, ranks, c->kind == REDUCE_SCATTER ? (size_t)r * n + i : i, results[r],
                           i);
    }
    for (int r = 0; r < ranks; r++) {
        const call *c = &m->calls[r];
        if (writes(c))
            memcpy(c->out, results[r], out_count(c) * size);
        free(results[r]);
    }
}

static bool agree(const meeting *m, int ranks)
{
    for (int r = 1; r < ranks; r++) {
        const call *a = &m->calls[0], *b = &m->calls[r];
        if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->root != b->root ||
            a->count != b->count)
            return false;
    }
    return true;
}

static meeting *meeting_of(clique *q, long number)
{
    meeting *m = q->meetings;
    while (m && m->number != number)
        m = m->next;
    if (m)
        return m;
    m = calloc(1, sizeof *m);
    m->number = number;
    m->next = q->meetings;
    q->meetings = m;
    return m;
}

static void leave_meeting(clique *q, meeting *m)
{
    if (++m->left < m->arrived)
        return;
    meeting **link = &q->meetings;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    free(m);
}

typedef struct collective {
    call call;
    long number;
} collective;

/* On the rank's stream. */
static void run_collective(fake_driver *driver, const void *data)
{
    (void)driver;
    const collective *c = data;
    comm *self = c->call.comm;
    clique *q = self->of;
    pthread_mutex_lock(&lock);
    meeting *m = meeting_of(q, c->number);
    m->calls[self->rank] = c->call;
    if (++m->arrived == q->ranks && !m->broken) {
        if (agree(m, q->ranks))
            compute(m, q->ranks);
        else
            q->broken = true;
        pthread_cond_broadcast(&changed);
    }
    while (!self->aborted && (m->arrived < q->ranks || m->broken || q->broken))
        pthread_cond_wait(&changed, &lock);
    if (m->arrived == q->ranks)
        leave_meeting(q, m); /* one that never was complete stays until the clique ends */
    self->running--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- messages -------------------------------------------------------------------------------- */

typedef struct exchange {
    comm *self;
    int count;
    call calls[2 * MOST];
} exchange;

static message *take(clique *q, int from, int to)
{
    message *found = NULL;
    for (message *m = q->messages; m; m = m->next) /* the oldest is the last */
        if (m->from == from && m->to == to && !m->taken)
            found = m;
    return found;
}

static void receive_one(comm *self, const call *c)
{
    size_t bytes = c->count * sizes[c->type];
    message *m;
    while (!(m = take(self->of, c->root, self->rank)) && !self->aborted)
        pthread_cond_wait(&changed, &lock);
    if (!m)
        return;
    char *to = fake_memory(&fake, c->out, bytes);
    atomic_fetch_add(&fake.refused, m->bytes != bytes);
    if (to && m->data && m->bytes == bytes)
        memcpy(to, m->data, bytes);
    m->taken = true;
    pthread_cond_broadcast(&changed);
}

static void unlink_message(clique *q, message *m)
{
    message **link = &q->messages;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    free(m);
}

static void run_exchange(fake_driver *driver, const void *data)
{
    const exchange *e = data;
    comm *self = e->self;
    clique *q = self->of;
    message *sent[2 * MOST] = {NULL};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < e->count; i++) {
        const call *c = &e->calls[i];
        size_t bytes = c->count * sizes[c->type];
        if (c->kind != SEND)
            continue;
        sent[i] = calloc(1, sizeof **sent);
        *sent[i] = (message){q->messages, fake_input(driver, c->in, bytes), bytes, self->rank,
                             c->root, false};
        q->messages = sent[i];
    }
    pthread_cond_broadcast(&changed);
    for (int i = 0; i < e->count; i++)
        if (e->calls[i].kind == RECEIVE)
            receive_one(self, &e->calls[i]);
    for (int i = 0; i < e->count; i++) {
        while (sent[i] && !sent[i]->taken && !self->aborted)
            pthread_cond_wait(&changed, &lock);
        if (sent[i])
            unlink_message(q, sent[i]);
    }
    self->running--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- groups, of a thread --------------------------------------------------------------------- */

typedef struct joining {
    comm *made;
    comm **where;
} joining;

/* Of a thread; no thread-local variable, as the thread sanitizer sees races in how those of a
 * library that was loaded later are given back. */
typedef struct group {
    int depth, join_count, call_count, error;
    joining joins[MOST];
    call calls[8 * MOST * MOST];
} group;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    pthread_key_create(&key, free);
}

static group *mine(void)
{
    pthread_once(&key_once, make_key);
    group *g = pthread_getspecific(key);
    if (!g) {
        g = calloc(1, sizeof *g);
        pthread_setspecific(key, g);
    }
    return g;
}

/* `work` on the stream, which counts as running until it is over. */
static int start(comm *self, void *stream, void (*work)(fake_driver *, const void *),
                 const void *data, size_t bytes)
{
    pthread_mutex_lock(&lock);
    self->running++;
    pthread_mutex_unlock(&lock);
    int status = fake_enqueue(stream, work, data, bytes, INTERNAL);
    pthread_mutex_lock(&lock);
    self->running -= status != 0;
    pthread_mutex_unlock(&lock);
    return status;
}

static int enqueue_messages(int from)
{
    exchange e = {.self = mine()->calls[from].comm};
    void *stream = mine()->calls[from].stream;
    for (int i = from; i < mine()->call_count; i++) {
        call *c = &mine()->calls[i];
        if (c->kind < SEND || c->comm != e.self)
            continue;
        if (e.count == 2 * MOST)
            return INTERNAL;
        e.calls[e.count++] = *c;
        c->comm = NULL; /* done */
    }
    return start(e.self, stream, run_exchange, &e, sizeof e);
}

static int enqueue_all(void)
{
    int status = mine()->call_count ? atomic_load(&fake.fail_call) : 0;
    for (int i = 0; i < mine()->call_count && status == 0; i++) {
        call *c = &mine()->calls[i];
        if (!c->comm)
            continue;
        if (c->kind >= SEND) {
            status = enqueue_messages(i);
            continue;
        }
        collective one = {*c, c->comm->calls++};
        status = start(c->comm, c->stream, run_collective, &one, sizeof one);
    }
    return status;
}

static int join_all(void)
{
    int status = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < mine()->join_count; i++)
        mine()->joins[i].made->of->joined++;
    pthread_cond_broadcast(&changed);
    for (int i = 0; i < mine()->join_count; i++) {
        clique *q = mine()->joins[i].made->of;
        while (q->joined < q->ranks && !given_up)
            pthread_cond_wait(&changed, &lock);
        if (q->joined < q->ranks)
            status = REMOTE;
    }
    for (int i = 0; i < mine()->join_count; i++)
        *mine()->joins[i].where = mine()->joins[i].made;
    pthread_mutex_unlock(&lock);
    return status;
}

static int end_group(void)
{
    int status = mine()->error;
    if (status == 0 && mine()->join_count)
        status = join_all();
    if (status == 0)
        status = enqueue_all();
    mine()->join_count = mine()->call_count = mine()->error = 0;
    return status;
}

int ncclGroupStart(void);
int ncclGroupEnd(void);

int ncclGroupStart(void)
{
    mine()->depth++;
    return SUCCESS;
}

int ncclGroupEnd(void)
{
    if (mine()->depth == 0)
        return INVALID_USAGE;
    return --mine()->depth == 0 ? end_group() : SUCCESS;
}

/* ---- communicators --------------------------------------------------------------------------- */

int ncclGetVersion(int *version);
int ncclGetUniqueId(id *made);
int ncclCommInitRank(comm **made, int ranks, id name, int rank);
int ncclCommDestroy(comm *c);
int ncclCommAbort(comm *c);
int ncclCommGetAsyncError(comm *c, int *error);
const char *ncclGetLastError(const comm *c);

int ncclGetVersion(int *version)
{
    *version = 22705;
    return SUCCESS;
}

/* By the variable NCCL_COMM_ID all get the same. */
int ncclGetUniqueId(id *made)
{
    static _Atomic(int) count;
    const char *text = getenv("NCCL_COMM_ID");
    memset(made, 0, sizeof *made);
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    if (text)
        strncpy(made->bytes + 8, text, 100);
    else
        made->bytes[0] = (char)(1 + atomic_fetch_add(&count, 1) % 100);
    return SUCCESS;
}

static clique *clique_of(const id *name, int ranks)
{
    clique *q = cliques;
    while (q && (memcmp(q->name, name, sizeof q->name) != 0 || q->joined >= q->ranks))
        q = q->next;
    if (q)
        return q;
    q = calloc(1, sizeof *q);
    memcpy(q->name, name, sizeof q->name);
    q->ranks = ranks;
    q->next = cliques;
    cliques = q;
    return q;
}

int ncclCommInitRank(comm **made, int ranks, id name, int rank)
{
    int status = atomic_load(&fake.fail_create);
    if (status)
        return mine()->error = status;
    if (ranks < 1 || ranks > MOST || rank < 0 || rank >= ranks)
        return mine()->error = INVALID_ARGUMENT;
    comm *c = calloc(1, sizeof *c);
    pthread_mutex_lock(&lock);
    c->of = clique_of(&name, ranks);
    c->rank = rank;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake.created, 1);
    ncclGroupStart();
    mine()->joins[mine()->join_count++] = (joining){c, made};
    return ncclGroupEnd();
}

static void end_comm(comm *c)
{
    clique *q = c->of;
    while (c->running)
        pthread_cond_wait(&changed, &lock);
    free(c);
    atomic_fetch_add(&fake.destroyed, 1);
    if (++q->gone < q->joined)
        return;
    clique **link = &cliques;
    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    while (q->meetings) {
        meeting *next = q->meetings->next;
        free(q->meetings);
        q->meetings = next;
    }
    free(q);
}

int ncclCommDestroy(comm *c)
{
    pthread_mutex_lock(&lock);
    end_comm(c);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int ncclCommAbort(comm *c)
{
    pthread_mutex_lock(&lock);
    c->aborted = true;
    for (meeting *m = c->of->meetings; m; m = m->next)
        m->broken |= m->arrived < c->of->ranks && m->calls[c->rank].comm == c;
    pthread_cond_broadcast(&changed);
    end_comm(c);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int ncclCommGetAsyncError(comm *c, int *error)
{
    (void)c;
    *error = atomic_load(&report);
    return SUCCESS;
}

const char *ncclGetLastError(const comm *c)
{
    (void)c;
    return "the fake says so";
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int add(call c)
{
    comm *self = c.comm;
    bool right = self && c.type >= 0 && c.type <= 9 && c.root >= 0 && c.root < self->of->ranks &&
                 c.op >= SUM && c.op <= (is_float(c.type) ? MEAN : MIN) &&
                 mine()->call_count < 8 * MOST * MOST;
    atomic_fetch_add(&fake.refused, !right);
    if (!right)
        return mine()->error = INVALID_ARGUMENT;
    if (atomic_fetch_add(&self->inside, 1))
        atomic_fetch_add(&fake.overlaps, 1);
    ncclGroupStart();
    mine()->calls[mine()->call_count++] = c;
    int status = ncclGroupEnd();
    atomic_fetch_sub(&self->inside, 1);
    return status;
}

int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, comm *c, void *stream);
int ncclReduce(const void *in, void *out, size_t n, int type, int op, int root, comm *c,
               void *stream);
int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, comm *c, void *stream);
int ncclAllGather(const void *in, void *out, size_t n, int type, comm *c, void *stream);
int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op, comm *c,
                      void *stream);
int ncclSend(const void *in, size_t n, int type, int to, comm *c, void *stream);
int ncclRecv(void *out, size_t n, int type, int from, comm *c, void *stream);

int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, comm *c, void *stream)
{
    return add((call){ALL_REDUCE, type, op, 0, n, in, out, c, stream});
}

int ncclReduce(const void *in, void *out, size_t n, int type, int op, int root, comm *c,
               void *stream)
{
    return add((call){REDUCE, type, op, root, n, in, out, c, stream});
}

int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, comm *c, void *stream)
{
    return add((call){BROADCAST, type, SUM, root, n, in, out, c, stream});
}

int ncclAllGather(const void *in, void *out, size_t n, int type, comm *c, void *stream)
{
    return add((call){ALL_GATHER, type, SUM, 0, n, in, out, c, stream});
}

int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op, comm *c,
                      void *stream)
{
    return add((call){REDUCE_SCATTER, type, op, 0, n, in, out, c, stream});
}

int ncclSend(const void *in, size_t n, int type, int to, comm *c, void *stream)
{
    return add((call){SEND, type, SUM, to, n, in, NULL, c, stream});
}

int ncclRecv(void *out, size_t n, int type, int from, comm *c, void *stream)
{
    return add((call){RECEIVE, type, SUM, from, n, NULL, out, c, stream});
}
