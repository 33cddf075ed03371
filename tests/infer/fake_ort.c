/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library that poses as onnxruntime. Its models are lines of text, one for each input and output:
 *
 *     in x 1 batch 3        name, ONNX's type of elements (-1: no tensor), extents ("?": any)
 *     out y 1 batch 3
 *
 * and output k is (k + 1) times the sum of the inputs, each repeated to its length. It computes at
 * once, or for CUDA's provider on the session's stream. Whatever it hands out is counted.
 */
#include "../vendor/fake.h"

#include <stdio.h>

enum { API = 17, PLACES = 209, MOST = 4, RANK = 8 };
enum { FAIL = 1, INVALID_ARGUMENT, NO_SUCHFILE, INVALID_PROTOBUF = 7 };

static fake_driver fake;
static int api = API;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

void fake_ort_api(int version);
void fake_ort_api(int version)
{
    api = version;
}

static void *make(size_t bytes)
{
    atomic_fetch_add(&fake.created, 1);
    return calloc(1, bytes);
}

static void drop(void *object)
{
    if (!object)
        return;
    atomic_fetch_add(&fake.destroyed, 1);
    free(object);
}

static void *refuse(void *status)
{
    atomic_fetch_add(&fake.refused, 1);
    return status;
}

/* ---- statuses -------------------------------------------------------------------------------- */

typedef struct status {
    int code;
    char words[120];
} status;

static status *fail(int code, const char *words, const char *what)
{
    status *s = make(sizeof *s);
    s->code = code;
    snprintf(s->words, sizeof s->words, "%s%s", words, what);
    return s;
}

static int code_of(const status *s)
{
    return s->code;
}

static const char *words_of(const status *s)
{
    return s->words;
}

/* ---- models ---------------------------------------------------------------------------------- */

typedef struct port {
    char name[24];
    int type;
    size_t rank;
    int64_t dims[RANK];
    char symbols[RANK][16];
} port;

typedef struct options {
    bool cuda;
    void *stream;
    int threads;
} options;

typedef struct session {
    port in[MOST], out[MOST];
    size_t in_count, out_count;
    options options;
    _Atomic(bool) busy;
} session;

static void read_extent(port *p, const char *word)
{
    size_t d = p->rank++;
    p->dims[d] = atoll(word);
    if (p->dims[d])
        return;
    p->dims[d] = strcmp(word, "0") == 0 ? 0 : -1;
    if (p->dims[d] && strcmp(word, "?") != 0)
        snprintf(p->symbols[d], sizeof p->symbols[d], "%s", word);
}

static bool read_port(port *p, char *line)
{
    char *rest = NULL, *word = strtok_r(line, " ", &rest);
    for (int i = 0; word; i++, word = strtok_r(NULL, " ", &rest)) {
        if (i == 0)
            snprintf(p->name, sizeof p->name, "%s", word);
        else if (i == 1)
            p->type = atoi(word);
        else
            read_extent(p, word);
    }
    return p->name[0] && p->type;
}

static status *read_model(char *text, const options *o, session **made)
{
    char *rest = NULL;
    if (atomic_load(&fake.fail_create))
        return fail(atomic_load(&fake.fail_create), "the model is not wanted", "");
    session *s = make(sizeof *s);
    s->options = *o;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool in = strncmp(line, "in ", 3) == 0, out = strncmp(line, "out ", 4) == 0;
        if ((in && read_port(&s->in[s->in_count++], line + 3)) ||
            (out && read_port(&s->out[s->out_count++], line + 4)))
            continue;
        drop(s);
        return fail(INVALID_PROTOBUF, "protobuf parsing failed", "");
    }
    *made = s;
    return NULL;
}

static status *session_of_bytes(const void *env, const void *data, size_t bytes, const options *o,
                                session **made)
{
    char text[1024] = {0};
    (void)env;
    memcpy(text, data, bytes < sizeof text ? bytes : sizeof text - 1);
    return read_model(text, o, made);
}

static status *session_of_file(const void *env, const char *path, const options *o,
                               session **made)
{
    char text[1024] = {0};
    FILE *file = fopen(path, "rb");
    (void)env;
    if (!file)
        return fail(NO_SUCHFILE, "no file ", path);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    return read_model(text, o, made);
}

/* ---- what a model says ----------------------------------------------------------------------- */

static status *input_count(const session *s, size_t *count)
{
    *count = s->in_count;
    return NULL;
}

static status *output_count(const session *s, size_t *count)
{
    *count = s->out_count;
    return NULL;
}

static status *type_of(const port *p, port **type)
{
    *type = make(sizeof **type);
    **type = *p;
    return NULL;
}

static status *input_type(const session *s, size_t i, port **type)
{
    return type_of(&s->in[i], type);
}

static status *output_type(const session *s, size_t i, port **type)
{
    return type_of(&s->out[i], type);
}

static status *name_of(const port *p, char **name)
{
    *name = make(sizeof p->name);
    memcpy(*name, p->name, sizeof p->name);
    return NULL;
}

static status *input_name(const session *s, size_t i, void *allocator, char **name)
{
    (void)allocator;
    return name_of(&s->in[i], name);
}

static status *output_name(const session *s, size_t i, void *allocator, char **name)
{
    (void)allocator;
    return name_of(&s->out[i], name);
}

static status *tensor_type(const port *type, const port **tensor)
{
    *tensor = type->type < 0 ? NULL : type;
    return NULL;
}

static status *element_type(const port *p, int *type)
{
    *type = p->type;
    return NULL;
}

static status *rank_of(const port *p, size_t *rank)
{
    *rank = p->rank;
    return NULL;
}

static status *dims_of(const port *p, int64_t *dims, size_t rank)
{
    memcpy(dims, p->dims, rank * sizeof *dims);
    return NULL;
}

static status *symbols_of(const port *p, const char **symbols, size_t rank)
{
    for (size_t d = 0; d < rank; d++)
        symbols[d] = p->symbols[d];
    return NULL;
}

static status *allocator(void **one)
{
    *one = &fake;
    return NULL;
}

static status *give(void *one, void *memory)
{
    (void)one;
    drop(memory);
    return NULL;
}

/* ---- settings -------------------------------------------------------------------------------- */

typedef void (*log_fn)(void *, int, const char *, const char *, const char *, const char *);

static status *create_env(log_fn log, void *user, int severity, const char *id, void **env)
{
    (void)user, (void)severity, (void)id;
    if (!log)
        refuse(NULL);
    *env = make(1);
    return NULL;
}

static status *create_options(options **o)
{
    *o = make(sizeof **o);
    return NULL;
}

static status *set_threads(options *o, int threads)
{
    o->threads = threads;
    return NULL;
}

static status *create_run(bool **asynchronous)
{
    *asynchronous = make(sizeof **asynchronous);
    return NULL;
}

static status *set_run(bool *asynchronous, const char *key, const char *value)
{
    bool known = strcmp(key, "disable_synchronize_execution_providers") == 0;
    *asynchronous = known && strcmp(value, "1") == 0;
    return *asynchronous ? NULL : refuse(fail(INVALID_ARGUMENT, "no such setting: ", key));
}

typedef struct memory {
    bool cuda;
} memory;

static status *create_memory(const char *name, int allocator_kind, int device, int kind,
                             memory **made)
{
    if (strcmp(name, "Cuda") != 0 || allocator_kind != 0 || device != 0 || kind != 0)
        return refuse(fail(INVALID_ARGUMENT, "no such memory: ", name));
    *made = make(sizeof **made);
    (*made)->cuda = true;
    return NULL;
}

static status *create_host_memory(int allocator_kind, int kind, memory **made)
{
    (void)allocator_kind, (void)kind;
    *made = make(sizeof **made);
    return NULL;
}

static status *providers(char ***names, int *count)
{
    static char *all[] = {"CUDAExecutionProvider", "CPUExecutionProvider"};
    *names = all;
    *count = 2;
    return NULL;
}

static status *release_providers(char **names, int count)
{
    (void)names;
    return count == 2 ? NULL : refuse(NULL);
}

static status *create_cuda(void ***stream)
{
    *stream = make(sizeof **stream);
    return NULL;
}

static status *set_cuda(void **stream, const char *const *keys, const char *const *values,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], "user_compute_stream") == 0)
            *stream = (void *)(uintptr_t)strtoull(values[i], NULL, 10);
        else if (strcmp(keys[i], "has_user_compute_stream") != 0 &&
                 strcmp(keys[i], "device_id") != 0)
            return refuse(fail(INVALID_ARGUMENT, "no such option: ", keys[i]));
    return NULL;
}

static status *use_cuda(options *o, void *const *stream)
{
    o->cuda = true;
    o->stream = *stream;
    return *stream ? NULL : refuse(fail(INVALID_ARGUMENT, "no stream", ""));
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct value {
    void *data;
    long long count;
    size_t bytes, rank;
    int type;
    bool cuda;
    int64_t dims[RANK];
} value;

static size_t size_of(int type)
{
    return type == 7 ? 8 : 4;
}

static status *value_of(const memory *m, void *data, size_t bytes, const int64_t *dims,
                        size_t rank, int type, value **made)
{
    value *v = make(sizeof *v);
    *v = (value){.data = data, .count = 1, .bytes = bytes, .rank = rank, .type = type,
                 .cuda = m->cuda};
    for (size_t d = 0; d < rank; d++)
        v->count *= v->dims[d] = dims[d];
    *made = v;
    return NULL;
}

static bool fits(const session *s, const port *p, const value *v, const char *name)
{
    bool ok = v && strcmp(p->name, name) == 0 && v->rank == p->rank && v->type == p->type &&
              v->cuda == s->options.cuda && (size_t)v->count * size_of(v->type) == v->bytes;
    for (size_t d = 0; ok && d < v->rank; d++)
        ok = p->dims[d] == -1 || p->dims[d] == v->dims[d];
    return ok;
}

typedef struct work {
    value in[MOST], out[MOST];
    size_t in_count, out_count;
} work;

static double element(const value *v, long long i)
{
    long long at = i % v->count;
    return v->type == 7 ? (double)((const int64_t *)v->data)[at]
                        : (double)((const float *)v->data)[at];
}

static void write_output(const work *w, size_t k)
{
    const value *v = &w->out[k];
    for (long long j = 0; j < v->count; j++) {
        double sum = 0;
        for (size_t i = 0; i < w->in_count; i++)
            sum += element(&w->in[i], j);
        sum *= (double)(k + 1);
        if (v->type == 7)
            ((int64_t *)v->data)[j] = (int64_t)sum;
        else
            ((float *)v->data)[j] = (float)sum;
    }
}

static bool reach(fake_driver *driver, value *v)
{
    if (v->cuda)
        v->data = fake_memory(driver, v->data, v->bytes);
    return v->data != NULL;
}

static void compute(fake_driver *driver, const void *data)
{
    work w;
    bool there = true;
    memcpy(&w, data, sizeof w);
    for (size_t i = 0; i < w.in_count; i++)
        there &= reach(driver, &w.in[i]);
    for (size_t i = 0; i < w.out_count; i++)
        there &= reach(driver, &w.out[i]);
    for (size_t k = 0; there && k < w.out_count; k++)
        write_output(&w, k);
}

static status *check(const session *s, const bool *asynchronous, const char *const *names,
                     const value *const *values, size_t count, const char *const *out_names,
                     size_t out_count, value *const *out, work *w)
{
    bool ok = count == s->in_count && out_count == s->out_count &&
              *asynchronous == s->options.cuda;
    for (size_t i = 0; ok && i < count; i++) {
        ok = fits(s, &s->in[i], values[i], names[i]);
        w->in[i] = *values[i];
    }
    for (size_t i = 0; ok && i < out_count; i++) {
        ok = fits(s, &s->out[i], out[i], out_names[i]);
        w->out[i] = *out[i];
    }
    w->in_count = count;
    w->out_count = out_count;
    return ok ? NULL : refuse(fail(INVALID_ARGUMENT, "wrong values", ""));
}

static status *run(session *s, const bool *asynchronous, const char *const *names,
                   const value *const *values, size_t count, const char *const *out_names,
                   size_t out_count, value **out)
{
    work w;
    memset(&w, 0, sizeof w);
    if (atomic_exchange(&s->busy, true) && s->options.cuda)
        atomic_fetch_add(&fake.overlaps, 1);
    status *st = check(s, asynchronous, names, values, count, out_names, out_count, out, &w);
    if (!st && atomic_load(&fake.fail_call))
        st = fail(atomic_load(&fake.fail_call), "the run is not wanted", "");
    if (!st && s->options.cuda) {
        if (fake_enqueue(s->options.stream, compute, &w, sizeof w, 1) != 0)
            st = fail(FAIL, "cudaLaunchKernel failed", "");
    } else if (!st) {
        compute(&fake, &w);
        atomic_fetch_add(&fake.calls, 1);
        atomic_fetch_add(&fake.done, 1);
    }
    atomic_store(&s->busy, false);
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef void (*entry)(void);

#define AT(place, function) [place] = (entry)(function)

static const entry table[PLACES] = {
    AT(1, code_of),
    AT(2, words_of),
    AT(4, create_env),
    AT(7, session_of_file),
    AT(8, session_of_bytes),
    AT(9, run),
    AT(10, create_options),
    AT(24, set_threads),
    AT(30, input_count),
    AT(31, output_count),
    AT(33, input_type),
    AT(34, output_type),
    AT(36, input_name),
    AT(37, output_name),
    AT(39, create_run),
    AT(49, value_of),
    AT(55, tensor_type),
    AT(60, element_type),
    AT(61, rank_of),
    AT(62, dims_of),
    AT(63, symbols_of),
    AT(68, create_memory),
    AT(69, create_host_memory),
    AT(76, give),
    AT(78, allocator),
    AT(92, drop),
    AT(93, drop),
    AT(94, drop),
    AT(95, drop),
    AT(96, drop),
    AT(97, drop),
    AT(98, drop),
    AT(100, drop),
    AT(125, providers),
    AT(126, release_providers),
    AT(165, set_run),
    AT(204, use_cuda),
    AT(205, create_cuda),
    AT(206, set_cuda),
    AT(208, drop),
};

static const entry *get_table(uint32_t version)
{
    return version <= (uint32_t)api ? table : NULL;
}

static const char *get_version(void)
{
    return "1.17.3";
}

typedef struct base {
    const entry *(*table)(uint32_t version);
    const char *(*version)(void);
} base;

const base *OrtGetApiBase(void);
const base *OrtGetApiBase(void)
{
    static const base one = {get_table, get_version};
    return &one;
}
