/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who of several processes is lost: real ones, which are killed and stopped. */
#include "comm/alive.h"
#include "support/support.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3 };

static char folder[32], file[48];
static pid_t children[PROCESSES]; /* but 0, which is this one */
static acui_alive *mine;

static void begin(int own, acui_alive **made)
{
    static const char id[] = "the same for all";
    assert_works(acui_alive_begin(file, id, sizeof id, own, PROCESSES, made));
}

/* What a child says of itself; `again`: again and again, as a process that is busy. */
typedef struct says {
    uint64_t called;
    bool busy, again;
} says;

static void be(int own, says s, int ready)
{
    acui_alive *alive;
    begin(own, &alive);
    do {
        acui_alive_tell(alive, s.called, s.busy);
        if (ready >= 0 && write(ready, "", 1) != 1)
            _exit(1);
        ready = -1;
        poll(NULL, 0, s.again ? 10 : 0);
    } while (s.again);
    for (;;)
        pause();
}

static void start(says first, says second)
{
    const says all[PROCESSES] = {[1] = first, [2] = second};
    int ready[2];
    snprintf(folder, sizeof folder, "/tmp/acuda-alive-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/meet", folder);
    assert_int_equal(pipe(ready), 0);
    for (int i = 1; i < PROCESSES; i++) {
        char byte;
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            be(i, all[i], ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
    }
    close(ready[0]);
    close(ready[1]);
    begin(0, &mine);
}

static void send_to_first(int signal, int options)
{
    int status;
    assert_int_equal(kill(children[1], signal), 0);
    assert_int_equal(waitpid(children[1], &status, options), children[1]);
}

static void end(void)
{
    acui_alive_end(mine);
    for (int i = 1; i < PROCESSES; i++) {
        char path[64];
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
        snprintf(path, sizeof path, "%s.%d", file, i);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void only_the_first_is_lost(void)
{
    assert_true(acui_alive_lost(mine, 1));
    assert_false(acui_alive_lost(mine, 2));
    assert_false(acui_alive_lost(mine, 0));
}

static void who_was_killed_is_lost(void **state)
{
    (void)state;
    start((says){.called = 9}, (says){.called = 9});
    assert_false(acui_alive_find(mine, 8));
    send_to_first(SIGKILL, 0);
    assert_true(acui_alive_find(mine, UINT64_MAX));
    only_the_first_is_lost();
    end();
}

static void so_is_who_does_not_come(void **state)
{
    (void)state;
    start((says){.called = 3}, (says){.called = 4, .busy = true});
    assert_true(acui_alive_find(mine, 3));
    only_the_first_is_lost();
    end();
}

static void so_is_who_was_stopped(void **state)
{
    (void)state;
    start((says){.called = 4, .busy = true, .again = true}, (says){.called = 4});
    while (acui_alive_find(mine, 3)) /* on a machine with more to do it may seem to be stopped */
        ;
    send_to_first(SIGSTOP, WUNTRACED);
    assert_true(acui_alive_find(mine, 3));
    only_the_first_is_lost();
    end();
}

static void files_of_others_do_not_count(void **state)
{
    (void)state;
    start((says){.called = 9}, (says){.called = 9});
    acui_alive_end(mine);
    assert_works(acui_alive_begin(file, "another", 7, 0, PROCESSES, &mine));
    assert_true(acui_alive_find(mine, UINT64_MAX));
    assert_true(acui_alive_lost(mine, 1) && acui_alive_lost(mine, 2));
    end();
}

static void a_file_in_use_is_refused(void **state)
{
    (void)state;
    acui_alive *other;
    start((says){.called = 9}, (says){.called = 9});
    assert_fails(acui_alive_begin(file, "it", 2, 1, PROCESSES, &other), ACU_ERR_IO,
                 "written and locked|meet.1");
    assert_fails(acui_alive_begin("/nowhere/file", "it", 2, 1, PROCESSES, &other), ACU_ERR_IO,
                 "/nowhere/file.1|No such file");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_killed_is_lost),
        cmocka_unit_test(so_is_who_does_not_come),
        cmocka_unit_test(so_is_who_was_stopped),
        cmocka_unit_test(files_of_others_do_not_count),
        cmocka_unit_test(a_file_in_use_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
