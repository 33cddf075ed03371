/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NVRTC, opened at run time and never closed; nothing of the toolkit is needed to build. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/vendor.h"
#include "kernel/arguments.h"
#include "kernel/request.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct nvrtc_program *program;

/* X(field, symbol, parameters) */
#define CALLS(X)                                                                                   \
    X(version, "nvrtcVersion", (int *major, int *minor))                                           \
    X(create, "nvrtcCreateProgram", (program *, const char *source, const char *name, int headers, \
                                     const char *const *texts, const char *const *names))          \
    X(destroy, "nvrtcDestroyProgram", (program *))                                                 \
    X(compile, "nvrtcCompileProgram", (program, int count, const char *const *options))            \
    X(log_size, "nvrtcGetProgramLogSize", (program, size_t *bytes))                                \
    X(log, "nvrtcGetProgramLog", (program, char *text))                                            \
    X(ptx_size, "nvrtcGetPTXSize", (program, size_t *bytes))                                       \
    X(ptx, "nvrtcGetPTX", (program, char *text))                                                   \
    X(add_name, "nvrtcAddNameExpression", (program, const char *expression))                       \
    X(lowered, "nvrtcGetLoweredName", (program, const char *expression, const char **name))        \
    X(archs_count, "nvrtcGetNumSupportedArchs", (int *count))                                      \
    X(archs, "nvrtcGetSupportedArchs", (int *archs))

static struct {
    pthread_mutex_t lock;
    void *library; /* never closed */
    char asked[PATH_MAX]; /* "" means: look for it */
    char path[PATH_MAX], include[PATH_MAX]; /* include is "" without the toolkit's headers */
    char looked[360]; /* where it was looked for in vain */
    bool missing;
    int major, minor;
    struct stat file;
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
    pthread_mutex_t compiling; /* held while compiling: older versions can do only one at a time,
                                * and do not say so */
} rtc = {.lock = PTHREAD_MUTEX_INITIALIZER, .compiling = PTHREAD_MUTEX_INITIALIZER};

/* ---- opening; the lock is held ---- */

static bool resolve(void *library)
{
    const struct {
        const char *symbol;
        void *field;
    } calls[] = {
#define ACU_X(field, symbol, parameters) {symbol, &rtc.field},
        CALLS(ACU_X)
#undef ACU_X
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!acui_vendor_symbol(library, calls[i].symbol, calls[i].field))
            return false;
    return rtc.version(&rtc.major, &rtc.minor) == 0;
}

/* The toolkit's headers are beside its libraries. */
static void find_headers(void)
{
    static const char *const places[] = {"/../include", "/../../include",
                                         "/../targets/x86_64-linux/include"};
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", rtc.path);
    char *end = strrchr(folder, '/');
    if (end)
        *end = '\0';
    for (size_t i = 0; end && i < sizeof places / sizeof *places; i++) {
        char probe[PATH_MAX + 64];
        struct stat info;
        snprintf(probe, sizeof probe, "%s%s/cuda_fp16.h", folder, places[i]);
        if (stat(probe, &info) != 0)
            continue;
        *strrchr(probe, '/') = '\0';
        if (strlen(probe) < sizeof rtc.include)
            memcpy(rtc.include, probe, strlen(probe) + 1);
        return;
    }
}

static bool open_library(const acui_vendor *vendor, const char *name)
{
    (void)vendor;
    void *library = acui_vendor_open(name);
    if (!library)
        return false;
    if (!resolve(library)) {
        acui_vendor_close(library);
        return false;
    }
    rtc.library = library;
    acui_vendor_path(library, rtc.path, sizeof rtc.path);
    if (stat(rtc.path, &rtc.file) != 0)
        memset(&rtc.file, 0, sizeof rtc.file);
    find_headers();
    return true;
}

static bool open_somewhere(void)
{
    static const acui_vendor nvrtc = {
        .words = "NVRTC",
        .stem = "libnvrtc.so",
        .names = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
        .open = open_library,
    };
    const char *asked = rtc.asked[0] ? rtc.asked : secure_getenv("ACUDA_NVRTC");
    return acui_vendor_find(&nvrtc, asked, rtc.looked, sizeof rtc.looked);
}

acu_status acui_nvrtc_set(const char *path)
{
    acu_status st = ACU_OK;
    pthread_mutex_lock(&rtc.lock);
    if (path && strlen(path) >= sizeof rtc.asked)
        st = acui_fail(ACU_ERR_INVALID, "acu_compile_configure: the path of NVRTC is too long");
    else if (path && rtc.library && strcmp(path, rtc.asked) != 0)
        st = acui_fail(ACU_ERR_BUSY, "acu_compile_configure: NVRTC is open as %s", rtc.path);
    else if (!rtc.library) {
        snprintf(rtc.asked, sizeof rtc.asked, "%s", path ? path : "");
        rtc.missing = false;
    }
    pthread_mutex_unlock(&rtc.lock);
    return st;
}

acu_status acui_nvrtc_find(acui_bytes *key, int *version)
{
    pthread_mutex_lock(&rtc.lock);
    if (!rtc.library && !rtc.missing)
        rtc.missing = !open_somewhere();
    bool open = rtc.library != NULL;
    pthread_mutex_unlock(&rtc.lock);
    if (!open)
        return acui_fail(ACU_ERR_NOT_FOUND, "NVRTC is not here: looked for %s", rtc.looked);
    *version = 1000 * rtc.major + 10 * rtc.minor;
    if (key) {
        const uint64_t facts[] = {(uint64_t)*version, (uint64_t)rtc.file.st_size,
                                  (uint64_t)rtc.file.st_mtim.tv_sec, (uint64_t)rtc.file.st_ino};
        acui_bytes_put_text(key, rtc.path);
        acui_bytes_put(key, facts, sizeof facts);
    }
    return ACU_OK;
}

/* ---- options ---- */

/* Chooses the newest architecture that NVRTC knows and that is not above the wanted one. */
static acu_status choose_arch(const acui_request *r, unsigned *arch)
{
    int count = 0, list[256], best = 0;
    *arch = r->arch;
    if (rtc.archs_count(&count) != 0 || count <= 0 || count > 256 || rtc.archs(list) != 0)
        return ACU_OK;
    for (int i = 0; i < count; i++)
        if (list[i] > best && list[i] <= (int)r->arch)
            best = list[i];
    if (best == 0 || (r->exact && best != (int)r->arch))
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "NVRTC %d.%d does not compile for compute_%u; from "
                         "%d to %d", rtc.major, rtc.minor, r->arch, list[0], list[count - 1]);
    *arch = (unsigned)best;
    return ACU_OK;
}

static acu_status make_options(const acui_request *r, acui_arguments *w)
{
    const acu_compile_options *o = &r->options;
    unsigned arch;
    ACUI_TRY(choose_arch(r, &arch));
    acui_arguments_begin(w, 16 + o->define_count + o->include_dir_count + o->argument_count);
    acui_argument(w, "--gpu-architecture=compute_%u", arch);
    acui_argument(w, "--std=c++%u", o->cplusplus);
    if (o->fast_math)
        acui_argument(w, "--use_fast_math");
    if (o->no_fma)
        acui_argument(w, "--fmad=false");
    if (o->line_info)
        acui_argument(w, "--generate-line-info");
    if (o->max_registers)
        acui_argument(w, "--maxrregcount=%u", o->max_registers);
    for (size_t i = 0; i < o->define_count; i++)
        acui_argument(w, "--define-macro=%s", o->defines[i]);
    for (size_t i = 0; i < o->include_dir_count; i++)
        acui_argument(w, "--include-path=%s", o->include_dirs[i]);
    if (rtc.include[0])
        acui_argument(w, "--include-path=%s", rtc.include);
    for (size_t i = 0; i < o->argument_count; i++)
        acui_argument(w, "%s", o->arguments[i]);
    return w->failed ? acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", r->what) : ACU_OK;
}

/* ---- compiling ---- */

/* Creates the NVRTC program with the caller's headers and, after these, the library's own. */
static acu_status create(const acui_request *r, acui_arguments *w, program *p)
{
    const acu_compile_options *o = &r->options;
    const char **names = ACUI_ARENA_ARRAY(&w->arena, const char *, o->header_count + 8);
    const char **texts = ACUI_ARENA_ARRAY(&w->arena, const char *, o->header_count + 8);
    int n = 0;
    if (!names || !texts)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", r->what);
    for (size_t i = 0; i < o->header_count; i++, n++) {
        names[n] = acui_header_at(o, i)->name;
        texts[n] = acui_header_at(o, i)->text;
    }
#define ACU_X(array, name, nvrtc)                                                                  \
    if (nvrtc) {                                                                                   \
        names[n] = name;                                                                           \
        texts[n] = acui_header_text(&w->arena, acui_header_##array, acui_header_##array##_bytes);  \
        if (!texts[n++])                                                                           \
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", r->what);               \
    }
    ACUI_HEADERS(ACU_X)
#undef ACU_X
    if (rtc.create(p, r->source, r->what, n, texts, names) != 0)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "NVRTC took no program");
    for (size_t i = 0; i < o->expression_count; i++)
        if (rtc.add_name(*p, o->expressions[i]) != 0)
            return acui_fail(ACU_ERR_INVALID, "NVRTC does not take \"%s\" as a name",
                             o->expressions[i]);
    return ACU_OK;
}

/* Puts a text that NVRTC fills in; "" if it has none. */
static void put_text(acui_bytes *bytes, program p, int (*size)(program, size_t *),
                     int (*fill)(program, char *))
{
    size_t length = 0;
    char *text = NULL;
    if (size && size(p, &length) == 0 && length > 1)
        text = acui_alloc(length + 1);
    bytes->failed |= length > 1 && !text;
    if (text && fill(p, text) != 0)
        text[0] = '\0';
    acui_bytes_put_text(bytes, text);
    acui_free(text);
}

static acu_status put_names(acui_bytes *bytes, const acui_request *r, program p)
{
    const acu_compile_options *o = &r->options;
    acui_bytes_put_number(bytes, o->expression_count);
    for (size_t i = 0; i < o->expression_count; i++) {
        const char *name = NULL;
        if (rtc.lowered(p, o->expressions[i], &name) != 0 || !name)
            return acui_fail(ACU_ERR_COMPILE, "%s: there is no \"%s\"", r->what, o->expressions[i]);
        acui_bytes_put_text(bytes, o->expressions[i]);
        acui_bytes_put_text(bytes, name);
    }
    return ACU_OK;
}

static acu_status finish(const acui_request *r, program p, int result, acui_bytes *bytes)
{
    char compiler[32];
    snprintf(compiler, sizeof compiler, "NVRTC %d.%d", rtc.major, rtc.minor);
    acui_bytes_put_text(bytes, compiler);
    size_t log = bytes->count + 8;
    put_text(bytes, p, rtc.log_size, rtc.log);
    put_text(bytes, p, result == 0 ? rtc.ptx_size : NULL, rtc.ptx);
    if (result == 0) {
        size_t here = bytes->count;
        acu_status st = put_names(bytes, r, p);
        if (st != ACU_OK) {
            bytes->count = here;
            acui_bytes_put_number(bytes, 0);
        }
        return st;
    }
    acui_bytes_put_number(bytes, 0);
    return acui_fail(ACU_ERR_COMPILE, "%s refused %s: %s", compiler, r->what,
                     bytes->failed ? "" : acui_log_first_error(bytes->data + log));
}

acu_status acui_nvrtc_compile(const acui_request *r, acui_bytes *bytes)
{
    acui_arguments w = {.count = 0};
    program p = NULL;
    acu_status st = make_options(r, &w);
    if (st == ACU_OK) {
        pthread_mutex_lock(&rtc.compiling);
        st = create(r, &w, &p);
        if (st == ACU_OK)
            st = finish(r, p, rtc.compile(p, (int)w.count, w.list), bytes);
        if (p)
            rtc.destroy(&p);
        pthread_mutex_unlock(&rtc.compiling);
    }
    acui_arguments_end(&w);
    return st;
}
