/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two threads add to one tensor. Neither waits for the other or uses a lock: operations on the same
 * data run in the order in which they were submitted, whatever stream and thread they came from.
 */
#include "example.h"

#include <pthread.h>

extern const char threads_ptx[];

enum { N = 256, ROUNDS = 200 };

typedef struct job {
    acu_device *device;
    acu_kernel *accumulate;
    acu_tensor *total;
    float factor;
} job;

static void *work(void *argument)
{
    const job *j = argument;
    acu_op *part = acu_ones(ACU_F32, ACU_SHAPE(N));
    for (int i = 0; i < ROUNDS; i++) {
        acu_op *op = acu_launch(j->accumulate, acu_for_num_elems(N), acu_inout(j->total),
                                acu_in(acu_op_retain(part)), acu_f32(j->factor), acu_u32(N));
        check(acu_submit(j->device, op, NULL, NULL));
    }
    acu_op_release(part); /* it ran once; all rounds read the same tensor */
    return NULL;
}

int main(void)
{
    acu_device *device = open_device();
    acu_kernel *accumulate = load_kernel(device, threads_ptx, "accumulate");
    acu_tensor *total;
    check(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(N)), &total));

    pthread_t threads[2];
    job jobs[2];
    for (int t = 0; t < 2; t++) {
        jobs[t] = (job){device, accumulate, total, t == 0 ? 1.0f : 2.0f};
        if (pthread_create(&threads[t], NULL, work, &jobs[t]) != 0)
            return 1;
    }
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);

    float host[N];
    check(acu_read_sync(total, host, sizeof host));
    printf("each element is %g\n", host[0]);
    int right = 0;
    for (int i = 0; i < N; i++)
        right += host[i] == 3.0f * ROUNDS;
    acu_tensor_release(total);
    acu_kernel_release(accumulate);
    check(acu_close(device));
    return right == N ? 0 : 1;
}
