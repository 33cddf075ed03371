/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Entry points by name and version: a program gets the form that its header declares, or none,
 * never another one, which would take its arguments for others. And what the driver says to NULL.
 */
#include "softcuda/driver_test.h"

#include "driver/softcuda.h"
#include "softcuda/driver_forms.h"

#include <dlfcn.h>

static const struct {
    const char *name;
    int since[5]; /* 0 behind the last */
} forms[] = {
#define FORMS(name, ...) {#name, {__VA_ARGS__}},
    DRIVER_FORMS(FORMS)
#undef FORMS
};

static const int versions[] = {11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020, 12030,
                               12040, 12050, 12060, 12080, 12090, 13000};

/* What the driver exports under a name. */
static void *exported(const char *symbol)
{
    if (SOFTWARE)
        return softcuda_symbol(symbol);
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return library ? dlsym(library, symbol) : NULL;
}

static void *form(const acu_driver_table *cu, const char *name, int version, unsigned *status)
{
    void *pointer = NULL;
    *status = 77;
    OK(cu->GetProcAddress_v2(name, &pointer, version, 0, status));
    return pointer;
}

/* The symbol of the form of that version; false: there is none. */
static bool symbol_of(size_t which, int version, char *symbol, size_t bytes)
{
    int found = -1;
    for (int k = 0; k < 5 && forms[which].since[k]; k++)
        if (forms[which].since[k] <= version)
            found = k;
    if (found > 0)
        snprintf(symbol, bytes, "%s_v%d", forms[which].name, found + 1);
    else
        snprintf(symbol, bytes, "%s", forms[which].name);
    if (strcmp(symbol, "cuGraphInstantiate_v2") == 0 && version >= 12000)
        snprintf(symbol, bytes, "cuGraphInstantiateWithFlags"); /* the header's only renaming */
    return found >= 0;
}

static void each_version_gets_its_form(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int driver, elsewhere = 0, absent = 0;
    OK(cu->DriverGetVersion(&driver));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
            char symbol[96];
            unsigned status;
            if (versions[v] > driver)
                continue;
            void *got = form(cu, forms[i].name, versions[v], &status);
            const bool known = symbol_of(i, versions[v], symbol, sizeof symbol);
            if (!SOFTWARE && known && !got && status == 1) {
                absent++; /* a driver need not have all: EGL's, for example */
                continue;
            }
            if (known != (got != NULL) || (status == 0) != known)
                fail_msg("%s, %d: %p, status %u, not %s", forms[i].name, versions[v], got, status,
                         known ? symbol : "none");
            if (known && got != exported(symbol)) {
                if (SOFTWARE)
                    fail_msg("%s, %d is not %s", forms[i].name, versions[v], symbol);
                elsewhere++; /* a GPU's driver may have other addresses than it exports */
            }
        }
    if (elsewhere)
        printf("%d addresses differ from the exported ones\n", elsewhere);
    if (absent)
        printf("%d forms are not in this driver\n", absent);
    unsigned status;
    assert_null(form(cu, "cuNothingOfThatName", 12000, &status));
    assert_int_equal(status, 1); /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
    close_driver(cu);
}

/* ---- calls of the forms that differ, with guards behind what they write ---- */

#define GUARD UINT64_C(0x5ca1ab1e0ddba11)

typedef struct guarded {
    uint64_t value, guard[4];
} guarded;

static guarded fresh(uint64_t value)
{
    return (guarded){value, {GUARD, GUARD, GUARD, GUARD}};
}

static void unharmed(const guarded *g)
{
    for (size_t i = 0; i < 4; i++)
        assert_true(g->guard[i] == GUARD);
}

typedef unsigned (*get_edges)(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
typedef unsigned (*get_edges_v2)(CUgraph, CUgraphNode *, CUgraphNode *, void *, size_t *);
typedef unsigned (*depend)(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
typedef unsigned (*depend_v2)(CUgraph, const CUgraphNode *, const CUgraphNode *, const void *,
                              size_t);

#define GET(to, cu, name, version) \
    do { \
        unsigned status_; \
        void *found_ = form(cu, name, version, &status_); \
        assert_non_null(found_); \
        memcpy(&(to), &found_, sizeof(to)); \
    } while (0)

static void edges_of(const acu_driver_table *cu, CUgraph graph, int version, size_t count)
{
    guarded n = fresh(99), from = fresh(0), to = fresh(0), data = fresh(UINT64_MAX);
    if (version < 12030) {
        get_edges edges;
        GET(edges, cu, "cuGraphGetEdges", version);
        OK(edges(graph, NULL, NULL, (size_t *)&n.value));
        assert_int_equal(n.value, count);
        n.value = 1;
        OK(edges(graph, (CUgraphNode *)&from.value, (CUgraphNode *)&to.value, (size_t *)&n.value));
    } else {
        get_edges_v2 edges;
        GET(edges, cu, "cuGraphGetEdges", version);
        OK(edges(graph, NULL, NULL, NULL, (size_t *)&n.value));
        assert_int_equal(n.value, count);
        n.value = 1;
        OK(edges(graph, (CUgraphNode *)&from.value, (CUgraphNode *)&to.value, &data.value,
                 (size_t *)&n.value));
        assert_true(data.value == 0);
    }
    assert_true(n.value == 1 && from.value && to.value);
    unharmed(&n);
    unharmed(&from);
    unharmed(&to);
    unharmed(&data);
}

static void graphs_of_each_version(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int driver;
    OK(cu->DriverGetVersion(&driver));
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        CUgraph graph;
        CUgraphNode a, b, c;
        if (versions[v] > driver)
            continue;
        OK(cu->GraphCreate(&graph, 0));
        OK(cu->GraphAddEmptyNode(&a, graph, NULL, 0));
        OK(cu->GraphAddEmptyNode(&b, graph, &a, 1));
        OK(cu->GraphAddEmptyNode(&c, graph, NULL, 0));
        if (versions[v] < 12030) {
            depend add;
            GET(add, cu, "cuGraphAddDependencies", versions[v]);
            OK(add(graph, &a, &c, 1));
        } else {
            depend_v2 add;
            GET(add, cu, "cuGraphAddDependencies", versions[v]);
            OK(add(graph, &a, &c, NULL, 1));
        }
        edges_of(cu, graph, versions[v], 2);
        OK(cu->GraphDestroy(graph));
    }
    close_driver(cu);
}

typedef unsigned (*info_v2)(CUstream, unsigned *, uint64_t *, CUgraph *, const CUgraphNode **,
                            size_t *);
typedef unsigned (*info_v3)(CUstream, unsigned *, uint64_t *, CUgraph *, const CUgraphNode **,
                            const void **, size_t *);

static void captures_of_each_version(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at;
    CUgraph made;
    int driver;
    OK(cu->DriverGetVersion(&driver));
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 64));
    OK(cu->StreamBeginCapture(stream, ACU_CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cu->MemsetD8Async(at, 0, 64, stream));
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        guarded status = fresh(0), id = fresh(0), graph = fresh(0), nodes = fresh(0),
                edges = fresh(0), n = fresh(99);
        if (versions[v] > driver)
            continue;
        if (versions[v] < 12030) {
            info_v2 info;
            GET(info, cu, "cuStreamGetCaptureInfo", versions[v]);
            OK(info(stream, (unsigned *)&status.value, &id.value, (CUgraph *)&graph.value,
                    (const CUgraphNode **)&nodes.value, (size_t *)&n.value));
        } else {
            info_v3 info;
            GET(info, cu, "cuStreamGetCaptureInfo", versions[v]);
            OK(info(stream, (unsigned *)&status.value, &id.value, (CUgraph *)&graph.value,
                    (const CUgraphNode **)&nodes.value, (const void **)&edges.value,
                    (size_t *)&n.value));
            unharmed(&edges);
        }
        assert_int_equal(status.value, ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE);
        assert_true(n.value == 1 && nodes.value && graph.value);
        unharmed(&status);
        unharmed(&id);
        unharmed(&graph);
        unharmed(&nodes);
        unharmed(&n);
    }
    OK(cu->StreamEndCapture(stream, &made));
    OK(cu->GraphDestroy(made));
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

typedef unsigned (*advise)(CUdeviceptr, size_t, unsigned, CUdevice);
typedef unsigned (*advise_v2)(CUdeviceptr, size_t, unsigned, acu_CUmemLocation);
typedef unsigned (*prefetch)(CUdeviceptr, size_t, CUdevice, CUstream);
typedef unsigned (*prefetch_v2)(CUdeviceptr, size_t, acu_CUmemLocation, unsigned, CUstream);

static void hints_of_each_version(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    const acu_CUmemLocation here = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    const acu_CUmemLocation nowhere = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = 77};
    CUdeviceptr managed;
    int driver;
    OK(cu->DriverGetVersion(&driver));
    OK(cu->MemAllocManaged(&managed, 4096, ACU_CU_MEM_ATTACH_GLOBAL));
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        if (versions[v] > driver)
            continue;
        if (versions[v] < 12020) {
            advise give;
            prefetch fetch;
            GET(give, cu, "cuMemAdvise", versions[v]);
            GET(fetch, cu, "cuMemPrefetchAsync", versions[v]);
            OK(give(managed, 4096, ACU_CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
            OK(fetch(managed, 4096, 0, NULL));
        } else {
            advise_v2 give;
            prefetch_v2 fetch;
            GET(give, cu, "cuMemAdvise", versions[v]);
            GET(fetch, cu, "cuMemPrefetchAsync", versions[v]);
            OK(give(managed, 4096, ACU_CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
            OK(fetch(managed, 4096, here, 0, NULL));
            IS(fetch(managed, 4096, nowhere, 0, NULL), ERROR_INVALID_DEVICE);
        }
    }
    OK(cu->CtxSynchronize());
    OK(cu->MemFree(managed));
    close_driver(cu);
}

/* ---- texts, and nothing in the place of something ---- */

static void texts_of_errors(void **state)
{
    (void)state;
    static const struct {
        unsigned result;
        const char *text;
    } known[] = {
        {0, "no error"},
        {1, "invalid argument"},
        {3, "initialization error"},
        {100, "no CUDA-capable device is detected"},
        {101, "invalid device ordinal"},
        {200, "device kernel image is invalid"},
        {201, "invalid device context"},
        {209, "no kernel image is available for execution on the device"},
        {218, "a PTX JIT compilation failed"},
        {400, "invalid resource handle"},
        {500, "named symbol not found"},
        {600, "device not ready"},
        {700, "an illegal memory access was encountered"},
        {710, "device-side assert triggered"},
        {719, "unspecified launch failure"},
        {801, "operation not supported"},
        {900, "operation not permitted when stream is capturing"},
        {999, "unknown error"},
    };
    static const unsigned all[] = {
#define VALUE(name, value) value,
        ACU_ABI_RESULTS(VALUE)
#undef VALUE
    };
    const acu_driver_table *cu = open_driver();
    const char *text, *name;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OK(cu->GetErrorString(known[i].result, &text));
        assert_string_equal(text, known[i].text);
    }
    for (size_t i = 0; SOFTWARE && i < sizeof all / sizeof *all; i++) {
        OK(cu->GetErrorName(all[i], &name));
        OK(cu->GetErrorString(all[i], &text));
        if (text == name && all[i] != 916) /* of the newest one no text is known */
            fail_msg("%s has no text", name);
    }
    IS(cu->GetErrorString(12345, &text), ERROR_INVALID_VALUE);
    close_driver(cu);
}

typedef unsigned (*get_name)(const char **, void *);
typedef unsigned (*get_param)(void *, size_t, size_t *, size_t *);

static void names_of_nothing(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUlibrary library;
    CUkernel kernel;
    const char *name;
    size_t offset, bytes;
    int driver;
    OK(cu->DriverGetVersion(&driver));
    if (driver < 12040) {
        close_driver(cu);
        skip();
    }
    get_name kernel_name, function_name;
    get_param param;
    GET(kernel_name, cu, "cuKernelGetName", 12040);
    GET(function_name, cu, "cuFuncGetName", 12040);
    GET(param, cu, "cuKernelGetParamInfo", 12040);
    IS(kernel_name(&name, NULL), ERROR_INVALID_VALUE);
    IS(function_name(&name, NULL), ERROR_INVALID_VALUE);
    OK(cu->LibraryLoadData(&library, test_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cu->LibraryGetKernel(&kernel, library, "store"));
    OK(param(kernel, 1, &offset, &bytes));
    assert_true(offset == 8 && bytes == 4);
    OK(cu->CtxSetCurrent(NULL));
    IS(param(kernel, 1, &offset, &bytes), ERROR_INVALID_CONTEXT);
    OK(cu->LibraryUnload(library));
    close_driver(cu);
}

static void cooperative_launches_are_announced(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int value = 0;
    OK(cu->DeviceGetAttribute(&value, ACU_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    assert_int_equal(value, 1);
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_gets_its_form),
        cmocka_unit_test(graphs_of_each_version),
        cmocka_unit_test(captures_of_each_version),
        cmocka_unit_test(hints_of_each_version),
        cmocka_unit_test(texts_of_errors),
        cmocka_unit_test(names_of_nothing),
        cmocka_unit_test(cooperative_launches_are_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
