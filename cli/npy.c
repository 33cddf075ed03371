/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading and writing .npy. The header is a Python dictionary, always written in the same way. */
#include "npy.h"

#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"

static const struct {
    const char *type;
    acu_dtype dtype;
} types[] = {{"b1", ACU_BOOL}, {"i1", ACU_I8},  {"u1", ACU_U8},  {"i2", ACU_I16},
             {"u2", ACU_U16},  {"i4", ACU_I32}, {"u4", ACU_U32}, {"i8", ACU_I64},
             {"u8", ACU_U64},  {"f2", ACU_F16}, {"f4", ACU_F32}, {"f8", ACU_F64},
             {"c8", ACU_C64},  {"c16", ACU_C128}};

const char *npy_type(acu_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return types[i].type;
    return NULL;
}

static bool refuse(const char *path, const char *why)
{
    fprintf(stderr, "acuda: %s: %s\n", path, why);
    return false;
}

/* The value of a key in the header's dictionary. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static bool read_type(const char *value, acu_dtype *dtype)
{
    if (!value || *value != '\'' || !strchr("<|=", value[1]) || value[1] == '\0')
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t length = strlen(types[i].type);
        if (strncmp(value + 2, types[i].type, length) == 0 && value[2 + length] == '\'') {
            *dtype = types[i].dtype;
            return true;
        }
    }
    return false;
}

static bool read_shape(const char *value, acu_shape *shape, uint64_t *elements)
{
    *shape = (acu_shape){0};
    *elements = 1;
    if (!value || *value++ != '(')
        return false;
    while (*value && *value != ')') {
        char *end;
        long long n = strtoll(value, &end, 10);
        if (end == value || n <= 0 || shape->rank == ACU_MAX_RANK ||
            *elements > INT64_MAX / (uint64_t)n)
            return false;
        shape->dim[shape->rank++] = n;
        *elements *= (uint64_t)n;
        value = end + strspn(end, ", L");
    }
    if (shape->rank == 0)
        *shape = ACU_SHAPE(1);
    return *value == ')';
}

/* The header's length and place, by the format's version. */
static const char *find_header(const char *data, size_t bytes, size_t *length)
{
    const unsigned char *u = (const unsigned char *)data;
    if (bytes < 12 || memcmp(data, MAGIC, 6) != 0 || u[6] < 1 || u[6] > 3)
        return NULL;
    size_t start = u[6] == 1 ? 10 : 12;
    *length = u[8] | (size_t)u[9] << 8;
    if (u[6] > 1)
        *length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    return *length <= bytes - start ? data + start : NULL;
}

static bool read_array(const char *path, const char *data, size_t bytes, npy *array)
{
    size_t length = 0;
    uint64_t elements;
    char text[1024];
    const char *header = find_header(data, bytes, &length);
    if (!bytes)
        return refuse(path, "the file is empty");
    if (!header || length >= sizeof text)
        return refuse(path, "this is no .npy file");
    memcpy(text, header, length);
    text[length] = '\0';
    const char *type = value_of(text, "'descr'");
    if (!read_type(type, &array->dtype)) {
        fprintf(stderr, "acuda: %s: its elements are %.*s; they can be b1, i1 to u8, f2, f4, f8, "
                        "c8, c16, little-endian\n",
                path, type ? (int)strcspn(type, ",}") : 0, type ? type : "");
        return false;
    }
    const char *order = value_of(text, "'fortran_order'");
    if (!order || strncmp(order, "False", 5) != 0)
        return refuse(path, "it is in Fortran's order; save numpy.ascontiguousarray of it");
    if (!read_shape(value_of(text, "'shape'"), &array->shape, &elements))
        return refuse(path, "its shape can not be used (empty, or too many dimensions)");
    size_t rest = bytes - (size_t)(header + length - data), size = acu_dtype_bytes(array->dtype);
    if (elements > rest / size)
        return refuse(path, "it is cut off");
    array->bytes = (size_t)elements * size;
    array->data = malloc(array->bytes);
    if (!array->data)
        return refuse(path, "no memory");
    memcpy(array->data, header + length, array->bytes);
    return true;
}

bool npy_read(const char *path, npy *array)
{
    size_t bytes;
    char *data = cli_read_file(path, &bytes);
    bool read = data && read_array(path, data, bytes, array);
    free(data);
    return read;
}

bool npy_write(const char *path, const npy *array)
{
    char shape[256] = "", header[512];
    const char *type = npy_type(array->dtype);
    if (!type)
        return refuse(path, "NumPy has no such element type");
    for (int d = 0, at = 0; d < array->shape.rank; d++)
        at += snprintf(shape + at, sizeof shape - (size_t)at, "%" PRId64 ", ", array->shape.dim[d]);
    int n = snprintf(header, sizeof header,
                     "{'descr': '%c%s', 'fortran_order': False, "
                     "'shape': (%s), }",
                     type[1] == '1' && !type[2] ? '|' : '<', type, shape);
    while ((10 + n + 1) % 64) /* the data begins at a multiple of 64 */
        header[n++] = ' ';
    header[n++] = '\n';
    const char begin[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(n & 255), (char)(n >> 8)};
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(begin, 1, sizeof begin, file) == sizeof begin &&
                   fwrite(header, 1, (size_t)n, file) == (size_t)n &&
                   fwrite(array->data, 1, array->bytes, file) == array->bytes;
    if (file && fclose(file) != 0)
        written = false;
    return written || refuse(path, strerror(errno));
}
