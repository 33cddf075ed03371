/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda devices [options]
 * Lists the devices of the system's driver and of the software device. A process uses one driver,
 * so each list is made in a child process.
 */
#include "cli.h"
#include "users.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct argp_child children[] = {{&cli_common_args, 0, NULL, 0}, {0}};

static const struct argp_option options[] = {
    {"root", 'r', "FOLDER", 0, "look for users in FOLDER/proc, as of a container", 0}, {0}};

typedef struct call {
    cli_common common;
    const char *root;
} call;

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &c->common;
        return 0;
    case 'r':
        c->root = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp args = {
    options,
    parse,
    NULL,
    "List the devices that acuda can use: GPUs, with the processes that use them (those of other "
    "users are shown to root only), and the software device.\v"
    "Exit status: 0 if there is a device, 1 if there is none or a driver fails. acuda doctor says "
    "more about what does not work.",
    children,
    NULL,
    NULL};

/* ---- in the child: one driver's devices as JSON ---- */

static void add(struct json_object *to, const char *name, struct json_object *value)
{
    json_object_object_add(to, name, value);
}

static int attribute(unsigned which, CUdevice device)
{
    int value = 0;
    return acu_driver()->DeviceGetAttribute(&value, which, device) == 0 ? value : 0;
}

static struct json_object *features_of(CUdevice device)
{
    static const struct {
        unsigned attribute;
        const char *name;
    } known[] = {{ACU_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, "memory pools"},
                 {ACU_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, "managed memory"},
                 {ACU_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, "cooperative launches"},
                 {ACU_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, "clusters"}};
    struct json_object *features = json_object_new_array();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (attribute(known[i].attribute, device))
            json_object_array_add(features, json_object_new_string(known[i].name));
    return features;
}

static struct json_object *users_of(CUdevice device, const char *root)
{
    char pci[32];
    snprintf(pci, sizeof pci, "%04x:%02x:%02x.0",
             (unsigned)attribute(ACU_CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device),
             (unsigned)attribute(ACU_CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device),
             (unsigned)attribute(ACU_CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device));
    return cli_users_of(root, pci);
}

static struct json_object *describe(int ordinal, const char *root)
{
    const acu_driver_table *cu = acu_driver();
    struct json_object *o = json_object_new_object();
    CUdevice device = 0;
    char name[256] = "", capability[32];
    size_t bytes = 0;
    add(o, "ordinal", json_object_new_int(ordinal));
    if (cu->DeviceGet(&device, ordinal) != 0)
        return o;
    cu->DeviceGetName(name, sizeof name, device);
    cu->DeviceTotalMem(&bytes, device);
    snprintf(capability, sizeof capability, "%d.%d",
             attribute(ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
             attribute(ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    add(o, "name", json_object_new_string(name));
    add(o, "capability", json_object_new_string(capability));
    add(o, "memory", json_object_new_int64((int64_t)bytes));
    add(o, "multiprocessors",
        json_object_new_int(attribute(ACU_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device)));
    add(o, "features", features_of(device));
    /* The software device's place is invented: a GPU may be there. */
    if (!acu_driver_info_of()->software || *root)
        add(o, "users", users_of(device, root));
    return o;
}

/* {"driver", "path", "cuda", "devices"} or {"driver", "error"} */
static struct json_object *list_driver(const char *driver, const char *root)
{
    struct json_object *o = json_object_new_object();
    add(o, "driver", json_object_new_string(driver));
    if (cli_open_driver(driver) != ACU_OK) {
        char text[1024];
        acu_error_describe(acu_last_error(), text, sizeof text);
        add(o, "error", json_object_new_string(text));
        add(o, "absent", json_object_new_boolean(acu_last_error()->status == ACU_ERR_NO_DRIVER));
        return o;
    }
    const acu_driver_info *info = acu_driver_info_of();
    char version[32];
    snprintf(version, sizeof version, "%d.%d", info->version / 1000, info->version % 1000 / 10);
    add(o, "software", json_object_new_boolean(info->software));
    add(o, "path", info->path ? json_object_new_string(info->path) : NULL);
    add(o, "cuda", json_object_new_string(version));
    struct json_object *devices = json_object_new_array();
    for (int i = 0; i < info->devices; i++)
        json_object_array_add(devices, describe(i, root));
    add(o, "devices", devices);
    return o;
}

/* ---- in the parent ---- */

static struct json_object *failure(const char *driver, const char *why)
{
    struct json_object *o = json_object_new_object();
    add(o, "driver", json_object_new_string(driver));
    add(o, "error", json_object_new_string(why));
    return o;
}

/* All that the child writes, as JSON. */
static struct json_object *read_list(int from)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *list = NULL;
    char text[4096];
    ssize_t n;
    while ((n = read(from, text, sizeof text)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && !list)
            list = json_tokener_parse_ex(tokener, text, (int)n);
    json_tokener_free(tokener);
    return list;
}

static struct json_object *ask(const char *driver, const char *root)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return failure(driver, strerror(errno));
    pid_t child = fork();
    if (child < 0)
        return failure(driver, strerror(errno));
    if (child == 0) {
        FILE *to = fdopen(ends[1], "w");
        if (to)
            fputs(json_object_to_json_string(list_driver(driver, root)), to);
        _exit(to && fclose(to) == 0 ? CLI_OK : CLI_FAILED);
    }
    close(ends[1]);
    struct json_object *list = read_list(ends[0]);
    close(ends[0]);
    waitpid(child, &status, 0);
    return list ? list : failure(driver, "the driver crashed: see acuda doctor");
}

static const char *text_of(struct json_object *o, const char *name)
{
    struct json_object *value;
    return json_object_object_get_ex(o, name, &value) && value ? json_object_get_string(value) : "";
}

static void print_device(struct json_object *d)
{
    struct json_object *features = json_object_object_get(d, "features");
    printf("  %s  %s, %s, %lld MiB, %s multiprocessors", text_of(d, "ordinal"), text_of(d, "name"),
           text_of(d, "capability"),
           (long long)json_object_get_int64(json_object_object_get(d, "memory")) >> 20,
           text_of(d, "multiprocessors"));
    for (size_t i = 0; features && i < json_object_array_length(features); i++)
        printf("%s%s", i ? ", " : "; ",
               json_object_get_string(json_object_array_get_idx(features, i)));
    struct json_object *users = json_object_object_get(d, "users");
    for (size_t i = 0; users && i < json_object_array_length(users); i++) {
        struct json_object *user = json_object_array_get_idx(users, i);
        printf("%s%s (%s)", i ? ", " : "; used by ", text_of(user, "name"), text_of(user, "pid"));
    }
    printf("\n");
}

static void print_list(struct json_object *list)
{
    struct json_object *devices = json_object_object_get(list, "devices");
    if (!devices) {
        printf("%s: %s\n", text_of(list, "driver"), text_of(list, "error"));
        return;
    }
    const char *path = text_of(list, "path");
    printf("%s: CUDA %s%s%s\n", text_of(list, "driver"), text_of(list, "cuda"), *path ? ", " : "",
           path);
    for (size_t i = 0; i < json_object_array_length(devices); i++)
        print_device(json_object_array_get_idx(devices, i));
}

int cli_devices(int count, char **words)
{
    call c = {.root = ""};
    argp_parse(&args, count, words, 0, NULL, &c);
    const char *const both[] = {"gpu", "software"};
    const char *const *drivers = c.common.driver ? &c.common.driver : both;
    struct json_object *all = json_object_new_array();
    size_t found = 0, broken = 0;
    for (size_t i = 0; i < (c.common.driver ? 1 : 2); i++) {
        struct json_object *list = ask(drivers[i], c.root);
        struct json_object *devices = json_object_object_get(list, "devices");
        struct json_object *absent = json_object_object_get(list, "absent");
        found += devices ? json_object_array_length(devices) : 0;
        broken += !devices && !(absent && json_object_get_boolean(absent));
        json_object_array_add(all, list);
        if (!c.common.json)
            print_list(list);
    }
    if (c.common.json)
        puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
    json_object_put(all);
    return found && !broken ? CLI_OK : CLI_FAILED;
}
