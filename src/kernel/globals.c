/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Variables of modules as buffers. A module knows those of its variables that are buffers at the
 * moment, but does not hold them; they hold the module.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <string.h>

typedef struct acui_global {
    struct acui_global *next;
    acu_module *module; /* retained */
    acu_buffer *buffer; /* not retained */
    bool constant;
    char name[];
} acui_global;

/* ---- which are constants ---- */

/* Notes the name in ".visible .const .align 4 .b8 table[64] = {": the last word before the
 * bracket. */
static bool note_constant(acui_bytes *names, const char *declaration)
{
    const char *end = declaration + strcspn(declaration, "[=;\n");
    while (end > declaration && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const char *begin = end;
    while (begin > declaration && begin[-1] != ' ' && begin[-1] != '\t')
        begin--;
    acui_bytes_put_piece(names, begin, (size_t)(end - begin));
    return !names->failed;
}

/* A declaration of the module begins its line; ld.const and the like do not. */
bool acui_globals_read(acu_module *module, const char *ptx)
{
    for (const char *at = ptx; (at = strstr(at, ".const "));) {
        const char *line = at;
        while (line > ptx && line[-1] != '\n')
            line--;
        at += 7;
        if (line[strspn(line, " \t")] == '.' && !note_constant(&module->constants, at))
            return false;
    }
    return true;
}

static bool is_constant(const acu_module *module, const char *name)
{
    const acui_bytes *names = &module->constants;
    const char *constant;
    for (size_t at = 0; at < names->count;) {
        constant = acui_bytes_text(names->data, names->count, &at, NULL);
        if (!constant || strcmp(constant, name) == 0)
            return constant != NULL;
    }
    return false;
}

/* ---- life ---- */

static void drop(void *global)
{
    acui_global *g = global;
    acu_module *module = g->module;
    pthread_mutex_lock(&module->lock);
    for (acui_global **link = &module->globals; *link; link = &(*link)->next)
        if (*link == g) {
            *link = g->next;
            atomic_fetch_sub_explicit(&module->global_count, 1, memory_order_relaxed);
            break;
        }
    pthread_mutex_unlock(&module->lock);
    acu_device *device = module->built_in ? module->device : NULL;
    acu_module_release(module);
    acu_device_release(device);
    acui_free(g);
}

/* The variable's buffer, if it is one at the moment, retained; the lock is held. */
static acu_buffer *find(acu_module *module, const char *name)
{
    for (acui_global *g = module->globals; g; g = g->next)
        if (strcmp(g->name, name) == 0 && acui_object_try_retain(g->buffer))
            return g->buffer;
    return NULL;
}

static acu_buffer *find_living(acu_module *module, const char *name)
{
    pthread_mutex_lock(&module->lock);
    acu_buffer *buffer = find(module, name);
    pthread_mutex_unlock(&module->lock);
    return buffer;
}

/* Enters the variable. If another thread was quicker, its buffer is taken and this one released. */
static void enter(acui_global *g, acu_buffer **buffer)
{
    acu_module *module = g->module;
    pthread_mutex_lock(&module->lock);
    acu_buffer *other = find(module, g->name);
    if (!other) {
        g->next = module->globals;
        module->globals = g;
        atomic_fetch_add_explicit(&module->global_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&module->lock);
    *buffer = other ? other : g->buffer;
    if (other)
        acu_buffer_release(g->buffer);
}

static acu_status ask(acu_module *module, const char *name, CUdeviceptr *address, size_t *bytes)
{
    acu_device *device = module->device;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    unsigned result = device->cu->ModuleGetGlobal(address, bytes, module->raw, name);
    acu_status st = ACU_OK;
    if (result == ACU_CUDA_ERROR_NOT_FOUND)
        st = acui_fail(ACU_ERR_NOT_FOUND, "module %s has no variable \"%s\"",
                       module->name ? module->name : "(without a name)", name);
    else
        st = acui_device_result(device, "ModuleGetGlobal", result);
    acui_leave(&entered);
    return st;
}

static acu_status make(acu_module *module, const char *name, acu_buffer **buffer)
{
    CUdeviceptr address = 0;
    size_t bytes = 0, length = strlen(name);
    ACUI_TRY(ask(module, name, &address, &bytes));
    acui_global *g = acui_alloc(sizeof *g + length + 1);
    if (!g)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a variable of a module");
    memcpy(g->name, name, length);
    g->constant = is_constant(module, name);
    g->module = acu_module_retain(module);
    if (module->built_in)
        acu_device_retain(module->device);
    /* On failure this has called `drop`. */
    ACUI_TRY(acu_buffer_wrap_device(module->device, address, bytes,
                                    (acu_user){.data = g, .release = drop}, &g->buffer));
    acui_object_list(g->buffer);
    enter(g, buffer);
    return ACU_OK;
}

acu_status acu_module_global(acu_module *module, const char *name, acu_buffer **buffer)
{
    ACUI_CHECK(module, MODULE);
    if (!name || !buffer)
        return acui_fail(ACU_ERR_INVALID, "acu_module_global: %s",
                         name ? "nowhere to put the buffer" : "the name is NULL");
    ACUI_TRY(acu_module_poll(module));
    acu_buffer *living = find_living(module, name);
    if (living) {
        *buffer = living;
        return ACU_OK;
    }
    return make(module, name, buffer);
}

size_t acui_globals_take(acu_module *module, acui_global_use *uses, size_t room)
{
    size_t n = 0;
    pthread_mutex_lock(&module->lock);
    for (acui_global *g = module->globals; g && n < room; g = g->next)
        if (acui_object_try_retain(g->buffer))
            uses[n++] = (acui_global_use){.buffer = g->buffer, .constant = g->constant};
    pthread_mutex_unlock(&module->lock);
    return n;
}
