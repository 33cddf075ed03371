/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the subcommands share. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option common_options[] = {
    {"json", 'j', NULL, 0, "print JSON", 0},
    {"driver", 'd', "WHICH", 0, "only gpu, software, or a driver's path", 0},
    {0}};

static error_t parse_common(int key, char *value, struct argp_state *state)
{
    cli_common *c = state->input;
    switch (key) {
    case 'j':
        c->json = true;
        return 0;
    case 'd':
        c->driver = value;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "no arguments are expected");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_common_args = {common_options, parse_common, NULL, NULL, NULL, NULL, NULL};

int cli_fail(const char *what)
{
    char text[1024];
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "acuda: %s: %s\n", what, text);
    if (acu_last_error()->status == ACU_ERR_COMPILE || acu_last_error()->status == ACU_ERR_PTX)
        fputs(acu_last_log(), stderr);
    return CLI_FAILED;
}

char *cli_read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t have = 0, room = 0;
    while (file) {
        if (have + 1 >= room) {
            char *grown = realloc(data, room = 2 * room + 65536);
            if (!grown)
                break;
            data = grown;
        }
        size_t n = fread(data + have, 1, room - have - 1, file);
        have += n;
        if (n == 0)
            break;
    }
    if (!file || ferror(file) || !data) {
        fprintf(stderr, "acuda: %s: %s\n", path, strerror(errno));
        free(data);
        data = NULL;
    } else {
        data[have] = '\0';
        *bytes = have;
    }
    if (file)
        fclose(file);
    return data;
}

bool cli_read_dims(const char *text, unsigned dims[3])
{
    dims[0] = dims[1] = dims[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (end == text || errno || n == 0 || n > UINT32_MAX || *text == '-')
            return false;
        dims[i] = (unsigned)n;
        if (!*end)
            return true;
        if (*end != ',' && *end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

acu_status cli_open_driver(const char *driver)
{
    acu_driver_options options = {
        .size = sizeof options, .request = driver, .allow_software = true};
    return acu_driver_open(&options, NULL);
}
