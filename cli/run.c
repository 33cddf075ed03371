/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda run [options] FILE.cu ARGUMENT...
 * Compiles the file, launches one kernel on arguments from the command line and from .npy files,
 * and prints or saves what it wrote.
 */
#include "cli.h"
#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX 32

static const struct argp_option options[] = {
    {"entry", 'k', "NAME", 0, "the kernel (else the only one of the file)", 0},
    {"block", 'b', "X,Y,Z", 0, "threads of a block (else 256)", 0},
    {"grid", 'g', "X,Y,Z", 0, "blocks (else one thread for each element of the largest array)", 0},
    {"print", 'p', "N", 0, "print so many elements of each result (8)", 0},
    {"define", 'D', "NAME[=VALUE]", 0, "define a macro", 0},
    {"driver", 'd', "WHICH", 0, "gpu, software, or a driver's path", 0},
    {0}};

static const char words[] =
    "Try a kernel: compile FILE.cu, launch a kernel of it, and print what it wrote.\v"
    "An ARGUMENT is one of\n"
    "  f32:2.5             a number of that type (bool, i8 to u64, f32, f64)\n"
    "  in:x.npy            an array that the kernel reads\n"
    "  in:f32:1,2.5,3      likewise, of the numbers that follow\n"
    "  inout:x.npy         an array that it changes (or inout:f32:1,2.5,3)\n"
    "  out:f32:16x16       an array that it writes; it begins with zeros\n"
    "inout and out may end in =FILE.npy: the result is saved there.\n"
    "  acuda run saxpy.cu inout:y.npy=y2.npy f32:2 in:x.npy i32:1000";

typedef struct argument {
    acu_arg arg;
    acu_tensor *tensor; /* NULL: a number */
    npy array;
    const char *name, *save;
    bool is_result;
} argument;

typedef struct call {
    const char *file, *entry, *driver;
    const char *defines[64];
    size_t define_count, count;
    unsigned block[3], grid[3];
    long shown;
    argument list[ARGUMENTS_MAX];
} call;

/* ---- arguments ---- */

static bool find_dtype(const char *name, size_t length, acu_dtype *dtype)
{
    for (int i = 0; i < ACU_DTYPE_COUNT; i++) {
        const char *known = acu_dtype_name((acu_dtype)i);
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            *dtype = (acu_dtype)i;
            return true;
        }
    }
    return false;
}

static bool read_integer(acu_dtype dtype, const char *text, acu_arg *arg)
{
    char *end;
    bool is_signed = dtype == ACU_I8 || dtype == ACU_I16 || dtype == ACU_I32 || dtype == ACU_I64;
    unsigned bits = 8 * (unsigned)acu_dtype_bytes(dtype);
    errno = 0;
    if (is_signed) {
        long long v = strtoll(text, &end, 0), most = (long long)(UINT64_MAX >> (65 - bits));
        *arg = acu_arg_scalar(dtype, (uint64_t)v & UINT64_MAX >> (64 - bits));
        return !errno && end != text && !*end && v <= most && v >= -most - 1;
    }
    uint64_t v = strtoull(text, &end, 0), most = dtype == ACU_BOOL ? 1 : UINT64_MAX >> (64 - bits);
    *arg = acu_arg_scalar(dtype, v);
    return !errno && end != text && !*end && *text != '-' && v <= most;
}

static bool read_number(acu_dtype dtype, const char *text, acu_arg *arg)
{
    char *end;
    if (dtype == ACU_F32 || dtype == ACU_F64) {
        double v = strtod(text, &end);
        *arg = dtype == ACU_F32 ? acu_f32((float)v) : acu_f64(v);
        return end != text && !*end;
    }
    bool complex = acu_dtype_kind_of(dtype) == ACU_KIND_COMPLEX;
    return npy_type(dtype) && dtype != ACU_F16 && !complex && read_integer(dtype, text, arg);
}

/* "f32:16x16" */
static bool read_new_array(const char *text, npy *array)
{
    const char *colon = strchr(text, ':');
    if (!colon || !find_dtype(text, (size_t)(colon - text), &array->dtype))
        return false;
    array->shape = (acu_shape){0};
    uint64_t bytes = acu_dtype_bytes(array->dtype);
    for (const char *at = colon + 1; at;) {
        char *end;
        long long n = strtoll(at, &end, 10);
        if (end == at || n <= 0 || array->shape.rank == ACU_MAX_RANK ||
            bytes > (uint64_t)INT64_MAX / (uint64_t)n || (*end && *end != 'x'))
            return false;
        array->shape.dim[array->shape.rank++] = n;
        bytes *= (uint64_t)n;
        at = *end ? end + 1 : NULL;
    }
    array->bytes = (size_t)bytes;
    array->data = calloc(1, array->bytes);
    return array->data != NULL;
}

/* "f32:1,2.5,3"; *is_one: the text begins so, and is no file's name. */
static bool read_list(char *text, npy *array, bool *is_one)
{
    char *colon = strchr(text, ':');
    acu_arg arg;
    *is_one = colon && find_dtype(text, (size_t)(colon - text), &array->dtype);
    if (!*is_one)
        return false;
    size_t bytes = acu_dtype_bytes(array->dtype), count = 1;
    for (const char *at = colon; *at; at++)
        count += *at == ',';
    array->data = calloc(count, bytes);
    array->bytes = count * bytes;
    array->shape = ACU_SHAPE((int64_t)count);
    char *at = colon + 1;
    for (size_t i = 0; array->data && i < count; i++) {
        char *end = at + strcspn(at, ",");
        *end = 0;
        bool right = read_number(array->dtype, at, &arg);
        if (i + 1 < count)
            *end = ','; /* the text is shown with the result */
        if (!right)
            return false;
        memcpy((char *)array->data + i * bytes, &arg.u.bits, bytes); /* little-endian */
        at = end + 1;
    }
    return array->data != NULL;
}

/* From a file, or from the text itself; what a file has wrong ends the program. */
static bool read_array(char *text, npy *array)
{
    bool is_list;
    if (read_list(text, array, &is_list))
        return true;
    if (!is_list && !npy_read(text, array))
        exit(CLI_USAGE);
    return !is_list;
}

/* false: it is none. */
static bool read_argument(argument *a, char *text)
{
    acu_dtype dtype;
    char *colon = strchr(text, ':');
    a->name = text;
    if (!colon)
        return false;
    char *rest = colon + 1, *equals = strchr(rest, '=');
    bool out = strncmp(text, "out:", 4) == 0, inout = strncmp(text, "inout:", 6) == 0;
    if (strncmp(text, "in:", 3) == 0)
        return read_array(rest, &a->array);
    if (!out && !inout)
        return find_dtype(text, (size_t)(colon - text), &dtype) &&
               read_number(dtype, rest, &a->arg);
    a->is_result = true;
    if (equals) {
        *equals = '\0';
        a->save = equals + 1;
    }
    return out ? read_new_array(rest, &a->array) : read_array(rest, &a->array);
}

static void take_argument(call *c, char *text, struct argp_state *state)
{
    if (!c->file)
        c->file = text;
    else if (c->count == ARGUMENTS_MAX)
        argp_error(state, "at most %d arguments", ARGUMENTS_MAX);
    else if (!read_argument(&c->list[c->count++], text))
        argp_error(state, "\"%s\" is no argument; --help shows what is one", text);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    char *end;
    switch (key) {
    case 'k':
        c->entry = value;
        return 0;
    case 'b':
    case 'g':
        if (!cli_read_dims(value, key == 'b' ? c->block : c->grid))
            argp_error(state, "%s is no size; say 256 or 16,16", value);
        return 0;
    case 'p':
        c->shown = strtol(value, &end, 10);
        if (*end || c->shown < 0)
            argp_error(state, "--print takes a number, not %s", value);
        return 0;
    case 'D':
        if (c->define_count == 64)
            argp_error(state, "at most 64 macros");
        else
            c->defines[c->define_count++] = value;
        return 0;
    case 'd':
        c->driver = value;
        return 0;
    case ARGP_KEY_ARG:
        take_argument(c, value, state);
        return 0;
    case ARGP_KEY_END:
        if (!c->file)
            argp_error(state, "which file?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp run = {options, parse, "FILE.cu [ARGUMENT...]", words, NULL, NULL, NULL};

/* ---- running ---- */

/* The only kernel of the PTX; "": there is none, or more than one, which was printed. */
static void find_entry(const call *c, const char *ptx, char name[512])
{
    char names[512] = "";
    size_t used = 0, count = 0;
    name[0] = '\0';
    for (const char *at = ptx; (at = strstr(at, ".entry ")) && used < sizeof names - 1; count++) {
        at += 7;
        int length = (int)strcspn(at, "( \n\t");
        snprintf(name, 512, "%.*s", length, at);
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", count ? ", " : "",
                                 length, at);
    }
    if (c->entry || count == 1)
        return;
    name[0] = '\0';
    if (count)
        fprintf(stderr, "acuda: %s: it has several kernels; name one with --entry: %s\n", c->file,
                names);
    else
        fprintf(stderr, "acuda: %s: it has no kernel (extern \"C\" __global__ void ...)\n",
                c->file);
}

static acu_status load(const call *c, acu_device *device, const char *source, acu_kernel **kernel)
{
    char entry[512];
    acu_code *code;
    acu_module *module = NULL;
    const char *const wanted[] = {c->entry};
    acu_compile_options o = {.size = sizeof o,
                             .line_info = true,
                             .defines = c->defines,
                             .define_count = c->define_count};
    acu_status status = acu_compile(device, source, &o, &code);
    if (status != ACU_OK)
        return status;
    fputs(acu_code_log(code), stderr);
    find_entry(c, acu_code_ptx(code), entry);
    status = ACU_ERR_NOT_FOUND;
    if (c->entry || *entry)
        status = acu_module_load(device, ACU_PTX(NULL, acu_code_ptx(code)), &module);
    if (status == ACU_OK)
        status = acu_kernel_get(module, c->entry ? wanted[0] : entry, kernel);
    acu_module_release(module);
    acu_code_release(code);
    return status;
}

/* Makes the tensors; in the order of the arguments. */
static acu_status upload(call *c, acu_device *device, acu_arg args[ARGUMENTS_MAX])
{
    for (size_t i = 0; i < c->count; i++) {
        argument *a = &c->list[i];
        args[i] = a->arg;
        if (!a->array.data)
            continue;
        acu_status status = acu_tensor_alloc(device, a->array.dtype, a->array.shape, &a->tensor);
        if (status == ACU_OK)
            status = acu_write_sync(a->tensor, a->array.data, a->array.bytes);
        if (status != ACU_OK)
            return status;
        args[i] = a->is_result ? acu_inout(a->tensor) : acu_in(a->tensor);
    }
    return ACU_OK;
}

static acu_config config_of(const call *c)
{
    int64_t most = 1;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].array.data && acu_shape_elements(c->list[i].array.shape) > most)
            most = acu_shape_elements(c->list[i].array.shape);
    acu_config config = acu_for_num_elems(most);
    if (c->block[0]) {
        memcpy(config.block, c->block, sizeof config.block);
        uint64_t threads = (uint64_t)c->block[0] * c->block[1] * c->block[2];
        config.grid[0] = (unsigned)(((uint64_t)most - 1) / threads + 1);
    }
    if (c->grid[0])
        memcpy(config.grid, c->grid, sizeof config.grid);
    return config;
}

/* As Python writes it. */
static void print_complex(acu_dtype dtype, const char *at)
{
    float f[2];
    double d[2];
    memcpy(f, at, sizeof f);
    memcpy(d, at, dtype == ACU_C64 ? sizeof *d : sizeof d);
    if (dtype == ACU_C64)
        printf(" %g%+gj", (double)f[0], (double)f[1]);
    else
        printf(" %.10g%+.10gj", d[0], d[1]);
}

static void print_element(const npy *array, size_t i)
{
    const char *at = (const char *)array->data + i * acu_dtype_bytes(array->dtype);
    int64_t bits = 0;
    float f;
    double d;
    size_t bytes = acu_dtype_bytes(array->dtype);
    if (acu_dtype_kind_of(array->dtype) == ACU_KIND_COMPLEX) {
        print_complex(array->dtype, at);
        return;
    }
    memcpy(&bits, at, bytes);
    switch (array->dtype) {
    case ACU_F32:
        memcpy(&f, at, sizeof f);
        printf(" %g", (double)f);
        break;
    case ACU_F64:
        memcpy(&d, at, sizeof d);
        printf(" %.10g", d);
        break;
    case ACU_I8:
    case ACU_I16:
    case ACU_I32:
    case ACU_I64:
        bits = (int64_t)((uint64_t)bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
        printf(" %lld", (long long)bits);
        break;
    default: /* unsigned numbers, bool; of other types the bits */
        printf(npy_type(array->dtype) && array->dtype != ACU_F16 ? " %llu" : " %#llx",
               (unsigned long long)bits);
    }
}

static bool show(const call *c, const argument *a)
{
    size_t count = (size_t)acu_shape_elements(a->array.shape);
    printf("%s:", a->name);
    for (size_t i = 0; i < count && i < (size_t)c->shown; i++)
        print_element(&a->array, i);
    printf(count > (size_t)c->shown ? " ...\n" : "\n");
    return !a->save || npy_write(a->save, &a->array);
}

static int launch(call *c, acu_device *device, const char *source)
{
    acu_kernel *kernel = NULL;
    acu_arg args[ARGUMENTS_MAX];
    acu_config config = config_of(c);
    if (load(c, device, source, &kernel) != ACU_OK)
        return c->entry || acu_last_error()->status ? cli_fail(c->file) : CLI_FAILED;
    acu_status status = upload(c, device, args);
    if (status == ACU_OK)
        status = acu_sync(
            device, acu_op_launch(kernel, &config, args, c->count, (acu_site){0}), NULL);
    int result = CLI_OK;
    for (size_t i = 0; i < c->count && status == ACU_OK; i++) {
        argument *a = &c->list[i];
        if (!a->is_result)
            continue;
        status = acu_read_sync(a->tensor, a->array.data, a->array.bytes);
        if (status == ACU_OK && !show(c, a))
            result = CLI_FAILED;
    }
    if (status != ACU_OK)
        result = cli_fail(c->file);
    acu_kernel_release(kernel);
    return result;
}

int cli_run(int count, char **words_given)
{
    static call c;
    size_t bytes;
    acu_device *device;
    c.shown = 8;
    argp_parse(&run, count, words_given, ARGP_IN_ORDER, NULL, &c);
    char *source = cli_read_file(c.file, &bytes);
    if (!source)
        return CLI_FAILED;
    acu_open_options open = {.size = sizeof open, .allow_software = true};
    int result;
    if (cli_open_driver(c.driver) != ACU_OK || acu_open(&open, &device) != ACU_OK) {
        result = cli_fail("opening a device");
    } else {
        result = launch(&c, device, source);
        for (size_t i = 0; i < c.count; i++)
            acu_tensor_release(c.list[i].tensor);
        acu_close(device);
    }
    for (size_t i = 0; i < c.count; i++)
        free(c.list[i].array.data);
    free(source);
    return result;
}
