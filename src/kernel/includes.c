/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The files that a source includes, directly or not, as part of its key: by full path, or from
 * include folders, including those in clang's environment and those that clang always looks into.
 * (What is in none of these is the compiler's own.) The text is scanned for #include lines,
 * whatever conditions are around them. That may find too many files, but never too few, except
 * where an #include is computed: then the source is treated as one that can not be described.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/file.h"
#include "kernel/request.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* files */

typedef struct scan {
    acui_request *request;
    char **seen; /* paths that are in the key already */
    size_t count;
    bool known;  /* nothing was found so far that can not be described */
} scan;

static void scan_text(scan *s, const char *text, const char *folder);

static bool was_seen(const scan *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->seen[i], path) == 0)
            return true;
    return false;
}

static bool note(scan *s, const char *path)
{
    char **grown = acui_grow(s->seen, s->count * sizeof *grown, (s->count + 1) * sizeof *grown);
    size_t bytes = strlen(path) + 1;
    if (!grown)
        return false;
    s->seen = grown;
    grown[s->count] = acui_alloc_raw(bytes);
    if (!grown[s->count])
        return false;
    memcpy(grown[s->count++], path, bytes);
    return true;
}

typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* Puts the file into the key. That a file does not exist counts too: there may be one later. */
static void put_file(scan *s, piece folder, piece name)
{
    char path[PATH_MAX], *data = NULL;
    size_t bytes = 0;
    int n = snprintf(path, sizeof path, "%.*s/%.*s", (int)folder.length, folder.text,
                     (int)name.length, name.text);
    if (n < 0 || (size_t)n >= sizeof path || was_seen(s, path))
        return;
    if (s->count == MOST || !note(s, path)) {
        s->known = false;
        return;
    }
    acu_error before = *acui_error();
    bool there = acui_file_read(path, &data, &bytes) == ACU_OK;
    acui_error_restore(&before);
    acui_bytes_put_text(&s->request->key, path);
    acui_bytes_put_piece(&s->request->key, there ? data : "", bytes);
    if (there && strlen(data) != bytes) /* the compiler reads on behind a NUL */
        s->known = false;
    char *end = there ? strrchr(path, '/') : NULL;
    if (end) {
        *end = '\0';
        scan_text(s, data, path);
    }
    acui_free(data);
}

static piece piece_of(const char *text)
{
    return (piece){text, strlen(text)};
}

/* Puts the file for each folder of a list from the environment, in which an empty name is the
 * current folder. */
static void put_listed(scan *s, const char *list, piece name)
{
    while (list && *list) {
        piece folder = {list, strcspn(list, ":")};
        put_file(s, folder.length ? folder : piece_of("."), name);
        list += folder.length;
        list = *list ? list + 1 : NULL;
    }
}

static const char *const lists[] = {"CPATH", "CPLUS_INCLUDE_PATH"}; /* which clang reads */
static const char clang_folders[] = "/usr/local/include:/usr/include/x86_64-linux-gnu:"
                                    "/usr/include/aarch64-linux-gnu:/usr/include";

/* Whether clang finds the library's own header first, which is part of the library. (Behind the
 * program's include folders: those have been looked into by then.) */
static bool is_own(piece name)
{
    static const char *const own[] = {
#define ACU_X(array, header, nvrtc) header,
        ACUI_HEADERS(ACU_X)
#undef ACU_X
    };
    static const char folder[] = "acuda-cuda/";
    const size_t length = sizeof folder - 1;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(own[i], folder, length) == 0 && strlen(own[i]) == length + name.length &&
            memcmp(own[i] + length, name.text, name.length) == 0)
            return true;
    return false;
}

/* `line` is what follows the directive's word. */
static void put_include(scan *s, const char *line, const char *folder)
{
    if (strchr("'.,;:)\r\n", *line)) /* no directive, but a comment about #include's */
        return;
    char close = *line == '<' ? '>' : *line == '"' ? '"' : '\0';
    piece name = {line + 1, close ? strcspn(line + 1, close == '>' ? ">\n" : "\"\n") : 0};
    if (!close || name.text[name.length] != close) {
        s->known = false; /* #include A_MACRO */
        return;
    }
    if (*name.text == '/') {
        put_file(s, piece_of(""), (piece){name.text + 1, name.length - 1});
        return;
    }
    if (folder)
        put_file(s, piece_of(folder), name);
    if (s->request->nvrtc) /* NVRTC looks beside the source, which is in no folder */
        put_file(s, piece_of("."), name);
    const acu_compile_options *o = &s->request->options;
    for (size_t i = 0; i < o->include_dir_count; i++)
        put_file(s, piece_of(o->include_dirs[i]), name);
    if (!s->request->nvrtc && is_own(name))
        return;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !s->request->nvrtc; i++)
        put_listed(s, getenv(lists[i]), name); /* clang reads it so, whoever runs it */
    if (!s->request->nvrtc)
        put_listed(s, clang_folders, name);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* Skips what means nothing there: blanks, comments, and ends of lines that continue. */
static const char *skip_blanks(const char *c)
{
    for (;;) {
        c += strspn(c, " \t\v\f");
        const char *end = strncmp(c, "/*", 2) == 0 ? strstr(c + 2, "*/") : NULL;
        if (!end && strncmp(c, "\\\n", 2) != 0)
            return c;
        c = end ? end + 2 : c + 2;
    }
}

/* Whether a directive may begin at `sign`: only blanks and comments may be before it on its line,
 * and on the first line a byte order mark. */
static bool may_begin(const char *text, const char *sign)
{
    while (sign > text && is_blank(sign[-1]))
        sign--;
    return sign == text || sign[-1] == '\n' || sign[-1] == '\r' ||
           (sign - text > 1 && strncmp(sign - 2, "*/", 2) == 0) ||
           (sign - text == 3 && strncmp(text, "\xef\xbb\xbf", 3) == 0);
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyz_"; /* the letters of words that matter
                                                              * here */

static bool word_is(piece word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static void scan_directive(scan *s, const char *c, const char *folder)
{
    c = skip_blanks(c);
    piece word = {c, strspn(c, letters)};
    c += word.length;
    if (*c == '\\') /* the line continues */
        s->known = false;
    else if (word_is(word, "include") || word_is(word, "include_next") ||
             word_is(word, "import") || word_is(word, "embed"))
        put_include(s, skip_blanks(c), folder);
}

/* A question whether a file exists counts like including it. */
static void scan_questions(scan *s, const char *text, const char *question, const char *folder)
{
    for (const char *c = text; s->known && (c = strstr(c, question));) {
        c = skip_blanks(c + strspn(c, letters));
        if (*c == '(')
            put_include(s, skip_blanks(c + 1), folder);
    }
}

static void scan_text(scan *s, const char *text, const char *folder)
{
    /* Trigraphs may be another way to write a sign, or the end of a line that continues. */
    if (strstr(text, "?" "?=") || strstr(text, "?" "?/"))
        s->known = false;
    scan_questions(s, text, "__has_include", folder);
    scan_questions(s, text, "__has_embed", folder);
    for (const char *c = text; s->known && (c = strpbrk(c, "#%")); c++)
        if (*c == '%' && c[1] == '\\' && may_begin(text, c)) /* the line continues in a sign %: */
            s->known = false;
        else if ((*c == '#' || c[1] == ':') && may_begin(text, c))
            scan_directive(s, c + (*c == '#' ? 1 : 2), folder);
}

/* A text in memory, under its name: NVRTC looks for files beside that, as if it were a file. */
static void scan_named(scan *s, const char *text, const char *name)
{
    char folder[PATH_MAX];
    const char *end = s->request->nvrtc ? strrchr(name, '/') : NULL;
    int n = end ? snprintf(folder, sizeof folder, "%.*s", (int)(end - name), name) : 0;
    if (n < 0 || (size_t)n >= sizeof folder)
        s->known = false;
    else
        scan_text(s, text, end ? folder : NULL);
}

bool acui_request_put_includes(acui_request *request)
{
    const acu_compile_options *o = &request->options;
    scan s = {.request = request, .known = true};
    scan_named(&s, request->source, request->what);
    for (size_t i = 0; i < o->header_count; i++)
        scan_named(&s, acui_header_at(o, i)->text, acui_header_at(o, i)->name);
    for (size_t i = 0; i < s.count; i++)
        acui_free(s.seen[i]);
    acui_free(s.seen);
    return s.known;
}
