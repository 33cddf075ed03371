/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compiled code: reading its parts, and what the program may ask of it. */
#include "kernel/code.h"

#include "base/error.h"

#include <string.h>

static bool read_code(acu_code *code)
{
    const char *data = code->bytes.data;
    size_t count = code->bytes.count, at = 0;
    code->compiler = acui_bytes_text(data, count, &at, NULL);
    code->log = code->compiler ? acui_bytes_text(data, count, &at, NULL) : NULL;
    code->ptx = code->log ? acui_bytes_text(data, count, &at, &code->ptx_length) : NULL;
    if (!code->ptx || !acui_bytes_number(data, count, &at, &code->name_count))
        return false;
    code->names = at;
    for (uint64_t i = 0; i < code->name_count; i++)
        if (!acui_bytes_text(data, count, &at, NULL) || !acui_bytes_text(data, count, &at, NULL))
            return false;
    return at == count;
}

acu_code *acui_code_new(acui_bytes *bytes, acu_status *status)
{
    acu_code *code = bytes->failed ? NULL : acui_object_new(ACU_OBJECT_CODE, sizeof *code);
    if (!code) {
        acui_bytes_free(bytes);
        *status = acui_fail(ACU_ERR_NO_MEMORY, "no memory for compiled code");
        return NULL;
    }
    code->bytes = *bytes;
    *bytes = (acui_bytes){0};
    if (read_code(code))
        return code;
    acu_code_release(code);
    return NULL;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Whether a message begins so: with "error: " or, from NVRTC, with "error #20: ". */
static bool is_error(const char *text)
{
    static const char *const kinds[] = {"fatal ", "catastrophic ", "internal "};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        text += begins(text, kinds[i]) ? strlen(kinds[i]) : 0;
    return begins(text, "error:") || begins(text, "error #");
}

/* Whether the line tells of an error: at its beginning, or behind the place where it is. What other
 * messages say is not looked at. */
static bool tells_of_error(const char *line)
{
    for (;;) {
        if (is_error(line))
            return true;
        const char *end = line + strcspn(line, "\n"), *next = strstr(line, ": ");
        if (!next || next > end || begins(line, "warning") || begins(line, "note") ||
            begins(line, "remark"))
            return false;
        line = next + 2;
    }
}

bool acui_log_has_error(const char *log)
{
    return tells_of_error(acui_log_first_error(log));
}

const char *acui_log_first_error(const char *log)
{
    for (const char *line = log; *line;) {
        if (tells_of_error(line))
            return line;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return log;
}

void acui_code_refused(acu_code *code)
{
    if (!code)
        return;
    acu_error record = *acui_error();
    acui_error_keep_log(code->log);
    acu_code_release(code);
    acui_error_restore(&record);
}

/* ---- for the program ---- */

static bool is_code(const acu_code *code, const char *function)
{
    return acui_object_check(code, ACU_OBJECT_CODE, function) == ACU_OK;
}

const char *acu_code_ptx(const acu_code *code)
{
    return is_code(code, __func__) ? code->ptx : NULL;
}

const char *acu_code_log(const acu_code *code)
{
    return is_code(code, __func__) ? code->log : NULL;
}

const char *acu_code_compiler(const acu_code *code)
{
    return is_code(code, __func__) ? code->compiler : NULL;
}

/* Each expression is paired with its name in PTX: given one of the two, returns the other. */
static const char *other_name(const acu_code *code, const char *known, bool is_expression)
{
    size_t at = code->names;
    for (uint64_t i = 0; i < code->name_count; i++) {
        const char *expression = acui_bytes_text(code->bytes.data, code->bytes.count, &at, NULL);
        const char *name = acui_bytes_text(code->bytes.data, code->bytes.count, &at, NULL);
        if (strcmp(is_expression ? expression : name, known) == 0)
            return is_expression ? name : expression;
    }
    return NULL;
}

const char *acui_code_expression(const acu_code *code, const char *name)
{
    return other_name(code, name, false);
}

const char *acu_code_name(const acu_code *code, const char *expression)
{
    if (!is_code(code, __func__) || !expression)
        return NULL;
    return other_name(code, expression, true);
}

acu_code *acu_code_retain(acu_code *code)
{
    return acui_object_is(code, ACU_OBJECT_CODE) ? acui_object_retain(code) : code;
}

void acu_code_release(acu_code *code)
{
    if (!acui_object_is(code, ACU_OBJECT_CODE) || !acui_object_drop(code))
        return;
    acui_bytes_free(&code->bytes);
    acui_object_free(code);
}
