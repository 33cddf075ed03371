/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loading a module: parses it, places its variables in device memory, decodes its functions, and
 * describes its kernels. A loaded module never changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/decode.h"

#define INVALID_VALUE 1
/* The stack of a thread if its need can not be told from the text: recursion, indirect calls. */
#define OPEN_STACK (32u * 1024)

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
        if (v->linkage == PTX_LINKAGE_EXTERN) {
            snprintf(error->text, sizeof error->text,
                     "PTX line %u: the variable %s is declared but not defined in the module",
                     v->line, v->name);
            error->code = SX_INVALID_PTX;
            error->line = v->line;
            return UINT64_MAX;
        }
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

/*
 * Bytes of stack for one function: its own and the deepest of what it calls. `state` is 1 for
 * functions that are being visited, 2 for those that are known.
 */
static uint32_t stack_of(const sx_module *m, const ptx_function *f, uint8_t *state)
{
    sx_code *code = &m->codes[f->index];
    if (state[f->index] == 2)
        return code->stack_bytes;
    if (state[f->index] == 1)
        return OPEN_STACK; /* recursion */
    state[f->index] = 1;
    uint32_t deepest = 0;
    for (uint32_t n = 0; n < f->inst_count; n++) {
        const ptx_call *c = f->insts[n].call;
        if (f->insts[n].op != PTX_OP_CALL)
            continue;
        uint32_t need = OPEN_STACK;
        if (c->callee)
            need = c->callee->is_defined ? stack_of(m, c->callee, state) : 0;
        deepest = need > deepest ? need : deepest;
    }
    state[f->index] = 2;
    const uint32_t own = code->local_bytes > 16 ? code->local_bytes : 16;
    code->stack_bytes = own + deepest;
    return code->stack_bytes;
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
            sx_decode_function(&d, ptx->functions[n]);
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
    if (address % 16 || n >= module->ptx->function_count || !module->codes[n].insns ||
        module->codes[n].ptx->is_kernel)
        return NULL;
    return &module->codes[n];
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t product(const uint32_t v[3])
{
    return v[0] * (v[1] ? v[1] : 1) * (v[2] ? v[2] : 1);
}

static void describe(sx_module *m, sx_kernel *k, uint64_t constant_bytes)
{
    const ptx_function *f = k->code->ptx;
    sx_kernel_info *info = &k->info;
    for (uint32_t n = 0; n < f->param_count; n++)
        k->params[n] = (sx_param){(uint32_t)f->params[n]->offset, (uint32_t)f->params[n]->bytes};
    info->param_count = f->param_count;
    info->params = k->params;
    info->param_bytes = f->param_block;
    info->static_shared = f->shared_bytes;
    info->local = f->local_bytes;
    info->constant = constant_bytes;
    info->registers = f->reg_count > 255 ? 255 : f->reg_count < 1 ? 1 : f->reg_count;
    info->max_threads = f->reqntid[0]   ? product(f->reqntid)
                        : f->maxntid[0] ? product(f->maxntid)
                                        : SX_MAX_WARPS * SX_LANES;
    if (info->max_threads > SX_MAX_WARPS * SX_LANES)
        info->max_threads = SX_MAX_WARPS * SX_LANES;
    for (unsigned n = 0; n < 3 && f->reqntid[0]; n++)
        info->required[n] = f->reqntid[n] ? f->reqntid[n] : 1;
    info->ptx_version = m->ptx->version;
    info->target = m->ptx->target;
}

static unsigned list_kernels(sx_module *m, sx_error *error)
{
    const ptx_module *ptx = m->ptx;
    uint64_t constant_bytes = 0;
    for (uint32_t n = 0; n < ptx->var_count; n++)
        constant_bytes += ptx->vars[n]->space == PTX_SPACE_CONST ? ptx->vars[n]->bytes : 0;
    for (uint32_t n = 0; n < ptx->function_count; n++)
        m->kernel_count += ptx->functions[n]->is_kernel && ptx->functions[n]->is_defined;
    m->kernels = sx_own(m, (m->kernel_count + 1) * sizeof *m->kernels);
    uint8_t *state = calloc(ptx->function_count + 1, 1);
    if (!m->kernels || !state) {
        free(state);
        return fail(error, SX_OUT_OF_MEMORY, 0, "no memory to load the module");
    }
    sx_kernel *k = m->kernels;
    unsigned result = 0;
    for (uint32_t n = 0; n < ptx->function_count && !result; n++) {
        const ptx_function *f = ptx->functions[n];
        if (!f->is_kernel || !f->is_defined)
            continue;
        k->module = m;
        k->code = &m->codes[n];
        k->local_bytes = stack_of(m, f, state);
        k->params = sx_own(m, (f->param_count + 1) * sizeof *k->params);
        if (k->params)
            describe(m, k++, constant_bytes);
        else
            result = fail(error, SX_OUT_OF_MEMORY, 0, "no memory to load the module");
    }
    free(state);
    return result;
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
    if (!result)
        result = list_kernels(m, error);
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

const sx_kernel *sx_module_kernel(const sx_module *module, const char *name)
{
    for (size_t n = 0; n < module->kernel_count; n++)
        if (strcmp(module->kernels[n].code->ptx->name, name) == 0)
            return &module->kernels[n];
    return NULL;
}

size_t sx_module_kernel_count(const sx_module *module)
{
    return module->kernel_count;
}

const sx_kernel *sx_module_kernel_at(const sx_module *module, size_t index)
{
    return index < module->kernel_count ? &module->kernels[index] : NULL;
}

bool sx_module_global(const sx_module *module, const char *name, uint64_t *address, size_t *bytes)
{
    const ptx_var *v = ptx_find_var(module->ptx, name);
    if (!v || v->index == PTX_NO_INDEX)
        return false;
    *address = module->var_address[v->index];
    *bytes = (size_t)v->bytes;
    return true;
}

const char *sx_kernel_name(const sx_kernel *kernel)
{
    return kernel->code->ptx->name;
}

const sx_kernel_info *sx_kernel_info_of(const sx_kernel *kernel)
{
    return &kernel->info;
}
