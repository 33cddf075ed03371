/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * clang, as a process, in a folder of its own that has the source and the headers. It leaves two
 * files there: the PTX, and what it said. The outcome is read from these, so it is known even if
 * the program reaps all of its children itself.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/trust.h"
#include "kernel/arguments.h"
#include "kernel/file.h"
#include "kernel/folder.h"
#include "kernel/request.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "acui_name_"

static struct {
    pthread_mutex_t lock;
    char asked[PATH_MAX], path[PATH_MAX]; /* "" means: look for it; not found yet */
    unsigned major; /* 0: not asked yet */
    struct stat file;
    char distrusted[ACUI_DISTRUST]; /* why one that was found is not used */
} clang = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding it; the lock is held ---- */

static bool try_path(const char *path)
{
    if (strlen(path) >= sizeof clang.path || access(path, X_OK) != 0 ||
        stat(path, &clang.file) != 0 || !S_ISREG(clang.file.st_mode))
        return false;
    if (!acui_is_trusted(path, clang.distrusted))
        return false;
    snprintf(clang.path, sizeof clang.path, "%s", path);
    return true;
}

static bool look_in_path(const char *name)
{
    const char *rest = secure_getenv("PATH");
    char path[PATH_MAX];
    while (rest) {
        size_t length = strcspn(rest, ":");
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)length, rest, name);
        if (length && n > 0 && (size_t)n < sizeof path && try_path(path))
            return true;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return false;
}

static bool look_everywhere(void)
{
    const char *asked = clang.asked[0] ? clang.asked : secure_getenv("ACUDA_CLANG");
    if (asked)
        return strchr(asked, '/') ? try_path(asked) : look_in_path(asked);
    if (look_in_path("clang"))
        return true;
    for (int version = 20; version >= 14; version--) {
        char name[16];
        snprintf(name, sizeof name, "clang-%d", version);
        if (look_in_path(name))
            return true;
    }
    return false;
}

acu_status acui_clang_set(const char *path)
{
    if (path && strlen(path) >= sizeof clang.asked)
        return acui_fail(ACU_ERR_INVALID, "acu_compile_configure: the path of clang is too long");
    pthread_mutex_lock(&clang.lock);
    snprintf(clang.asked, sizeof clang.asked, "%s", path ? path : "");
    clang.path[0] = '\0';
    clang.major = 0;
    pthread_mutex_unlock(&clang.lock);
    return ACU_OK;
}

static acu_status not_found(void)
{
    static const char help[] = "install it (Debian: apt-get install clang), or name one with "
                               "ACUDA_CLANG";
    const char *asked = clang.asked[0] ? clang.asked : secure_getenv("ACUDA_CLANG");
    if (clang.distrusted[0])
        return acui_fail(ACU_ERR_NOT_FOUND, "clang is not run, because others could change it: %s",
                         clang.distrusted);
    if (asked)
        return acui_fail(ACU_ERR_NOT_FOUND, "there is no clang that can be run as %.120s%s; %s",
                         asked, clang.asked[0] ? "" : " (ACUDA_CLANG)", help);
    return acui_fail(ACU_ERR_NOT_FOUND,
                     "there is no clang in PATH (clang, clang-14 to clang-20): %s", help);
}

/* The file may be replaced by another version while the process runs. */
acu_status acui_clang_find(acui_bytes *key)
{
    struct stat now;
    pthread_mutex_lock(&clang.lock);
    bool found = clang.path[0] && stat(clang.path, &now) == 0 &&
                 now.st_mtim.tv_sec == clang.file.st_mtim.tv_sec &&
                 now.st_size == clang.file.st_size && now.st_ino == clang.file.st_ino;
    if (!found) {
        clang.major = 0;
        clang.path[0] = clang.distrusted[0] = '\0';
        found = look_everywhere();
    }
    if (found) {
        const uint64_t facts[] = {(uint64_t)clang.file.st_size,
                                  (uint64_t)clang.file.st_mtim.tv_sec,
                                  (uint64_t)clang.file.st_ino};
        acui_bytes_put_text(key, clang.path);
        acui_bytes_put(key, facts, sizeof facts);
    }
    acu_status st = found ? ACU_OK : not_found();
    pthread_mutex_unlock(&clang.lock);
    return st;
}

/* ---- what it is ---- */

/* The major version from "Debian clang version 14.0.6"; 0: it is no clang. Fails if it could not be
 * asked. */
static acu_status read_version(const char *path, acui_folder *folder, unsigned *major)
{
    const char *args[] = {path, "--version", NULL};
    char *text = NULL;
    size_t bytes;
    *major = 0;
    acu_status st = acui_folder_run(folder, args, "version");
    if (st == ACU_OK)
        st = acui_folder_read(folder, "version", &text, &bytes);
    if (st == ACU_ERR_COMPILE) { /* it ended with an error: perhaps it had no room for its words */
        acu_error why = *acui_error();
        ACUI_TRY(acui_folder_check(folder));
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s can not be used: asked for its version, %s",
                         path, why.message + strlen(path) + 1);
    }
    ACUI_TRY(st);
    const char *word = strstr(text, "version ");
    if (word && strstr(text, "clang"))
        *major = (unsigned)strtoul(word + 8, NULL, 10);
    acui_free(text);
    return ACU_OK;
}

/* Asked once for each path. */
static acu_status get_version(acui_folder *folder, char path[PATH_MAX], unsigned *major)
{
    pthread_mutex_lock(&clang.lock);
    snprintf(path, PATH_MAX, "%s", clang.path);
    *major = clang.major;
    pthread_mutex_unlock(&clang.lock);
    if (*major == 0) {
        ACUI_TRY(read_version(path, folder, major));
        pthread_mutex_lock(&clang.lock);
        if (strcmp(path, clang.path) == 0)
            clang.major = *major;
        pthread_mutex_unlock(&clang.lock);
    }
    if (*major < 14)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s is no clang of version 14 or newer", path);
    return ACU_OK;
}

/* Architectures, the first clang that compiles for each, and the least PTX version that it
 * needs. */
static const struct {
    unsigned arch, since, ptx;
} archs[] = {{75, 14, 63}, {80, 14, 70}, {86, 14, 71}, {87, 16, 74}, {89, 16, 78}, {90, 16, 78},
             {100, 20, 86}, {120, 20, 87}};

static acu_status choose_arch(const acui_request *r, unsigned major, unsigned *arch, unsigned *ptx)
{
    *arch = 0;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (archs[i].arch <= r->arch && archs[i].since <= major) {
            *arch = archs[i].arch;
            *ptx = archs[i].ptx;
        }
    if (*arch && (!r->exact || *arch == r->arch))
        return ACU_OK;
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "clang %u is not used for compute_%u; from 75 to %u",
                     major, r->arch, major < 16 ? 86 : major < 20 ? 90 : 120);
}

/* ---- its command ---- */

/* If all of fast math is allowed, LLVM's PTX back end contracts multiplications and additions
 * whatever -ffp-contract says. So one permission is taken back (signed zeros matter), and what the
 * back end would otherwise derive from all of them is set by hand. */
static void add_fast_without_fma(acui_arguments *c)
{
    static const char *const more[] = {"-fsigned-zeros", "-mllvm", "-nvptx-prec-divf32=0",
                                       "-mllvm", "-nvptx-prec-sqrtf32=0"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        acui_argument(c, "%s", more[i]);
}

static void add_options(acui_arguments *c, const acu_compile_options *o)
{
    if (o->fast_math)
        acui_argument(c, "-ffast-math"), acui_argument(c, "-fcuda-flush-denormals-to-zero");
    acui_argument(c, o->no_fma ? "-ffp-contract=off" : "-ffp-contract=fast");
    if (o->fast_math && o->no_fma)
        add_fast_without_fma(c);
    if (o->line_info)
        acui_argument(c, "-gline-tables-only");
    for (size_t i = 0; i < o->define_count; i++)
        acui_argument(c, "-D%s", o->defines[i]);
    for (size_t i = 0; i < o->include_dir_count; i++)
        acui_argument(c, "-I%s", o->include_dirs[i]);
    for (size_t i = 0; i < o->argument_count; i++)
        acui_argument(c, "%s", o->arguments[i]);
}

static acu_status make_command(acui_arguments *c, const acui_request *r, const char *path,
                               unsigned major, const acui_folder *folder)
{
    const acu_compile_options *o = &r->options;
    unsigned arch, ptx = 0;
    ACUI_TRY(choose_arch(r, major, &arch, &ptx));
    size_t room = 40 + o->define_count + o->include_dir_count + o->argument_count;
    acui_arguments_begin(c, room);
    acui_argument(c, "%s", path);
    static const char *const fixed[] = {
        "--cuda-path=/nonexistent", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
        "-Wno-unknown-cuda-version", "-fno-color-diagnostics", "-O3", "-S", "-Xclang",
        "-target-feature", "-Xclang"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        acui_argument(c, "%s", fixed[i]);
    acui_argument(c, "+ptx%u", ptx);
    acui_argument(c, "--cuda-gpu-arch=sm_%u", arch);
    acui_argument(c, "-std=c++%u", o->cplusplus);
    if (o->cplusplus < 17) /* acuda's own headers use C++17 */
        acui_argument(c, "-Wno-c++17-extensions");
    acui_argument(c, "-I%s/headers", folder->path);
    acui_argument(c, "-include");
    acui_argument(c, "%s/headers/acuda-prelude/prelude.cuh", folder->path);
    add_options(c, o);
    acui_argument(c, "-I%s/headers/acuda-cuda", folder->path); /* the program's own come first */
    acui_argument(c, "-o");
    acui_argument(c, "%s/out.ptx", folder->path);
    acui_argument(c, "%s/source.cu", folder->path);
    return c->failed ? acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", r->what) : ACU_OK;
}

/* ---- the folder's files ---- */

/* A #line for the source's name: that may have quotes in it, and line ends. */
static void put_first_line(acui_bytes *text, const char *name)
{
    acui_bytes_put(text, "#line 1 \"", 9);
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\')
            acui_bytes_put(text, "\\", 1);
        acui_bytes_put(text, (unsigned char)*c < ' ' ? " " : c, 1);
    }
    acui_bytes_put(text, "\"\n", 2);
}

/* Writes the source under its name and, behind it, for each expression a constant with the address
 * of what that names. This instantiates a template, and shows the name in the PTX. */
static acu_status write_source(const acui_request *r, acui_folder *folder)
{
    const acu_compile_options *o = &r->options;
    acui_bytes text = {0};
    char line[64];
    put_first_line(&text, r->what);
    acui_bytes_put(&text, r->source, strlen(r->source));
    for (size_t i = 0; i < o->expression_count; i++) {
        int n = snprintf(line, sizeof line, "\n#line %zu \"the expressions\"\n", i + 1);
        acui_bytes_put(&text, line, (size_t)n);
        n = snprintf(line, sizeof line,
                     "__attribute__((used)) static __device__ const void *const ");
        acui_bytes_put(&text, line, (size_t)n);
        n = snprintf(line, sizeof line, NAME "%zu = (const void *)(&", i);
        acui_bytes_put(&text, line, (size_t)n);
        acui_bytes_put(&text, o->expressions[i], strlen(o->expressions[i]));
        acui_bytes_put(&text, ");\n", 3);
    }
    acu_status st = text.failed ? acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", r->what)
                                : acui_folder_write(folder, "source.cu", text.data, text.count);
    acui_bytes_free(&text);
    return st;
}

static acu_status write_own(acui_folder *folder, const char *name, const unsigned char *packed,
                            size_t bytes)
{
    acui_arena arena = {0};
    const char *text = acui_header_text(&arena, packed, bytes);
    acu_status st = text ? acui_folder_write(folder, name, text, strlen(text))
                         : acui_fail(ACU_ERR_NO_MEMORY, "no memory to unpack %s", name);
    acui_arena_clear(&arena);
    return st;
}

static acu_status write_files(const acui_request *r, acui_folder *folder)
{
    const acu_compile_options *o = &r->options;
    char name[PATH_MAX];
#define ACU_X(array, header, nvrtc)                                                                \
    ACUI_TRY(write_own(folder, "headers/" header, acui_header_##array,                             \
                       acui_header_##array##_bytes));
    ACUI_HEADERS(ACU_X)
#undef ACU_X
    for (size_t i = 0; i < o->header_count; i++) {
        const acu_header *header = acui_header_at(o, i);
        int n = snprintf(name, sizeof name, "headers/%s", header->name);
        if (n < 0 || (size_t)n >= sizeof name)
            return acui_fail(ACU_ERR_INVALID, "the name of header %zu is too long", i);
        ACUI_TRY(acui_folder_write(folder, name, header->text, strlen(header->text)));
    }
    return write_source(r, folder);
}

/* ---- what came out ---- */

/* PTX has a directive for the limit of registers, and clang no option: put the directive before the
 * body of each kernel, but not of its declaration. */
static void put_ptx(acui_bytes *bytes, const acui_request *r, const char *ptx)
{
    char bound[32];
    unsigned most = r->options.max_registers;
    acui_bytes text = {0};
    int n = snprintf(bound, sizeof bound, ".maxnreg %u\n", most);
    for (const char *entry; most && (entry = strstr(ptx, ".entry "));) {
        const char *body = entry + strcspn(entry, "{;");
        acui_bytes_put(&text, ptx, (size_t)(body - ptx));
        if (*body == '{')
            acui_bytes_put(&text, bound, (size_t)n);
        ptx = body;
    }
    acui_bytes_put(&text, ptx, strlen(ptx));
    acui_bytes_put_piece(bytes, text.data, text.failed ? 0 : text.count);
    bytes->failed |= text.failed;
    acui_bytes_free(&text);
}

/* Finds "... _ZL11acui_name_3 = _Z5scaleIfEvPT_S0_;", takes the name from it, and blanks the
 * line. */
static bool take_name(char *ptx, size_t index, const char **name, size_t *length)
{
    char own[48];
    snprintf(own, sizeof own, NAME "%zu = ", index);
    char *at = strstr(ptx, own);
    if (!at)
        return false;
    char *line = at, *end = strchr(at, ';');
    while (line > ptx && line[-1] != '\n')
        line--;
    if (!end)
        return false;
    *name = at + strlen(own);
    *length = (size_t)(end - *name);
    memset(line, ' ', (size_t)(*name - line)); /* the name itself is blanked when it has been
                                                * read */
    return true;
}

static acu_status put_names(acui_bytes *bytes, const acui_request *r, char *ptx)
{
    const acu_compile_options *o = &r->options;
    acui_bytes names = {0};
    for (size_t i = 0; i < o->expression_count; i++) {
        const char *name;
        size_t length;
        if (!take_name(ptx, i, &name, &length)) {
            acui_bytes_free(&names);
            return acui_fail(ACU_ERR_COMPILE, "%s: clang made nothing of \"%s\"", r->what,
                             o->expressions[i]);
        }
        acui_bytes_put_text(&names, o->expressions[i]);
        acui_bytes_put_piece(&names, name, length);
        memset((char *)(uintptr_t)name, ' ', length + 1);
    }
    put_ptx(bytes, r, ptx);
    acui_bytes_put_number(bytes, o->expression_count);
    acui_bytes_put(bytes, names.data, names.count);
    bytes->failed |= names.failed;
    acui_bytes_free(&names);
    return ACU_OK;
}

/* It failed; `how` tells how it ended. If that is not because of the source (there is no room, or
 * it was killed), says so. ACU_OK: the source is to blame. */
static acu_status failed_otherwise(acui_folder *folder, const char *how, const char *log)
{
    ACUI_TRY(acui_folder_check(folder));
    if (strstr(log, "No space left on device"))
        return acui_fail(ACU_ERR_IO,
                         "%s, because there is no space left in %s (TMPDIR can name another folder "
                         "for temporary files)",
                         how, folder->path);
    if (acui_log_has_error(log))
        return ACU_OK;
    return acui_fail(ACU_ERR_COMPILE, "%s and names no error in the source%s%.160s", how,
                     *log ? "; it says: " : "; perhaps it had too little memory", log);
}

/* If the source has errors, each expression causes another one that follows from them. The log
 * keeps these; the message has room only for the others. */
static acu_status refused(const char *compiler, const acui_request *r, const char *log)
{
    const char *error = acui_log_first_error(log), *end = error;
    while (*end) {
        size_t line = strcspn(end, "\n");
        const char *follows = strstr(end, ": error: ");
        if (end > error && strncmp(end, "the expressions:", 16) == 0 && follows &&
            follows < end + line && strncmp(error, "the expressions:", 16) != 0)
            break;
        end += line + (end[line] != 0);
    }
    return acui_fail(ACU_ERR_COMPILE, "%s refused %s: %.*s", compiler, r->what,
                     (int)(end - error), error);
}

static acu_status collect(const acui_request *r, acui_folder *folder, unsigned major, bool worked,
                          acui_bytes *bytes)
{
    char compiler[32], *log = NULL, *ptx = NULL;
    size_t count = 0;
    acu_error how = *acui_error();
    snprintf(compiler, sizeof compiler, "clang %u", major);
    if (acui_folder_read(folder, "log", &log, &count) != ACU_OK)
        log = NULL;
    acui_bytes_put_text(bytes, compiler);
    acui_bytes_put_text(bytes, log);
    acu_status st = worked ? acui_folder_read(folder, "out.ptx", &ptx, &count)
                           : failed_otherwise(folder, how.message, log ? log : "");
    if (worked && st == ACU_OK)
        st = put_names(bytes, r, ptx);
    else if (st == ACU_OK)
        st = refused(compiler, r, log ? log : "");
    if (st != ACU_OK) {
        acui_bytes_put_text(bytes, "");
        acui_bytes_put_number(bytes, 0);
    }
    acui_free(log);
    acui_free(ptx);
    return st;
}

static acu_status compile_in(const acui_request *r, acui_folder *folder, acui_bytes *bytes)
{
    char path[PATH_MAX];
    unsigned major;
    acui_arguments c = {.count = 0};
    ACUI_TRY(get_version(folder, path, &major));
    ACUI_TRY(write_files(r, folder));
    acu_status st = make_command(&c, r, path, major, folder);
    if (st == ACU_OK) {
        st = acui_folder_run(folder, c.list, "log");
        if (st == ACU_OK || st == ACU_ERR_COMPILE)
            st = collect(r, folder, major, st == ACU_OK, bytes);
    }
    acui_arguments_end(&c);
    return st;
}

acu_status acui_clang_compile(const acui_request *r, acui_bytes *bytes)
{
    acui_folder folder;
    ACUI_TRY(acui_folder_make(&folder));
    acu_status st = compile_in(r, &folder, bytes);
    acu_error record = *acui_error();
    acui_folder_remove(&folder);
    return st == ACU_OK ? ACU_OK : acui_error_restore(&record);
}
