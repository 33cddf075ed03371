/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the example servers do with input that never ends: other clients get their turns. */
#include "../../examples/servers/net.h"

#include "support/support.h"

#include <fcntl.h>
#include <unistd.h>

static void nothing(void *user)
{
    (void)user;
}

static void a_turn_ends_before_input_that_never_does(void **state)
{
    (void)state;
    (void)test_options(0); /* ends the test where this build has no device for it */
    if (!test_on_gpu())
        setenv("ACUDA_DRIVER", "software", 1);
    service *s = service_open((service_events){nothing, nothing, NULL});
    session *client = session_open(s, NULL);
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int turn = 0; turn < 3; turn++)
        assert_true(net_receive(fd, client));
    assert_true(session_wants_input(client));
    close(fd);
    session_close(client);
    assert_int_equal(service_close(s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_ends_before_input_that_never_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
