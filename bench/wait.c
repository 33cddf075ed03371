/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Wait: how soon a thread that sleeps until a kernel is done runs again, and what that costs.
 *
 * Short kernels, with the thread in epoll_wait on a queue's descriptor: beside a host function of
 * the driver's that writes an eventfd. Long ones, with the thread in acu_sync, or in
 * acu_future_wait, which another thread could end by a cancellation: how late it is, and how much
 * processor time the whole process used meanwhile, beside a blocking event. The lateness of a wait
 * is how much longer it takes than the same launches with a thread that spins in
 * cuStreamSynchronize, in the same run. And a process that does nothing: who wakes up?
 */
#include "harness/mix.h"
#include "harness/raw.h"

#include <acuda/adapters/epoll.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { YS = 8, FORMS = 40, MOST_LENGTHS = 9, BLOCKS = 10, EACH = 20 };
static const double BUSY_POLL_US = 200.0;

typedef struct subject {
    bench *b;
    mix *m;
    acu_queue *queue, *busy; /* the latter's waits look for a while before they sleep */
    int epoll, raw_epoll, eventfd;
    int loop_epoll;
    acu_queue *attached; /* to loop_epoll, by the adapter, which looks for a while too */
    acu_epoll *adapter;
    uint64_t told;       /* the tag that the adapter delivered last */
    CUstream stream;
    CUevent blocking;
    mix_forms forms;
    double ticks_per_us;
    uint32_t ticket, form;
} subject;

/* ---- short kernels ---- */

static int draw(subject *s, uint32_t *ticket)
{
    *ticket = s->ticket++;
    return (int)(*ticket % YS);
}

static void submit_to(subject *s, acu_queue *queue, int y, uint32_t ticket)
{
    acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = ticket};
    MUST(acu_submit(s->b->device, mix_launch(s->m, y, ticket, 0), &options, NULL));
}

static void sleep_until_readable(int epoll)
{
    struct epoll_event event;
    while (epoll_wait(epoll, &event, 1, -1) != 1)
        continue;
}

static void must_be_it(const acu_completion *done, size_t count, uint32_t ticket)
{
    if (count != 1 || done->tag != ticket)
        bench_wrong("%zu completions, tag %llu instead of %u", count, (unsigned long long)done->tag,
                    ticket);
    MUST(done->status);
    acu_future_release(done->future);
}

static double epoll_acuda(void *user)
{
    subject *s = user;
    acu_completion done = {0};
    size_t count = 0;
    uint32_t ticket;
    int y = draw(s, &ticket);
    double start = bench_now_us();
    submit_to(s, s->queue, y, ticket);
    do {
        sleep_until_readable(s->epoll);
        MUST(acu_queue_take(s->queue, &done, 1, &count));
    } while (count == 0);
    double us = bench_now_us() - start;
    must_be_it(&done, count, ticket);
    mix_expect(s->m, y, ticket, 1);
    return us;
}

static double busy_acuda(void *user)
{
    subject *s = user;
    acu_completion done = {0};
    size_t count = 0;
    uint32_t ticket;
    int y = draw(s, &ticket);
    double start = bench_now_us();
    submit_to(s, s->busy, y, ticket);
    MUST(acu_queue_wait(s->busy, &done, 1, &count, ACU_FOREVER));
    double us = bench_now_us() - start;
    must_be_it(&done, count, ticket);
    mix_expect(s->m, y, ticket, 1);
    return us;
}

static void completed(void *user, const acu_completion *done, size_t count)
{
    subject *s = user;
    MUST(done[count - 1].status);
    s->told = done[count - 1].tag;
}

static double busy_loop_acuda(void *user)
{
    subject *s = user;
    struct epoll_event event;
    uint32_t ticket;
    int y = draw(s, &ticket);
    double start = bench_now_us();
    submit_to(s, s->attached, y, ticket);
    while (s->told != ticket)
        if (acu_epoll_wait(s->adapter, &event, 1, -1) != 0)
            bench_wrong("there is another event than the queue's");
    double us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, 1);
    return us;
}

static void tell(void *user)
{
    uint64_t one = 1;
    if (write(*(int *)user, &one, sizeof one) != sizeof one)
        bench_die("the eventfd can not be written");
}

static double epoll_host_function(void *user)
{
    subject *s = user;
    uint32_t ticket;
    uint64_t number;
    int y = draw(s, &ticket);
    double start = bench_now_us();
    raw_chain(s->m, s->stream, y, ticket, 1);
    MUST_CU(s->b->cu->LaunchHostFunc(s->stream, tell, &s->eventfd));
    sleep_until_readable(s->raw_epoll);
    if (read(s->eventfd, &number, sizeof number) != sizeof number || number != 1)
        bench_wrong("the host function was called %llu times", (unsigned long long)number);
    double us = bench_now_us() - start;
    MUST_CU(s->b->cu->StreamSynchronize(s->stream)); /* the host function may not be over yet */
    mix_expect(s->m, y, ticket, 1);
    return us;
}

static double spinning(void *user)
{
    subject *s = user;
    uint32_t ticket;
    int y = draw(s, &ticket);
    double start = bench_now_us();
    raw_chain(s->m, s->stream, y, ticket, 1);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    double us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, 1);
    return us;
}

static int epoll_of(int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        bench_die("no epoll");
    return epoll;
}

static void short_rows(subject *s)
{
    bench_title(s->b, "one kernel, the loop asleep until it is done");
    bench_row asleep = {.what = "asleep in epoll_wait on the queue's descriptor",
                        .sides = {{"acuda", epoll_acuda, s, 0, 0},
                                  {"host function, eventfd", epoll_host_function, s, 0.60, 1.25},
                                  {"launch, spin", spinning, s, 0, 0}}};
    bench_compare(s->b, &asleep);
    bench_row busy = {.what = "with busy-poll",
                      .sides = {{"acuda", busy_acuda, s, 0, 0},
                                {"host function, eventfd", epoll_host_function, s, 0.35, 1.25},
                                {"launch, spin", spinning, s, 0, 0}}};
    bench_compare(s->b, &busy);
    bench_row loop = {.what = "with busy-poll of an epoll loop, by its adapter",
                      .sides = {{"acuda", busy_loop_acuda, s, 0, 0},
                                {"host function, eventfd", epoll_host_function, s, 0.35, 1.25},
                                {"launch, spin", spinning, s, 0, 0}}};
    bench_compare(s->b, &loop);
    mix_verify(s->m);
}

/* ---- long kernels ---- */

typedef enum way { SYNC, FUTURE, BLOCKING_EVENT, SPIN, WAYS } way;

/* A row's lengths of work, which come in turn or at random. */
typedef struct long_row {
    const char *what;
    double us[MOST_LENGTHS];
    int lengths;
    bool random;
    bool first_time; /* every submission has a form that was never seen */
    double late_goal, share_goal; /* us; % of one core, or NAN */
} long_row;

typedef struct waits { /* of one way */
    const char *name;
    double us[BLOCKS * EACH], late[BLOCKS * EACH], cpu, wall;
    int length[BLOCKS * EACH], count;
} waits;

/* The long kernel; for a first time two short ones behind it, another pair each time. */
static int with_forms(const subject *s, const long_row *row, acu_kernel **kernels)
{
    uint32_t n = (uint32_t)s->forms.count;
    kernels[0] = s->m->slow;
    if (!row->first_time)
        return 1;
    kernels[1] = s->forms.kernels[s->form % n];
    kernels[2] = s->forms.kernels[s->form / n % n];
    return 3;
}

static acu_op *long_op(const subject *s, const mix_args *args, int y, acu_kernel **kernels,
                       int count)
{
    acu_op *ops[3];
    acu_config config = acu_for_num_elems(MIX_N);
    for (int i = 0; i < count; i++) {
        acu_arg list[] = {acu_inout(s->m->y[y]), acu_in(s->m->x[args[i].x_index]),
                          acu_u32(args[i].a), acu_u32(args[i].n), acu_u32(args[i].ticks)};
        ops[i] = acu_op_launch(kernels[i], &config, list, i == 0 ? 5 : 4, ACU_SITE);
    }
    return acu_op_zip(ops, (size_t)count, ACU_SITE);
}

static void wait_acuda(const subject *s, way how, acu_op *op)
{
    acu_future *future;
    if (how == SYNC) {
        MUST(acu_sync(s->b->device, op, NULL));
        return;
    }
    MUST(acu_submit(s->b->device, op, NULL, &future));
    MUST(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

static void wait_raw(const subject *s, way how)
{
    if (how == SPIN) {
        MUST_CU(s->b->cu->StreamSynchronize(s->stream));
        return;
    }
    MUST_CU(s->b->cu->EventRecord(s->blocking, s->stream));
    MUST_CU(s->b->cu->EventSynchronize(s->blocking));
}

static double wait_long(subject *s, const long_row *row, way how, double length)
{
    acu_kernel *kernels[3];
    mix_args args[3];
    uint32_t ticket;
    int y = draw(s, &ticket), count = with_forms(s, row, kernels);
    s->m->ticks = (uint32_t)(length * s->ticks_per_us);
    s->form += how <= FUTURE;
    double start = bench_now_us();
    for (int i = 0; i < count; i++) {
        mix_fill(s->m, &args[i], y, ticket, i);
        if (how > FUTURE)
            raw_launch(s->m, s->stream, acu_kernel_raw(kernels[i]), &args[i]);
    }
    if (how <= FUTURE)
        wait_acuda(s, how, long_op(s, args, y, kernels, count));
    else
        wait_raw(s, how);
    double us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, count);
    return us;
}

static int length_of(const long_row *row, int i)
{
    uint32_t h = (uint32_t)(i + 1) * 0x9e3779b9u;
    return (row->random ? (int)((h ^ h >> 15) >> 8 & 0xffff) : i) % row->lengths;
}

static void long_block(subject *s, const long_row *row, way how, int each, waits *w)
{
    if (how > FUTURE)
        bench_enter(s->b);
    double cpu = bench_cpu_us(), wall = bench_now_us();
    for (int i = 0; i < each; i++) {
        int length = length_of(row, w->count);
        w->length[w->count] = length;
        w->us[w->count++] = wait_long(s, row, how, row->us[length]);
    }
    w->cpu += bench_cpu_us() - cpu;
    w->wall += bench_now_us() - wall;
    if (how > FUTURE)
        bench_leave(s->b);
    else
        bench_settle(s->b);
}

/* How long each length takes a thread that spins; late is what comes on top of that. */
static void find_late(waits *w, const waits *spin, int lengths)
{
    double base[MOST_LENGTHS];
    for (int k = 0; k < lengths; k++) {
        double us[BLOCKS * EACH];
        int n = 0;
        for (int i = 0; i < spin->count; i++)
            if (spin->length[i] == k)
                us[n++] = spin->us[i];
        base[k] = n ? bench_percentile(us, n, 50) : 0;
    }
    for (int i = 0; i < w->count; i++)
        w->late[i] = w->us[i] - base[w->length[i]];
}

static void number(subject *s, const char *what, const char *of, const char *unit, double value,
                   double goal)
{
    char text[120];
    snprintf(text, sizeof text, "%s: %s", what, of);
    bench_at_most(s->b, text, unit, value, goal);
}

static double late_p50(waits *w)
{
    return bench_percentile(w->late, w->count, 50);
}

static double share(const waits *w)
{
    return 100 * w->cpu / w->wall;
}

static void report_way(subject *s, const long_row *row, waits *w, waits *event)
{
    char what[80];
    snprintf(what, sizeof what, "%s, %s", row->what, w->name);
    number(s, what, "late, p50", "us", late_p50(w), row->first_time ? NAN : row->late_goal);
    number(s, what, "late, p99", "us", bench_percentile(w->late, w->count, 99), NAN);
    number(s, what, "of one core", "%", share(w), row->share_goal);
    if (!row->first_time)
        return;
    number(s, what, "late over a blocking event's", "", late_p50(w) / late_p50(event), 1.1);
    number(s, what, "processor time over its", "", w->cpu / event->cpu, 1.1);
}

static void report_long(subject *s, const long_row *row, waits w[WAYS])
{
    waits *event = &w[BLOCKING_EVENT];
    for (int how = 0; how < SPIN; how++)
        find_late(&w[how], &w[SPIN], row->lengths);
    report_way(s, row, &w[SYNC], event);
    report_way(s, row, &w[FUTURE], event);
    number(s, row->what, "a blocking event's late, p50", "us", late_p50(event), NAN);
    number(s, row->what, "a blocking event's of one core", "%", share(event), NAN);
}

static void run_long(subject *s, const long_row *row)
{
    static waits w[WAYS];
    int blocks = bench_count(s->b, BLOCKS, 1), each = bench_count(s->b, EACH, 9);
    if (!row->first_time) { /* what repeats is known after some */
        for (int how = 0; how < WAYS; how++) {
            w[how].count = 0;
            long_block(s, row, (way)how, each, &w[how]);
        }
        MUST(acu_graph_cache_wait(s->b->device));
    }
    memset(w, 0, sizeof w);
    w[SYNC].name = "acu_sync";
    w[FUTURE].name = "acu_future_wait";
    for (int block = 0; block < blocks; block++)
        for (int i = 0; i < WAYS; i++) {
            int how = (i + block) % WAYS;
            long_block(s, row, (way)how, each, &w[how]);
        }
    report_long(s, row, w);
    mix_verify(s->m);
}

static void long_rows(subject *s)
{
    static const long_row rows[] = {
        {"5 ms, first time", {5000}, 1, false, true, 0, NAN},
        {"5 ms, repeated", {5000}, 1, false, false, 40, 4},
        {"2 and 8 ms in turn", {2000, 8000}, 2, false, false, 40, 4},
        {"5 ms, 10 % more or less",
         {4500, 4625, 4750, 4875, 5000, 5125, 5250, 5375, 5500}, 9, true, false, 250, 4},
        {"100 us, repeated", {100}, 1, false, false, 10, NAN},
        {"30 us and 5 ms in turn", {30, 5000}, 2, false, false, 20, NAN},
    };
    bench_title(s->b, "kernels of some length, waited for");
    mix_calibrate(s->m, 1000);
    s->ticks_per_us = s->m->ticks / 1000.0;
    s->forms = mix_forms_load(s->m, FORMS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run_long(s, &rows[i]);
    mix_forms_release(&s->forms);
    s->m->ticks = 0;
}

/* ---- nothing to do ---- */

static bool read_line(const char *path, const char *key, char *line, size_t bytes)
{
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file && !found && fgets(line, (int)bytes, file))
        found = strncmp(line, key, strlen(key)) == 0;
    if (file)
        fclose(file);
    return found;
}

/* How often the threads of acuda's, or all others but this one, have gone to sleep so far. */
static long count_sleeps(bool acuda)
{
    char path[300], line[256];
    long sum = 0, own = (long)getpid();
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.' || strtol(task->d_name, NULL, 10) == own)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        if (!read_line(path, "Name:", line, sizeof line) ||
            (strstr(line, "acuda") != NULL) != acuda)
            continue;
        if (read_line(path, "voluntary_ctxt_switches:", line, sizeof line))
            sum += strtol(strchr(line, ':') + 1, NULL, 10);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static void idle_rows(subject *s)
{
    bench_title(s->b, "an idle device with an idle queue");
    epoll_acuda(s);
    bench_settle(s->b);
    bench_nap_us(bench_count(s->b, 500000, 20000)); /* until whatever still ran has ended */
    double seconds = s->b->quick ? 0.05 : 2.0;
    long ours = count_sleeps(true), theirs = count_sleeps(false);
    bench_nap_us(seconds * 1e6);
    ours = count_sleeps(true) - ours;
    theirs = count_sleeps(false) - theirs;
    bench_at_most(s->b, "wake-ups of acuda's threads in 2 s", "", (double)ours, 0);
    bench_at_most(s->b, "wake-ups of other threads in 2 s, the driver's", "", (double)theirs, NAN);
}

static void open_all(subject *s)
{
    acu_queue_options options = {.size = sizeof options,
                                 .busy_poll = (uint64_t)(BUSY_POLL_US * 1000)};
    MUST(acu_queue_create(NULL, &s->queue));
    MUST(acu_queue_create(&options, &s->busy));
    MUST(acu_queue_create(NULL, &s->attached));
    s->epoll = epoll_of(acu_queue_fd(s->queue));
    s->loop_epoll = epoll_create1(EPOLL_CLOEXEC);
    s->told = UINT64_MAX;
    acu_loop_options loop = {.size = sizeof loop,
                             .fn = completed,
                             .user = ACU_USER(s),
                             .busy_poll = (uint64_t)(BUSY_POLL_US * 1000)};
    MUST(acu_epoll_start(s->loop_epoll, (epoll_data_t){.ptr = s}, s->attached, &loop, &s->adapter));
    s->eventfd = eventfd(0, EFD_CLOEXEC);
    s->raw_epoll = epoll_of(s->eventfd);
    bench_enter(s->b);
    s->stream = raw_stream(s->b);
    MUST_CU(s->b->cu->EventCreate(&s->blocking,
                                  ACU_CU_EVENT_BLOCKING_SYNC | ACU_CU_EVENT_DISABLE_TIMING));
    bench_leave(s->b);
}

static void close_all(subject *s)
{
    acu_epoll_stop(s->adapter);
    acu_queue_release(s->attached);
    close(s->loop_epoll);
    close(s->epoll);
    close(s->raw_epoll);
    close(s->eventfd);
    acu_queue_release(s->queue);
    acu_queue_release(s->busy);
    bench_enter(s->b);
    MUST_CU(s->b->cu->EventDestroy(s->blocking));
    MUST_CU(s->b->cu->StreamDestroy(s->stream));
    bench_leave(s->b);
}

int main(int argc, char **argv)
{
    bench b = bench_open("wait", argc, argv, NULL);
    mix m = mix_open(&b, YS);
    subject s = {.b = &b, .m = &m};
    open_all(&s);
    short_rows(&s);
    long_rows(&s);
    idle_rows(&s);
    close_all(&s);
    mix_close(&m);
    return bench_close(&b);
}
