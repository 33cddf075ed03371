/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loading a module: parses it, places its variables in device memory, and decodes its functions. A
 * loaded module never changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/decode.h"

#define INVALID_VALUE 1

void *sx_own(sx_module *module, size_t bytes)
{
    if (module->owned_count == module->owned_room) {
        size_t room = module->owned_room ? 2 * module->owned_room : 32;
        void **owned = realloc(module->owned, room * sizeof *owned);
        if (!owned)
            return NULL;
        module->owned = owned;
        module->owned_room = room;
    }
    const size_t whole = (bytes + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, whole ? whole : 64);
    if (!p)
        return NULL;
    memset(p, 0, whole ? whole : 64);
    module->owned[module->owned_count++] = p;
    return p;
}

static unsigned fail(sx_error *error, unsigned code, unsigned line, const char *text)
{
    error->code = code;
    error->line = line;
    snprintf(error->text, sizeof error->text, "%s", text);
    return code;
}

/* ---- variables ------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align ? (value + align - 1) / align * align : value;
}

/* Each variable starts where the last one ended; returns their size together. */
static uint64_t lay_out_vars(sx_module *m, sx_error *error)
{
    uint64_t at = 0;
    for (uint32_t n = 0; n < m->ptx->var_count; n++) {
        const ptx_var *v = m->ptx->vars[n];
        if (v->linkage == PTX_LINKAGE_EXTERN && !v->bytes) {
            snprintf(error->text, sizeof error->text,
                     "PTX line %u: the variable %s is declared but not defined in the module",
                     v->line, v->name);
            error->code = SX_INVALID_PTX;
            error->line = v->line;
            return UINT64_MAX;
        } /* where the size is known ptxas makes it a variable of the module, with a warning */
        at = align_up(at, v->align > 16 ? v->align : 16);
        m->var_address[v->index] = at;
        at += v->bytes;
    }
    return at;
}

static uint64_t reloc_address(const sx_module *m, const ptx_reloc *r)
{
    uint64_t base = 0;
    if (r->function)
        base = sx_function_address(r->function);
    else if (r->var->space == PTX_SPACE_SHARED)
        base = r->var->offset + (r->generic ? SX_SHARED_WINDOW : 0);
    else
        base = m->var_address[r->var->index];
    return (base + (uint64_t)r->addend) >> r->shift;
}

static void write_var(const sx_module *m, const ptx_var *v, char *to)
{
    if (v->init)
        memcpy(to, v->init, v->bytes);
    else
        memset(to, 0, v->bytes);
    for (size_t n = 0; n < v->reloc_count; n++) {
        const ptx_reloc *r = &v->relocs[n];
        uint64_t value = 0, address = reloc_address(m, r);
        const unsigned bytes = r->bytes < 8 ? r->bytes : 8;
        memcpy(&value, to + r->offset, bytes); /* low bytes first, as on the device */
        value += address;
        memcpy(to + r->offset, &value, bytes);
    }
}

static unsigned place_vars(sx_module *m, sx_error *error)
{
    const uint32_t count = m->ptx->var_count;
    m->var_address = sx_own(m, (count + 1) * sizeof *m->var_address);
    if (!m->var_address)
        return fail(error, SX_OUT_OF_MEMORY, 0, "no memory to load the module");
    const uint64_t bytes = lay_out_vars(m, error);
    if (bytes == UINT64_MAX)
        return error->code;
    if (bytes == 0)
        return 0;
    m->globals = m->allocator.alloc(m->allocator.owner, bytes, 256);
    char *host = m->globals ? m->allocator.host(m->allocator.owner, m->globals) : NULL;
    if (!host)
        return fail(error, SX_OUT_OF_MEMORY, 0, "no device memory for the module's variables");
    for (uint32_t n = 0; n < count; n++)
        m->var_address[n] += m->globals;
    for (uint32_t n = 0; n < count; n++) {
        const ptx_var *v = m->ptx->vars[n];
        write_var(m, v, host + (m->var_address[v->index] - m->globals));
    }
    return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Whether any function calls malloc or free. */
static bool uses_heap(const ptx_module *ptx)
{
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = ptx->functions[n];
        if (!f->is_defined && (strcmp(f->name, "malloc") == 0 || strcmp(f->name, "free") == 0))
            return true;
    }
    return false;
}

/* A function that can not be executed is no reason to refuse others: kernels that may call it are
 * (kernels.c). */
static void decode_one(sx_decoder *d, sx_code *code)
{
    sx_decode_function(d, code->ptx);
    if (!d->failed || !d->valid)
        return;
    sx_error *refusal = sx_own(d->module, sizeof *refusal);
    if (!refusal) {
        d->failed = false;
        sx_no_memory(d);
        return;
    }
    *refusal = *d->error;
    code->refusal = refusal;
    code->insns = NULL;
    d->failed = false;
}

static unsigned decode_all(sx_module *m, sx_error *error)
{
    const ptx_module *ptx = m->ptx;
    m->codes = sx_own(m, (ptx->function_count + 1) * sizeof *m->codes);
    if (!m->codes)
        return fail(error, SX_OUT_OF_MEMORY, 0, "no memory to load the module");
    sx_decoder d = {.module = m, .error = error};
    for (uint32_t n = 0; n < ptx->function_count && !d.failed; n++) {
        m->codes[n].ptx = ptx->functions[n];
        if (ptx->functions[n]->is_defined)
            decode_one(&d, &m->codes[n]);
    }
    if (!d.failed) {
        m->constants = sx_own(m, d.constants.used + 64);
        if (m->constants && d.constants.used)
            memcpy(m->constants, d.constants.bytes, d.constants.used);
        if (!m->constants)
            sx_no_memory(&d);
    }
    free(d.constants.bytes);
    free(d.constants.slots);
    free(d.regs);
    free(d.insns);
    free(d.soft);
    return d.failed ? error->code : 0;
}

const sx_code *sx_code_at(const sx_module *module, uint64_t address)
{
    const uint64_t n = (address - SX_CODE_WINDOW) / 16 - 1;
    if (address % 16 || n >= module->ptx->function_count || !module->codes[n].ptx->is_defined ||
        module->codes[n].ptx->is_kernel)
        return NULL;
    return &module->codes[n];
}

/* ---- loading --------------------------------------------------------------------------------- */

static unsigned fill(sx_module *m, const char *ptx, size_t length, sx_error *error)
{
    ptx_error parse = {0};
    m->ptx = ptx_parse(ptx, length, &parse);
    if (!m->ptx)
        return fail(error, parse.code, parse.line, parse.text);
    if (m->ptx->address_size != 64)
        return fail(error, SX_INVALID_PTX, 0,
                    "the software device has 64-bit addresses only: compile with -m64");
    unsigned result = place_vars(m, error);
    if (!result)
        result = decode_all(m, error);
    if (!result && !sx_list_kernels(m))
        result = fail(error, SX_OUT_OF_MEMORY, 0, "no memory to load the module");
    if (!result && uses_heap(m->ptx)) {
        m->heap = sx_heap_create(&m->allocator);
        if (!m->heap)
            result = fail(error, SX_OUT_OF_MEMORY, 0, "no device memory for the kernels' malloc");
    }
    return result;
}

unsigned sx_module_load(const char *ptx, size_t length, const sx_allocator *allocator,
                        sx_module **module, sx_error *error)
{
    *error = (sx_error){0};
    if (!ptx || !allocator || !module)
        return fail(error, INVALID_VALUE, 0, "no PTX, no allocator or no place for the module");
    sx_module *m = calloc(1, sizeof *m);
    if (!m)
        return fail(error, SX_OUT_OF_MEMORY, 0, "no memory to load the module");
    m->allocator = *allocator;
    unsigned result = fill(m, ptx, length, error);
    if (result) {
        sx_module_unload(m);
        return result;
    }
    *error = (sx_error){0}; /* of functions that were left out */
    *module = m;
    return 0;
}

void sx_module_unload(sx_module *module)
{
    if (!module)
        return;
    sx_heap_destroy(module->heap, &module->allocator);
    if (module->globals)
        module->allocator.free(module->allocator.owner, module->globals);
    for (size_t n = 0; n < module->owned_count; n++)
        free(module->owned[n]);
    free(module->owned);
    if (module->ptx)
        ptx_free(module->ptx);
    free(module);
}

/* ---- questions ------------------------------------------------------------------------------- */

bool sx_module_global(const sx_module *module, const char *name, uint64_t *address, size_t *bytes)
{
    const ptx_var *v = ptx_find_var(module->ptx, name);
    if (!v || v->index == PTX_NO_INDEX)
        return false;
    *address = module->var_address[v->index];
    *bytes = (size_t)v->bytes;
    return true;
}

unsigned sx_module_target(const sx_module *module, char *suffix)
{
    *suffix = module->ptx->target_suffix;
    return module->ptx->target;
}
