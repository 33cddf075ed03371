/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening libraries of a vendor: settings, versions, what failed, and the report of all this. */
#include "vendor/library.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/options.h"
#include "base/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static acui_library *const libraries[] = {
#define ACU_X(id, name, variable, package) &acui_library_##id,
    ACU_VENDORS(ACU_X)
#undef ACU_X
};

static const struct {
    const char *name, *variable, *package;
} facts[] = {
#define ACU_X(id, name, variable, package) {name, variable, package},
    ACU_VENDORS(ACU_X)
#undef ACU_X
};

_Static_assert(ACU_VENDOR_COUNT <= ACUI_VENDORS, "a device has room for all libraries");

/* Of each library; guarded by its lock. Not in its struct: so they take no room in the file. */
typedef struct texts {
    char asked[PATH_MAX]; /* the path that the program named; "": none */
    char path[PATH_MAX];
    char looked[360];     /* where it was looked for in vain */
    char unfit[200];      /* what was found there and is of no use, and why; "": nothing */
} texts;
static texts all_texts[ACU_VENDOR_COUNT];

static texts *texts_of(const acui_library *library)
{
    return &all_texts[library->id];
}

const char *acui_library_path(const acui_library *library)
{
    return texts_of(library)->path;
}

static bool is_vendor(acu_vendor vendor)
{
    return (unsigned)vendor < ACU_VENDOR_COUNT;
}

acui_library *acui_library_of(acu_vendor vendor)
{
    return is_vendor(vendor) ? libraries[vendor] : NULL;
}

/* ---- what the user says ---------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *user_says[ACU_VENDOR_COUNT]; /* paths */
static bool user_off[ACU_VENDOR_COUNT], user_requires[ACU_VENDOR_COUNT];

static void read_environment(void)
{
    for (int i = 0; i < ACU_VENDOR_COUNT; i++) {
        const char *text = secure_getenv(facts[i].variable);
        user_off[i] = text && strcmp(text, "off") == 0;
        user_requires[i] = text && strcmp(text, "required") == 0;
        user_says[i] = text && *text && !user_off[i] && !user_requires[i] ? text : NULL;
    }
}

/* ---- what failed ----------------------------------------------------------------------------- */

acu_status acui_library_fail(const acui_library *library, const char *call, int status)
{
    if (status == 0)
        return ACU_OK;
    for (size_t i = 0; i < library->status_count; i++) {
        const acui_vendor_status *s = &library->statuses[i];
        if (s->value == status)
            return acui_fail(s->status, "%s answered %s: %s", call, s->name, s->words);
    }
    return acui_fail(ACU_ERR_DRIVER, "%s answered %d, a status that is not known", call, status);
}

/* ---- opening; the lock is held --------------------------------------------------------------- */

/* The first symbol that is missing; NULL: none is. */
static const char *resolve(const acui_library *library, void *opened)
{
    for (size_t i = 0; i < library->symbol_count; i++)
        if (!acui_vendor_symbol(opened, library->symbols[i].name, library->symbols[i].field))
            return library->symbols[i].name;
    return NULL;
}

/* Why a library of this version is of no use; "": it is of use. What the program named is tried
 * with any driver. */
static void judge(const acui_library *library, int major, char *why, size_t bytes)
{
    const acu_driver_info *driver = acu_driver_info_of();
    bool asked = library->cuda && major >= library->oldest;
    int cuda = asked                       ? (int)((*library->cuda)() / 1000)
               : major >= library->with_13 ? 13 + (major - library->with_13)
               : major >= library->with_12 ? 12
                                           : 11;
    why[0] = '\0';
    if (major < library->oldest)
        snprintf(why, bytes, "is of version %d, and too old: %d is needed", major,
                 library->oldest);
    else if (!texts_of(library)->asked[0] && driver && cuda > driver->version / 1000)
        snprintf(why, bytes, "is of version %d, for CUDA %d, and too new for the driver, of CUDA "
                 "%d.%d", major, cuda, driver->version / 1000, driver->version % 1000 / 10);
}

/* Of what was tried before, if it is a symbol of the library's own. */
static void forget_property(const acui_library *library)
{
    for (size_t i = 0; i < library->symbol_count; i++)
        if (library->symbols[i].field == (void *)library->property)
            *library->property = NULL;
}

/* Into major, minor and patch. False: it should say it, and does not. */
static bool read_version(const acui_library *library, int part[3])
{
    part[0] = library->oldest;
    if (!library->property)
        return true;
    bool known = *library->property != NULL;
    for (int i = 0; i < 3 && known; i++)
        known = (*library->property)(i, &part[i]) == 0;
    return known;
}

static bool open_one(const acui_vendor *find, const char *name)
{
    acui_library *library = (acui_library *)(uintptr_t)find; /* its first member */
    int part[3] = {0};
    char why[100];
    void *opened = acui_vendor_open(name);
    if (!opened)
        return false;
    forget_property(library);
    const char *lacks = resolve(library, opened);
    bool known = read_version(library, part);
    why[0] = '\0';
    if (known && (!lacks || part[0] < library->oldest)) /* an old one lacks calls, and is too old */
        judge(library, part[0], why, sizeof why);
    else if (lacks)
        snprintf(why, sizeof why, "has no %s", lacks);
    else
        snprintf(why, sizeof why, "does not say its version");
    if (why[0]) {
        texts *t = texts_of(library);
        snprintf(t->unfit, sizeof t->unfit, "; %.90s %s", name, why);
        acui_vendor_close(opened);
        return false;
    }
    for (size_t i = 0; i < library->newer_count; i++)
        acui_vendor_symbol(opened, library->newer[i].name, library->newer[i].field);
    library->library = opened;
    library->version = part[0] * 10000 + part[1] * 100 + part[2];
    acui_vendor_path(opened, texts_of(library)->path, sizeof texts_of(library)->path);
    return true;
}

static bool look_for(acui_library *library)
{
    texts *t = texts_of(library);
    const char *asked = t->asked[0] ? t->asked : user_says[library->id];
    texts_of(library)->unfit[0] = '\0';
    library->find.open = open_one;
    return acui_vendor_find(&library->find, asked, t->looked, sizeof t->looked);
}

static void log_search(const acui_library *library)
{
    const char *name = facts[library->id].name;
    const texts *t = texts_of(library);
    if (library->library)
        ACUI_LOG(ACU_LOG_INFO, "library", -1, "%s %d.%d.%d: %s", name, library->version / 10000,
                 library->version % 10000 / 100, library->version % 100, t->path);
    else
        ACUI_LOG(t->unfit[0] ? ACU_LOG_WARNING : ACU_LOG_INFO, "library", -1,
                 "%s is not here: looked for %s%s", name, t->looked, t->unfit);
}

acu_status acui_library_open(acui_library *library)
{
    const texts *t = texts_of(library);
    pthread_once(&once, read_environment);
    pthread_mutex_lock(&library->lock);
    if (!library->library && !library->missing) {
        uint64_t from = acui_trace_from();
        library->missing = !look_for(library);
        acui_trace_slice(from, "load", "%s", facts[library->id].name);
        log_search(library);
    }
    acu_status st = ACU_OK;
    if (!library->library)
        st = acui_fail(ACU_ERR_NOT_FOUND, "%s is not here: looked for %s%s (%s install %s%s has "
                       "it)", facts[library->id].name, t->looked, t->unfit,
                       library->debian ? "apt" : "pip", facts[library->id].package,
                       library->anywhere ? "" : ", or CUDA's toolkit,");
    pthread_mutex_unlock(&library->lock);
    return st;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* The texts are static. */
static const struct {
    const char *off, *user_off, *stale, *software;
} refusals[] = {
#define ACU_X(id, name, variable, package)                                                         \
    {name " is switched off by acu_vendor_configure",                                              \
     name " is switched off by " variable "=off",                                                  \
     "the device was reset, and " name ", which was in use before, still knows the context that "  \
     "went",                                                                                       \
     name " is not looked for on the software device, where NVIDIA's can not run: name one that "  \
     "can with acu_vendor_configure"},
    ACU_VENDORS(ACU_X)
#undef ACU_X
};

const char *acui_library_refusal(acui_library *library, const acu_device *device)
{
    int id = (int)library->id;
    pthread_once(&once, read_environment);
    bool is_named = atomic_load_explicit(&library->named, memory_order_relaxed);
    if (atomic_load_explicit(&library->off, memory_order_relaxed))
        return refusals[id].off;
    if (user_off[id] && !is_named)
        return refusals[id].user_off;
    if (device->vendor.stale & (1u << id))
        return refusals[id].stale;
    bool fits = !device->info.software || is_named || library->anywhere;
    return fits ? NULL : refusals[id].software;
}

bool acui_library_required(const acui_library *library)
{
    pthread_once(&once, read_environment);
    return atomic_load_explicit(&library->required, memory_order_relaxed) ||
           (user_requires[library->id] &&
            !atomic_load_explicit(&library->off, memory_order_relaxed));
}

bool acui_library_preferred(acui_library *library, const acu_device *device)
{
    if (acui_library_required(library))
        return true;
    if (acui_library_refusal(library, device))
        return false;
    acu_error record = *acui_error(); /* that it is not there is no failure */
    bool found = acui_library_open(library) == ACU_OK;
    *acui_error() = record;
    return found;
}

acu_status acu_vendor_configure(acu_vendor vendor, const acu_vendor_settings *settings)
{
    acu_vendor_settings s;
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_options_read(&s, sizeof s, settings, __func__));
    if (!is_vendor(vendor))
        return acui_fail(ACU_ERR_INVALID, "acu_vendor_configure: %d is no library", (int)vendor);
    acui_library *library = libraries[vendor];
    if (s.off && s.required)
        return acui_fail(ACU_ERR_INVALID, "acu_vendor_configure: %s is off and required",
                         facts[vendor].name);
    if (s.path && strlen(s.path) >= sizeof texts_of(library)->asked)
        return acui_fail(ACU_ERR_INVALID, "acu_vendor_configure: the path of %s is too long",
                         facts[vendor].name);
    acu_status st = ACU_OK;
    pthread_mutex_lock(&library->lock);
    if (s.path && library->library && strcmp(s.path, texts_of(library)->asked) != 0 &&
        strcmp(s.path, texts_of(library)->path) != 0) {
        st = acui_fail(ACU_ERR_BUSY, "acu_vendor_configure: %s is open as %s", facts[vendor].name,
                       texts_of(library)->path);
    } else {
        if (!library->library)
            snprintf(texts_of(library)->asked, PATH_MAX, "%s", s.path ? s.path : "");
        library->missing = false;
        atomic_store_explicit(&library->named, s.path != NULL, memory_order_relaxed);
        atomic_store_explicit(&library->off, s.off, memory_order_relaxed);
        atomic_store_explicit(&library->required, s.required, memory_order_relaxed);
    }
    pthread_mutex_unlock(&library->lock);
    return st;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Once the library is open its version and path do not change, and are read without the lock. */
static bool is_open(acu_vendor vendor)
{
    if (!is_vendor(vendor) || acui_forked()) /* a thread of the parent may have held the lock */
        return false;
    pthread_mutex_lock(&libraries[vendor]->lock);
    bool open = libraries[vendor]->library != NULL;
    pthread_mutex_unlock(&libraries[vendor]->lock);
    return open;
}

const char *acu_vendor_name(acu_vendor vendor)
{
    return is_vendor(vendor) ? facts[vendor].name : "?";
}

int acu_vendor_version(acu_vendor vendor)
{
    return is_open(vendor) ? libraries[vendor]->version : 0;
}

const char *acu_vendor_path(acu_vendor vendor)
{
    return is_open(vendor) ? texts_of(libraries[vendor])->path : NULL;
}

typedef struct report {
    char *text;
    size_t bytes, length;
} report;

static void put(report *r, const char *format, ...) ACU_PRINTF(2, 3);
static void put(report *r, const char *format, ...)
{
    va_list list;
    size_t room = r->length < r->bytes ? r->bytes - r->length : 0;
    va_start(list, format);
    int n = vsnprintf(room ? r->text + r->length : NULL, room, format, list);
    va_end(list);
    r->length += n > 0 ? (size_t)n : 0;
}

static void report_on(report *r, acu_vendor vendor)
{
    acui_library *library = libraries[vendor];
    bool named = atomic_load_explicit(&library->named, memory_order_relaxed);
    put(r, "%s: ", facts[vendor].name);
    if (atomic_load_explicit(&library->off, memory_order_relaxed))
        put(r, "switched off by acu_vendor_configure\n");
    else if (user_off[vendor] && !named)
        put(r, "switched off by %s=off\n", facts[vendor].variable);
    else if (acui_library_open(library) != ACU_OK)
        put(r, "%s\n", acui_error()->message);
    else
        put(r, "%d.%d.%d, %s\n", library->version / 10000,
            library->version % 10000 / 100, library->version % 100, texts_of(library)->path);
}

size_t acu_vendor_report(char *text, size_t bytes)
{
    report r = {.text = text, .bytes = text ? bytes : 0};
    if (r.bytes)
        text[0] = '\0';
    if (acui_forked())
        return 0;
    acu_error record = *acui_error(); /* what is missing is no failure of this call */
    pthread_once(&once, read_environment);
    for (int i = 0; i < ACU_VENDOR_COUNT; i++)
        report_on(&r, (acu_vendor)i);
    *acui_error() = record;
    return r.length;
}
