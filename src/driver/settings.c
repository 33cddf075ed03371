/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading acu_driver_options and the three environment variables. */
#include "driver/settings.h"

#include "base/error.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

#define OLDEST_VERSION 11040

static acu_status read_request(const char *request, const char *by, acui_settings *settings)
{
    settings->explicit_request = true;
    settings->asked_by = by;
    if (strcmp(request, "gpu") == 0) {
        settings->origin = ACUI_SYSTEM;
    } else if (strcmp(request, "software") == 0) {
        settings->origin = ACUI_BUILT_IN;
    } else if (strchr(request, '/')) {
        settings->origin = ACUI_PATH;
        settings->path = request;
    } else {
        return acui_fail(ACU_ERR_INVALID,
                         "%s asks for the driver \"%s\": say gpu, software, or the path of a "
                         "library, with a slash in it",
                         by, request);
    }
    return ACU_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "11.4" or "11040". */
static int parse_version(const char *text)
{
    char *end;
    long major = is_digit(*text) ? strtol(text, &end, 10) : -1;
    if (major < 0 || major > 99999)
        return -1;
    if (*end == '\0')
        return (int)major;
    if (*end != '.' || major > 99 || !is_digit(end[1]))
        return -1;
    long minor = strtol(end + 1, &end, 10);
    if (*end != '\0' || minor > 99)
        return -1;
    return (int)(major * 1000 + minor * 10);
}

static acu_status limit_version(int version, const char *by, acui_settings *settings)
{
    if (version < OLDEST_VERSION)
        return acui_fail(ACU_ERR_INVALID,
                         "%s is no CUDA version to limit the driver to: say 11.4 (or 11040), the "
                         "oldest that acuda works with, or a later one",
                         by);
    if (settings->max_version == 0 || version < settings->max_version)
        settings->max_version = version;
    return ACU_OK;
}

/* Values other than 0 and 1 are errors: a user who says "no" must not get a slow program. */
static acu_status read_allowance(const char *allow, acui_settings *settings)
{
    if (!allow || strcmp(allow, "0") == 0)
        return ACU_OK;
    if (strcmp(allow, "1") != 0)
        return acui_fail(ACU_ERR_INVALID,
                         "ACUDA_ALLOW_SOFTWARE is \"%s\": 1 allows the software device, 0 does not",
                         allow);
    settings->allowed_by = "ACUDA_ALLOW_SOFTWARE";
    return ACU_OK;
}

/* A program that runs with somebody else's privileges ignores these variables, because they name a
 * library to load. */
static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

acu_status acui_settings_read(const acu_driver_options *given, acui_settings *settings)
{
    *settings = (acui_settings){.origin = ACUI_SYSTEM};
    acu_driver_options options;
    acu_status st = acui_options_read(&options, sizeof options, given, "acu_driver_open");
    if (st != ACU_OK)
        return st;
    const char *request = variable("ACUDA_DRIVER");
    if (options.request) {
        settings->program_request = true;
        st = read_request(options.request, "the program", settings);
    } else if (request) {
        st = read_request(request, "ACUDA_DRIVER", settings);
    }
    if (st == ACU_OK && options.max_version)
        st = limit_version(options.max_version, "max_version of the options", settings);
    const char *max = variable("ACUDA_DRIVER_MAX");
    if (st == ACU_OK && max)
        st = limit_version(parse_version(max), "ACUDA_DRIVER_MAX", settings);
    if (st == ACU_OK)
        st = read_allowance(variable("ACUDA_ALLOW_SOFTWARE"), settings);
    if (options.allow_software)
        settings->allowed_by = "the program";
    return st;
}
