/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Any driver call can be made to fail, on a GPU as on the software device. */
#include "base/error.h"
#include "driver/open.h"
#include "driver/result.h"

/* ---- a program that makes a call of many kinds, and gives everything back -------------------- */

typedef struct job {
    CUcontext context;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    void *pinned;
    bool retained;
} job;

#define STEP(call) \
    if ((result = (call)) != ACU_CUDA_SUCCESS) \
    return result

static unsigned job_start(const acu_driver_table *cu, job *j)
{
    unsigned result;
    STEP(cu->DevicePrimaryCtxRetain(&j->context, 0));
    j->retained = true;
    STEP(cu->CtxSetCurrent(j->context));
    STEP(cu->StreamCreate(&j->stream, ACU_CU_STREAM_NON_BLOCKING));
    STEP(cu->EventCreate(&j->event, ACU_CU_EVENT_DISABLE_TIMING));
    STEP(cu->MemAlloc(&j->memory, 1024));
    STEP(cu->MemHostAlloc(&j->pinned, 1024, 0));
    return result;
}

static unsigned job_work(const acu_driver_table *cu, job *j)
{
    unsigned result;
    STEP(cu->MemsetD8Async(j->memory, 7, 1024, j->stream));
    STEP(cu->MemcpyDtoHAsync(j->pinned, j->memory, 1024, j->stream));
    STEP(cu->EventRecord(j->event, j->stream));
    STEP(cu->StreamWaitEvent(j->stream, j->event, 0));
    STEP(cu->StreamSynchronize(j->stream));
    STEP(cu->EventSynchronize(j->event));
    assert_int_equal(((const unsigned char *)j->pinned)[1023], 7);
    return result;
}

/* Tries everything, and returns the first failure. */
static unsigned job_end(const acu_driver_table *cu, job *j)
{
    unsigned results[] = {
        j->stream ? cu->StreamSynchronize(j->stream) : 0,
        j->pinned ? cu->MemFreeHost(j->pinned) : 0,
        j->memory ? cu->MemFree(j->memory) : 0,
        j->event ? cu->EventDestroy(j->event) : 0,
        j->stream ? cu->StreamDestroy(j->stream) : 0,
        j->retained ? cu->DevicePrimaryCtxRelease(0) : 0,
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i])
            return results[i];
    return ACU_CUDA_SUCCESS;
}

static unsigned job_run(const acu_driver_table *cu)
{
    job j = {.retained = false};
    unsigned result = job_start(cu, &j);
    if (result == ACU_CUDA_SUCCESS)
        result = job_work(cu, &j);
    unsigned ended = job_end(cu, &j);
    return result ? result : ended;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

typedef struct totals {
    int64_t live[ACU_DRIVER_KIND_NONE], spared[ACU_DRIVER_KIND_NONE];
} totals;

static totals read_totals(void)
{
    totals t;
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++) {
        t.live[kind] = acu_driver_live((acu_driver_kind)kind);
        t.spared[kind] = acu_driver_spared((acu_driver_kind)kind);
    }
    return t;
}

/* Nothing is left over except objects whose destruction was made to fail. */
static void assert_nothing_leaked(const totals *before, const char *what)
{
    totals after = read_totals();
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++) {
        int64_t left = after.live[kind] - before->live[kind];
        int64_t spared = after.spared[kind] - before->spared[kind];
        if (left != spared)
            fail_msg("failing %s: %d objects of kind %d left, %d spared", what, (int)left, kind,
                     (int)spared);
    }
}

static void sweep_one(const acu_driver_table *cu, acu_driver_call call, uint64_t nth, bool on)
{
    const char *name = call == ACU_CALL_ANY ? "any" : acu_driver_call_name(call);
    totals before = read_totals();
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = call,
                              .nth = nth,
                              .from_then_on = on,
                              .result = ACU_CUDA_ERROR_SYSTEM_NOT_READY};
    assert_int_equal(acu_driver_fail(&fault), ACU_OK);
    unsigned result = job_run(cu);
    acu_driver_fail_clear();
    if (result != ACU_CUDA_ERROR_SYSTEM_NOT_READY)
        fail_msg("failing %s %d: %s", name, (int)nth, acu_driver_result_name(result));
    assert_true(acu_driver_fault_seen() >= nth);
    assert_int_equal(acu_driver_fault_hits(), on ? acu_driver_fault_seen() - nth + 1 : 1);
    assert_nothing_leaked(&before, name);
    assert_int_equal(job_run(cu), ACU_CUDA_SUCCESS); /* no fault is left behind */
}

static void every_call_can_fail(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    assert_int_equal(job_run(cu), ACU_CUDA_SUCCESS);
    acu_driver_count_calls(true);
    assert_int_equal(job_run(cu), ACU_CUDA_SUCCESS);
    acu_driver_count_calls(false);
    uint64_t counts[ACU_CALL_COUNT], total = acu_driver_calls(ACU_CALL_ANY);
    int kinds = 0;
    for (int i = 0; i < ACU_CALL_COUNT; i++) {
        counts[i] = acu_driver_calls((acu_driver_call)i);
        kinds += counts[i] != 0;
    }
    assert_int_equal(kinds, 17);
    assert_int_equal(total, 18);
    for (int i = 0; i < ACU_CALL_COUNT; i++)
        for (uint64_t nth = 1; nth <= counts[i]; nth++) {
            sweep_one(cu, (acu_driver_call)i, nth, false);
            sweep_one(cu, (acu_driver_call)i, nth, true);
        }
    for (uint64_t nth = 1; nth <= total; nth++)
        sweep_one(cu, ACU_CALL_ANY, nth, false);
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void faults_count_from_when_they_are_set(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int version;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_DriverGetVersion, .nth = 3};
    assert_int_equal(acu_driver_fail(&fault), ACU_OK);
    for (int i = 1; i <= 5; i++)
        assert_int_equal(cu->DriverGetVersion(&version),
                         i == 3 ? ACU_CUDA_ERROR_UNKNOWN : ACU_CUDA_SUCCESS);
    assert_int_equal(acu_driver_fault_seen(), 5);
    assert_int_equal(acu_driver_fault_hits(), 1);
    fault.nth = 0; /* the next */
    fault.from_then_on = true;
    fault.result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(acu_driver_fail(&fault), ACU_OK);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(cu->DriverGetVersion(&version), ACU_CUDA_ERROR_OUT_OF_MEMORY);
    acu_driver_fail_clear();
    assert_int_equal(cu->DriverGetVersion(&version), ACU_CUDA_SUCCESS);
    assert_int_equal(acu_driver_fault_hits(), 3);
    close_driver(cu);
}

/* Of a program that was built with other headers, where they had fewer fields, or more. */
static void structs_of_other_versions_are_read(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver(), *again = NULL;
    int version;
    struct {
        acu_driver_options known;
        uint64_t newer;
    } options = {.known = {.size = offsetof(acu_driver_options, allow_software)}};
    struct {
        acu_driver_fault known;
        uint64_t newer;
    } fault = {.known = {.size = offsetof(acu_driver_fault, nth)}};
    fault.known.call = ACU_CALL_DriverGetVersion;
    options.known.max_version = -1; /* beyond what an older program has */
    assert_int_equal(acu_driver_open(&options.known, &again), ACU_OK);
    assert_ptr_equal(again, cu);
    fault.known.nth = 2;
    assert_int_equal(acu_driver_fail(&fault.known), ACU_OK);
    assert_int_equal(cu->DriverGetVersion(&version), ACU_CUDA_ERROR_UNKNOWN);
    acu_driver_fail_clear();
    options.known.max_version = 0;
    options.known.size = sizeof options;
    fault.known.size = sizeof fault;
    assert_int_equal(acu_driver_open(&options.known, &again), ACU_OK);
    assert_int_equal(acu_driver_fail(&fault.known), ACU_OK);
    acu_driver_fail_clear();
    options.newer = fault.newer = 1;
    assert_int_equal(acu_driver_open(&options.known, &again), ACU_ERR_NOT_SUPPORTED);
    assert_int_equal(acu_driver_fail(&fault.known), ACU_ERR_NOT_SUPPORTED);
    close_driver(cu);
}

static void bad_faults_are_refused(void **state)
{
    (void)state;
    acu_driver_fault fault = {.call = ACU_CALL_Init};
    assert_int_equal(acu_driver_fail(&fault), ACU_ERR_INVALID);
    assert_int_equal(acu_driver_fail(NULL), ACU_ERR_INVALID);
    fault.size = sizeof fault;
    fault.call = ACU_CALL_COUNT;
    assert_int_equal(acu_driver_fail(&fault), ACU_ERR_INVALID);
    assert_non_null(strstr(acu_last_error()->message, "is no driver call"));
}

static void failures_are_recorded_in_words(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    static const struct {
        unsigned result;
        acu_status status;
    } cases[] = {
        {ACU_CUDA_ERROR_OUT_OF_MEMORY, ACU_ERR_DEVICE_MEMORY},
        {ACU_CUDA_ERROR_ILLEGAL_ADDRESS, ACU_ERR_DEVICE_LOST},
        {ACU_CUDA_ERROR_INVALID_PTX, ACU_ERR_PTX},
        {ACU_CUDA_ERROR_NOT_SUPPORTED, ACU_ERR_NOT_SUPPORTED},
        {ACU_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, ACU_ERR_CAPTURE},
        {ACU_CUDA_ERROR_DEINITIALIZED, ACU_ERR_SHUTDOWN},
        {ACU_CUDA_ERROR_INVALID_VALUE, ACU_ERR_DRIVER},
        {4711, ACU_ERR_DRIVER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        acu_driver_fault fault = {
            .size = sizeof fault, .call = ACU_CALL_StreamCreate, .result = cases[i].result};
        assert_int_equal(acu_driver_fail(&fault), ACU_OK);
        acu_status st = ACUI_CU(cu, StreamCreate, (&stream, 0), "making stream %d", 42);
        const acu_error *error = acu_last_error();
        assert_int_equal(st, cases[i].status);
        assert_int_equal(error->status, cases[i].status);
        assert_int_equal(error->driver_result, cases[i].result);
        assert_string_equal(error->driver_call, "cuStreamCreate");
        assert_string_equal(error->driver_name, acu_driver_result_name(cases[i].result));
        assert_int_equal(strncmp(error->message, "making stream 42", 16), 0);
    }
    acu_driver_fail_clear();
    char line[512];
    acu_error_describe(acu_last_error(), line, sizeof line);
    assert_string_equal(line, "cuStreamCreate: CUDA_ERROR_? (4711): a driver call failed: making "
                              "stream 42");
    close_driver(cu);
}

static void not_ready_is_no_failure(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    acui_fail(ACU_ERR_SHAPE, "as it was");
    CUevent event;
    assert_int_equal(ACUI_CU(cu, EventCreate, (&event, 0), "making an event"), ACU_OK);
    acu_driver_fault fault = {
        .size = sizeof fault, .call = ACU_CALL_EventQuery, .result = ACU_CUDA_ERROR_NOT_READY};
    assert_int_equal(acu_driver_fail(&fault), ACU_OK);
    assert_int_equal(ACUI_CU(cu, EventQuery, (event), "looking"), ACU_NOT_READY);
    acu_driver_fail_clear();
    assert_string_equal(acu_last_error()->message, "as it was");
    assert_int_equal(cu->EventDestroy(event), ACU_CUDA_SUCCESS);
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_count_from_when_they_are_set),
        cmocka_unit_test(structs_of_other_versions_are_read),
        cmocka_unit_test(bad_faults_are_refused),
        cmocka_unit_test(failures_are_recorded_in_words),
        cmocka_unit_test(not_ready_is_no_failure),
        cmocka_unit_test(every_call_can_fail),
    };
    return cmocka_run_group_tests_name("driver.faults", tests, NULL, NULL);
}
