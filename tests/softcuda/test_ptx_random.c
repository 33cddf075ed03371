/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random programs in PTX, and every instruction alone with random operands, against a model: on the
 * software device, or on a GPU of capability 9.0 or more.
 *
 *     ACUDA_PTX_SEEDS=100:50    programs of seeds 100 to 149, and operands of seed 100
 *     ACUDA_PTX_PRINT=FILE      what was computed, to be compared with that of another device
 *     ACUDA_PTX_TEXT=FOLDER     the programs
 *     ACUDA_PTX_LENGTH=7        no more than their first 7 statements
 *     ACUDA_PTX_LEVEL=4         how much a GPU's compiler optimizes; without it, nothing: from 1 on
 *                               that of driver 580 put a remainder behind what had overwritten it
 */
#include "softcuda/ptx_run.h"
#include "softcuda/ptx_text.h"
#include "softcuda/ptx_vectors.h"

static char text[1 << 20];
static FILE *report;
static unsigned long long first_seed = 1, seed_count = 60;

static uint64_t hash_of(const uint64_t *words, size_t count)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t n = 0; n < count; n++)
        h = (h ^ words[n]) * UINT64_C(0x100000001b3) ^ h >> 29;
    return h;
}

static void print_words(const char *what, uint64_t index, const uint64_t *words, size_t count)
{
    if (!report)
        return;
    fprintf(report, "%s %llu hash %016llx\n", what, (unsigned long long)index,
            (unsigned long long)hash_of(words, count));
    for (size_t n = 0; n < count; n++)
        fprintf(report, "%s %llu [%zu] %016llx\n", what, (unsigned long long)index, n,
                (unsigned long long)words[n]);
}

static void save_text(const char *name, uint64_t index)
{
    const char *folder = getenv("ACUDA_PTX_TEXT");
    char path[512];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s%llu.ptx", folder, name, (unsigned long long)index);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

/* Zero: it was loaded. */
static unsigned load(const char *what, uint64_t index, CUmodule *module)
{
    char log[2048] = "";
    const char *level = getenv("ACUDA_PTX_LEVEL");
    unsigned options[] = {ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                          ACU_CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {log, (void *)(uintptr_t)sizeof log,
                      (void *)(uintptr_t)(level ? atoi(level) : 0)};
    const unsigned result = vec.cu->ModuleLoadDataEx(module, text, 3, options, values);
    if (result)
        print_error("%s %llu: loading: %s %s\n", what, (unsigned long long)index,
                    acu_driver_result_name(result), log);
    return result;
}

/* ---- programs -------------------------------------------------------------------------------- */

enum { ALL_THREADS = THREADS_MAX * BLOCKS_MAX };
static uint64_t got_out[ALL_THREADS * OUT_WORDS], want_out[ALL_THREADS * OUT_WORDS];
static uint64_t got_own[ALL_THREADS * OWN_WORDS], want_own[ALL_THREADS * OWN_WORDS];
static uint64_t got_red[RED_WORDS], want_red[RED_WORDS];

static void run_on_device(const program *p, CUmodule module)
{
    const uint32_t threads = p->threads * p->blocks;
    CUdeviceptr in = vec_to_device(p->in, sizeof p->in);
    CUdeviceptr out = vec_to_device(NULL, threads * OUT_WORDS * 8);
    CUdeviceptr own = vec_to_device(want_own, threads * OWN_WORDS * 8);
    CUdeviceptr red = vec_to_device(want_red, sizeof want_red);
    void *params[] = {&in, &out, &own, &red};
    vec_launch(module, "k", (unsigned[3]){p->blocks, 1, 1}, (unsigned[3]){p->threads, 1, 1}, 0,
               params);
    vec_from_device(got_out, out, threads * OUT_WORDS * 8);
    vec_from_device(got_own, own, threads * OWN_WORDS * 8);
    vec_from_device(got_red, red, sizeof got_red);
    VEC_MUST(MemFree(in));
}

static unsigned differences(const char *what, uint64_t seed, const uint64_t *got,
                            const uint64_t *want, uint32_t count, uint32_t each)
{
    unsigned wrong = 0;
    for (uint32_t n = 0; n < count; n++) {
        if (got[n] == want[n])
            continue;
        if (wrong++ < 4)
            print_error("seed %llu, thread %u, %s %u (%c%u): %#llx, expected %#llx\n",
                        (unsigned long long)seed, n / each, what, n % each,
                        each == OUT_WORDS ? classes[n % each / REGS] : '-', n % REGS,
                        (unsigned long long)got[n], (unsigned long long)want[n]);
    }
    return wrong;
}

/* To find the statement that something goes wrong at. */
static void shorten(program *p)
{
    const char *length = getenv("ACUDA_PTX_LENGTH");
    node **n = &p->body;
    if (!length)
        return;
    for (int left = atoi(length); *n && left > 0; left--)
        n = &(*n)->next;
    *n = NULL;
    p->piece_count = 0;
}

/* Of own words that are floats, NaN is one. */
static void show_own(uint64_t *own, uint32_t count)
{
    static const char kinds[] = "fghbxy";
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t k = n % OWN_WORDS;
        const char class = k < OWN_INTEGERS ? 'd' : kinds[k - OWN_INTEGERS];
        const uint64_t high = ~low_bits(UINT64_MAX, class_bits(class));
        own[n] = shown(class, own[n] & ~high) | (own[n] & high);
    }
}

static unsigned run_program(uint64_t seed)
{
    static program p;
    CUmodule module;
    make_program(&p, seed, 30 + (uint32_t)(seed % 7) * 12);
    shorten(&p);
    writer w = {.text = text, .room = sizeof text};
    put_program(&w, &p);
    save_text("seed", seed);
    if (load("seed", seed, &module))
        return 1;
    const uint32_t threads = p.threads * p.blocks;
    for (uint32_t n = 0; n < threads * OWN_WORDS; n++)
        want_own[n] = p.in[n % IN_WORDS];
    for (uint32_t n = 0; n < RED_WORDS; n++)
        want_red[n] = p.in[n * 3];
    run_on_device(&p, module);
    VEC_MUST(ModuleUnload(module));
    model m = {.p = &p, .out = want_out, .own = want_own, .red = want_red};
    for (m.block = 0; m.block < p.blocks; m.block++)
        run_block(&m);
    show_own(got_own, threads * OWN_WORDS);
    show_own(want_own, threads * OWN_WORDS);
    print_words("seed", seed, got_out, threads * OUT_WORDS);
    print_words("own", seed, got_own, threads * OWN_WORDS);
    print_words("red", seed, got_red, RED_WORDS);
    return differences("register", seed, got_out, want_out, threads * OUT_WORDS, OUT_WORDS) +
           differences("own word", seed, got_own, want_own, threads * OWN_WORDS, OWN_WORDS) +
           differences("shared word", seed, got_red, want_red, RED_WORDS, RED_WORDS);
}

static void random_programs(void **state)
{
    (void)state;
    unsigned wrong = 0;
    if (vec.capability < 90)
        skip();
    for (unsigned long long n = 0; n < seed_count; n++)
        wrong += run_program(first_seed + n) != 0;
    assert_int_equal(wrong, 0);
}

/* ---- instructions alone ---------------------------------------------------------------------- */

enum { TOGETHER = 40, INPUTS = 512 };

/* An entry: %u0 is where this thread's operands lie, %u7 where its results go. */
static void put_alone(writer *w, uint32_t index)
{
    const op *o = &ops[index];
    const int results = (int)strlen(o->results), sources = (int)strlen(o->sources);
    node n = {.op = o, .guard = -1, .to = {0, 1, 2, 3}, .from = {0, 1, 2, 3, 4, 5}};
    put(w, ".visible .entry k%u(.param .u64 p_in, .param .u64 p_out)\n{\n.reg .b32 %%me;\n", index);
    put_registers(w);
    put(w,
        "ld.param.u64 %%u0, [p_in];\nld.param.u64 %%u7, [p_out];\n"
        "mov.u32 %%t0, %%ctaid.x;\nmov.u32 %%t1, %%ntid.x;\nmov.u32 %%t2, %%tid.x;\n"
        "mad.lo.u32 %%me, %%t0, %%t1, %%t2;\nmul.wide.u32 %%u6, %%me, %d;\n"
        "add.u64 %%u0, %%u0, %%u6;\nmul.wide.u32 %%u6, %%me, %d;\nadd.u64 %%u7, %%u7, %%u6;\n",
        OP_SOURCES * 8, OP_RESULTS * 8);
    for (int k = 0; k < sources; k++) {
        put(w, "ld.global.u64 %%u1, [%%u0+%d];\n", 8 * k);
        put_begin_register(w, o->sources[k], k);
    }
    put_do(w, &n);
    for (int k = 0; k < results; k++) {
        put_result(w, o->results[k], k);
        put(w, "st.global.u64 [%%u7+%d], %%u0;\n", 8 * k);
    }
    put(w, "ret;\n}\n");
}

static uint64_t alone_in[INPUTS][OP_SOURCES], alone_out[INPUTS][OP_RESULTS];

/* A result that only rounding makes the least normal number is flushed all the same by an H100,
 * which looks at it before it is rounded; the software device looks after that. */
static bool is_flushed_before(const op *o, uint64_t got, uint64_t want)
{
    const int bits = o->type->bits;
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    if (!o->ftz || o->type->kind != 'f' || bits > 32)
        return false;
    for (; got || want; got >>= bits, want >>= bits) {
        const uint64_t g = low_bits(got, bits), w = low_bits(want, bits);
        if (g != w && ((g & ~sign) || (w & ~sign) != UINT64_C(1) << (o->type->precision - 1)))
            return false;
    }
    return true;
}

static bool check_alone(const op *o)
{
    unsigned wrong = 0;
    for (int i = 0; i < INPUTS; i++) {
        uint64_t in[OP_SOURCES], want[OP_RESULTS];
        for (int k = 0; o->sources[k]; k++)
            in[k] = low_bits(alone_in[i][k], class_bits(o->sources[k]));
        op_compute(o, in, want);
        for (int k = 0; o->results[k]; k++) {
            const uint64_t v = shown(o->results[k], want[k]);
            if (v == alone_out[i][k] || is_flushed_before(o, alone_out[i][k], v))
                continue;
            if (wrong++ < 2)
                print_error("%s(%#llx, %#llx, %#llx): result %d is %#llx, expected %#llx\n",
                            o->text, (unsigned long long)in[0], (unsigned long long)in[1],
                            (unsigned long long)in[2], k, (unsigned long long)alone_out[i][k],
                            (unsigned long long)v);
        }
    }
    return wrong == 0;
}

static unsigned run_alone(CUmodule module, uint32_t index)
{
    char name[32];
    snprintf(name, sizeof name, "k%u", index);
    chance = index + (first_seed << 32);
    for (int i = 0; i < INPUTS; i++)
        for (int k = 0; k < OP_SOURCES; k++)
            alone_in[i][k] = random_value();
    CUdeviceptr in = vec_to_device(alone_in, sizeof alone_in);
    CUdeviceptr out = vec_to_device(NULL, sizeof alone_out);
    void *params[] = {&in, &out};
    vec_launch(module, name, (unsigned[3]){INPUTS / 128, 1, 1}, (unsigned[3]){128, 1, 1}, 0,
               params);
    vec_from_device(alone_out, out, sizeof alone_out);
    VEC_MUST(MemFree(in));
    print_words("op", index, &alone_out[0][0], INPUTS * OP_RESULTS);
    return !check_alone(&ops[index]);
}

static bool load_alone(uint32_t first, uint32_t end, CUmodule *module)
{
    writer w = {.text = text, .room = sizeof text};
    put(&w, ".version 8.1\n.target sm_90\n.address_size 64\n");
    for (uint32_t n = first; n < end; n++)
        put_alone(&w, n);
    save_text("ops", first);
    return load(ops[first].text, first, module) == 0;
}

static void instructions_alone(void **state)
{
    (void)state;
    unsigned wrong = 0;
    if (vec.capability < 90)
        skip();
    make_ops();
    for (uint32_t first = 0; first < op_count; first += TOGETHER) {
        const uint32_t end = first + TOGETHER < op_count ? first + TOGETHER : op_count;
        CUmodule module;
        if (load_alone(first, end, &module)) {
            for (uint32_t n = first; n < end; n++)
                wrong += run_alone(module, n);
            VEC_MUST(ModuleUnload(module));
            continue;
        }
        for (uint32_t n = first; n < end; n++) { /* which of them is it? */
            if (!load_alone(n, n + 1, &module)) {
                wrong++;
                continue;
            }
            wrong += run_alone(module, n);
            VEC_MUST(ModuleUnload(module));
        }
    }
    assert_int_equal(wrong, 0);
}

static int setup(void **state)
{
    const char *path = getenv("ACUDA_PTX_PRINT");
    if (path && !(report = fopen(path, "w")))
        return -1;
    const char *seeds = getenv("ACUDA_PTX_SEEDS");
    if (seeds)
        sscanf(seeds, "%llu:%llu", &first_seed, &seed_count);
    setenv("SOFTCUDA_SM", "90", 0);
    return vec_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_alone),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, setup, vec_teardown);
}
