/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that poses as cuFFT for the software device: transforms by definition, in double. */
#include "../vendor/fake.h"

enum { SUCCESS, INVALID_PLAN, INVALID_TYPE = 3, INVALID_VALUE, EXEC_FAILED = 6, UNALIGNED = 9 };
enum { MOST = 256 };
enum { R_32F, R_64F, C_32F = 4, C_64F };

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct plan {
    int rank, from, to;
    long long n[3], batch;
    void *stream, *area;
    bool there, made, automatic;
    _Atomic(bool) busy;
} plan;

static plan plans[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static plan *plan_of(int id)
{
    return id > 0 && id < MOST && plans[id].there ? &plans[id] : NULL;
}

int cufftGetProperty(int which, int *value);
int cufftCreate(int *id);
int cufftDestroy(int id);
int cufftSetAutoAllocation(int id, int on);
int cufftSetStream(int id, void *stream);
int cufftSetWorkArea(int id, void *memory);
int cufftXtMakePlanMany(int id, int rank, long long *n, long long *in_embed, long long in_stride,
                        long long in_distance, int in_type, long long *out_embed,
                        long long out_stride, long long out_distance, int out_type,
                        long long batch, size_t *bytes, int type);
int cufftXtExec(int id, void *from, void *to, int sign);

int cufftGetProperty(int which, int *value)
{
    static const int version[] = {11, 2, 1};
    if (which < 0 || which > 2)
        return INVALID_VALUE;
    *value = version[which];
    return SUCCESS;
}

int cufftCreate(int *id)
{
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    pthread_mutex_lock(&lock);
    int i = 1;
    while (i < MOST && plans[i].there)
        i++;
    if (i < MOST)
        plans[i] = (plan){.there = true, .automatic = true};
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake.created, i < MOST);
    *id = i;
    return i < MOST ? SUCCESS : INVALID_PLAN;
}

int cufftDestroy(int id)
{
    plan *p = plan_of(id);
    if (!p)
        return INVALID_PLAN;
    pthread_mutex_lock(&lock);
    p->there = false;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake.destroyed, 1);
    return SUCCESS;
}

int cufftSetAutoAllocation(int id, int on)
{
    plan *p = plan_of(id);
    if (!p)
        return INVALID_PLAN;
    p->automatic = on;
    return SUCCESS;
}

int cufftSetStream(int id, void *stream)
{
    plan *p = plan_of(id);
    if (!p)
        return INVALID_PLAN;
    if (atomic_exchange(&p->busy, true)) /* from here to the end of cufftXtExec */
        atomic_fetch_add(&fake.overlaps, 1);
    p->stream = stream;
    return SUCCESS;
}

int cufftSetWorkArea(int id, void *memory)
{
    plan *p = plan_of(id);
    if (!p)
        return INVALID_PLAN;
    p->area = memory;
    return SUCCESS;
}

static bool is_complex(int type)
{
    return type >= C_32F;
}

static long long last_of(const plan *p, int type)
{
    long long n = p->n[p->rank - 1];
    return is_complex(type) && !(is_complex(p->from) && is_complex(p->to)) ? n / 2 + 1 : n;
}

static long long elements_of(const plan *p, int type)
{
    long long n = last_of(p, type);
    for (int i = 0; i + 1 < p->rank; i++)
        n *= p->n[i];
    return n;
}

int cufftXtMakePlanMany(int id, int rank, long long *n, long long *in_embed, long long in_stride,
                        long long in_distance, int in_type, long long *out_embed,
                        long long out_stride, long long out_distance, int out_type,
                        long long batch, size_t *bytes, int type)
{
    plan *p = plan_of(id);
    if (!p || rank < 1 || rank > 3 || p->automatic)
        return INVALID_PLAN;
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    p->rank = rank;
    memcpy(p->n, n, (size_t)rank * sizeof *n);
    p->from = in_type;
    p->to = out_type;
    p->batch = batch;
    bool right = in_stride == 1 && out_stride == 1 && is_complex(type) &&
                 in_distance == elements_of(p, in_type) &&
                 out_distance == elements_of(p, out_type) &&
                 in_embed[rank - 1] == last_of(p, in_type) &&
                 out_embed[rank - 1] == last_of(p, out_type);
    atomic_fetch_add(&fake.refused, !right);
    p->made = right;
    *bytes = 4096;
    return right ? SUCCESS : INVALID_VALUE;
}

typedef struct transform {
    plan plan;
    void *from, *to, *area;
    int sign;
} transform;

/* Indices of element i of a transform whose last dimension has `last` elements. */
static void split(const plan *p, long long i, long long last, long long at[3])
{
    for (int d = p->rank - 1; d >= 0; d--) {
        long long n = d == p->rank - 1 ? last : p->n[d];
        at[d] = i % n;
        i /= n;
    }
}

/* Element `at` of a complex input; of half of one, where the other half is implied. */
static void get(const plan *p, const char *from, const long long at[3], double value[2])
{
    int real = p->from == R_64F || p->from == C_64F ? FAKE_R_64F : FAKE_R_32F;
    long long last = last_of(p, p->from), place[3], i = 0;
    memcpy(place, at, sizeof place);
    bool other = at[p->rank - 1] >= last;
    for (int d = 0; d < p->rank && other; d++)
        place[d] = (p->n[d] - at[d]) % p->n[d];
    for (int d = 0; d < p->rank; d++)
        i = i * (d == p->rank - 1 ? last : p->n[d]) + place[d];
    value[0] = fake_get(real, from, is_complex(p->from) ? 2 * i : i);
    value[1] = is_complex(p->from) ? fake_get(real, from, 2 * i + 1) * (other ? -1 : 1) : 0;
}

static void element(const transform *t, const char *from, const long long to[3], double sum[2])
{
    const plan *p = &t->plan;
    long long all = 1, at[3];
    for (int d = 0; d < p->rank; d++)
        all *= p->n[d];
    sum[0] = sum[1] = 0;
    for (long long i = 0; i < all; i++) {
        double value[2], turn = 0;
        split(p, i, p->n[p->rank - 1], at);
        get(p, from, at, value);
        for (int d = 0; d < p->rank; d++)
            turn += (double)(at[d] * to[d] % p->n[d]) / (double)p->n[d];
        double angle = 2 * 3.14159265358979323846 * turn * t->sign;
        sum[0] += value[0] * cos(angle) - value[1] * sin(angle);
        sum[1] += value[0] * sin(angle) + value[1] * cos(angle);
    }
}

static void run(fake_driver *d, const void *data)
{
    const transform *t = data;
    const plan *p = &t->plan;
    bool wide = p->from == R_64F || p->from == C_64F;
    int real = wide ? FAKE_R_64F : FAKE_R_32F;
    size_t size = fake_size(real);
    long long in = elements_of(p, p->from) * (is_complex(p->from) ? 2 : 1);
    long long out = elements_of(p, p->to), each = is_complex(p->to) ? 2 : 1;
    char *from = fake_memory(d, t->from, (uint64_t)(in * p->batch) * size);
    char *to = fake_memory(d, t->to, (uint64_t)(out * each * p->batch) * size);
    double *result = calloc((size_t)(out * each), sizeof *result);
    if (!fake_memory(d, t->area, 4096) || !from || !to || !result) {
        free(result);
        return;
    }
    for (long long b = 0; b < p->batch; b++) {
        for (long long i = 0; i < out; i++) {
            long long at[3];
            double sum[2];
            split(p, i, last_of(p, p->to), at);
            element(t, from + (size_t)(b * in) * size, at, sum);
            result[i * each] = sum[0];
            if (each == 2)
                result[i * each + 1] = sum[1];
        }
        for (long long i = 0; i < in && !is_complex(p->to); i++) /* as cuFFT may do */
            fake_put(real, from + (size_t)(b * in) * size, i, 77);
        for (long long i = 0; i < out * each; i++)
            fake_put(real, to + (size_t)(b * out * each) * size, i, result[i]);
    }
    free(result);
}

int cufftXtExec(int id, void *from, void *to, int sign)
{
    plan *p = plan_of(id);
    if (!p || !p->made || !p->area)
        return INVALID_PLAN;
    uintptr_t each = p->from == R_64F || p->from == C_64F ? 16 : 8;
    if ((uintptr_t)from % each || (uintptr_t)to % each)
        return UNALIGNED;
    transform t = {.from = from, .to = to, .area = p->area, .sign = sign};
    t.plan.rank = p->rank;
    t.plan.from = p->from;
    t.plan.to = p->to;
    t.plan.batch = p->batch;
    memcpy(t.plan.n, p->n, sizeof p->n);
    int status = fake_enqueue(p->stream, run, &t, sizeof t, EXEC_FAILED);
    p->area = NULL; /* it is this transform's */
    atomic_store(&p->busy, false);
    return status;
}
