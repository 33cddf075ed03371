/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Files of include folders that a source includes, directly or not, as a part of its key. Text is
 * looked through for #include lines, whatever conditions are around them: too much is found that
 * way, but never too little, unless a line is computed: then nothing is said about the source.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/file.h"
#include "kernel/request.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096 }; /* files */

typedef struct scan {
    acui_request *request;
    char **seen; /* paths that were put */
    size_t count;
    bool known;  /* so far nothing was met that can not be told */
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

/* It counts that there is no such file as well: there may be one later. */
static void put_file(scan *s, const char *folder, const char *name, size_t length)
{
    char path[PATH_MAX], *data = NULL;
    size_t bytes = 0;
    int n = snprintf(path, sizeof path, "%s/%.*s", folder, (int)length, name);
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
    char *end = there ? strrchr(path, '/') : NULL;
    if (end) {
        *end = '\0';
        scan_text(s, data, path);
    }
    acui_free(data);
}

static void put_include(scan *s, const char *line, const char *folder)
{
    char close = *line == '<' ? '>' : *line == '"' ? '"' : '\0';
    size_t length = close ? strcspn(line + 1, close == '>' ? ">\n" : "\"\n") : 0;
    if (!close || line[1 + length] != close) {
        s->known = false; /* #include A_MACRO */
        return;
    }
    if (folder)
        put_file(s, folder, line + 1, length);
    const acu_compile_options *o = &s->request->options;
    for (size_t i = 0; i < o->include_dir_count; i++)
        put_file(s, o->include_dirs[i], line + 1, length);
}

static const char *skip_blanks(const char *c)
{
    return c + strspn(c, " \t");
}

static void scan_text(scan *s, const char *text, const char *folder)
{
    if (strstr(text, "__has_include"))
        s->known = false;
    for (const char *line = text; line && s->known;) {
        const char *c = skip_blanks(line);
        if (*c == '#' && strncmp(c = skip_blanks(c + 1), "include", 7) == 0)
            put_include(s, skip_blanks(c + 7), folder);
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

bool acui_request_put_includes(acui_request *request)
{
    const acu_compile_options *o = &request->options;
    scan s = {.request = request, .known = true};
    if (o->include_dir_count == 0)
        return true;
    scan_text(&s, request->source, NULL);
    for (size_t i = 0; i < o->header_count; i++)
        scan_text(&s, o->headers[i].text, NULL);
    for (size_t i = 0; i < s.count; i++)
        acui_free(s.seen[i]);
    acui_free(s.seen);
    return s.known;
}
