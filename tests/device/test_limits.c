/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the system may refuse a process, and what is said then. Each case is a process of its own,
 * which has opened nothing yet. */
#include "support/support.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* it needs more addresses than any limit here */
#else
#define SANITIZED 0
#endif

/* In the child: 0 if opening fails with these words. */
static int open_limited(void)
{
    struct rlimit limit;
    acu_device *device;
    acu_open_options options = test_options(0);
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    limit.rlim_cur = (rlim_t)1 << 30;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    if (acu_open(&options, &device) != ACU_ERR_DEVICE_MEMORY)
        return 3;
    const char *message = acu_last_error()->message;
    fprintf(stderr, "%s\n", message);
    return strstr(message, "ulimit -v") && strstr(message, "1024 MiB") &&
                   strstr(message, "SOFTCUDA_MEMORY")
               ? 0
               : 4;
}

static void addresses_are_limited(void **state)
{
    (void)state;
    test_software_only(); /* a GPU's driver may do with less, or answer otherwise */
    if (SANITIZED)
        skip();
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(open_limited());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* a build for GPUs only */
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_are_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
