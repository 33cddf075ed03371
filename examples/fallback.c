/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * When something fails: `or_else` runs another op, `finally` runs an op in any case, `with_context`
 * adds to errors what the program was doing, and a group is waited for as a whole. Of eight
 * requests for square roots, two contain negative numbers and get zeros instead.
 */
#include "example.h"

#include <stdatomic.h>

extern const char fallback_ptx[];

enum { REQUESTS = 8, N = 1000 };

static _Atomic(int) rescued, finished;

/* Runs on a thread of acuda's, once the result has arrived on the host. */
static acu_status check_numbers(void *user, const acu_val *values, size_t count)
{
    const float *x = acu_tensor_host(values[0].tensor);
    (void)user, (void)count;
    for (int i = 0; i < N; i++)
        if (x[i] != x[i])
            return ACU_ERR_INVALID;
    return ACU_OK;
}

/* Called only if it failed; returning false would let the failure stand. */
static bool use_zeros(void *user, const acu_error *error)
{
    (void)user;
    atomic_fetch_add(&rescued, 1);
    return error->status == ACU_ERR_CALLBACK;
}

static acu_status note_end(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    atomic_fetch_add(&finished, 1);
    return ACU_OK;
}

static acu_op *serve(acu_kernel *root, int request)
{
    float numbers[N];
    char name[32];
    for (int i = 0; i < N; i++)
        numbers[i] = request % 4 == 3 ? (float)-i : (float)(request * request);
    acu_op *x = acu_const(ACU_F32, ACU_SHAPE(N), numbers);
    acu_op *y = acu_launch(root, acu_for_num_elems(N), acu_inout(x), acu_u32(N));
    acu_op *checked = acu_host(check_numbers, NULL, acu_inout(acu_to_host(acu_first(y))));
    acu_op *zeros = acu_to_host(acu_zeros(ACU_F32, ACU_SHAPE(N)));
    acu_op *either = acu_or_else_if(checked, zeros, use_zeros, NULL);
    snprintf(name, sizeof name, "request %d", request);
    acu_op *note = acu_op_host(note_end, ACU_USER(NULL), NULL, 0, ACU_SITE); /* touches no data */
    return acu_with_context(acu_finally(either, note), name);
}

int main(void)
{
    acu_device *device = open_device();
    acu_kernel *root = load_kernel(device, fallback_ptx, "root");
    acu_future *futures[REQUESTS];
    acu_group *group;
    check(acu_group_create(NULL, &group));
    for (int i = 0; i < REQUESTS; i++)
        check(acu_group_submit(group, device, serve(root, i), NULL, &futures[i]));
    check(acu_group_wait(group, ACU_FOREVER)); /* the first failure, if one was left standing */

    int right = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const float *y = acu_tensor_host(acu_future_tensor(futures[i], 0));
        right += y[N - 1] == (i % 4 == 3 ? 0.0f : (float)i);
        acu_future_release(futures[i]);
    }
    printf("%d of %d requests are right, %d by the alternative; %d came to their end\n", right,
           REQUESTS, (int)rescued, (int)finished);
    acu_group_release(group);
    acu_kernel_release(root);
    check(acu_close(device));
    return right == REQUESTS && rescued == 2 && finished == REQUESTS ? 0 : 1;
}
