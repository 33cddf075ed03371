/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example servers' sockets: input that never ends leaves other clients their turns, and an
 * answer does not wait until the client has acknowledged the one before. */
#include "../../examples/servers/net.h"

#include "support/support.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
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

/* Otherwise the last answers to a client that sends no more come 40 ms late. */
static void answers_do_not_wait_for_acknowledgements(void **state)
{
    (void)state;
    struct sockaddr_storage to;
    socklen_t size = sizeof to;
    int listener = net_listen(&(net_options){0}), at_once = 0;
    assert_int_equal(getsockname(listener, (struct sockaddr *)&to, &size), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&to, size), 0);
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&waiting, 1, -1), 1);
    int fd = net_accept(listener);
    size = sizeof at_once;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, &size), 0);
    assert_true(at_once);
    close(fd);
    close(client);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_ends_before_input_that_never_does),
        cmocka_unit_test(answers_do_not_wait_for_acknowledgements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
