/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* References: src/base/object.h itself. What a list finds while its last holder lets go of it ends
 * once, and not while somebody holds it. */
#include "explore.h"

#ifndef OBJECT_FILE
#define OBJECT_FILE "../../src/base/object.h"
#endif
#include OBJECT_FILE

static acui_object object;
static unsigned holders, ended;

static void start(void)
{
    object.refs = 1;
    holders = 1;
    ended = 0;
    acui_object_list(&object);
}

static void let_go(void)
{
    holders--;
    if (!acui_object_drop(&object))
        return;
    if (holders > 0)
        explore_fail("it ends while %u hold it", holders);
    if (ended++)
        explore_fail("it ends twice");
}

static void find(void)
{
    if (!acui_object_try_retain(&object))
        return;
    holders++;
    if (ended)
        explore_fail("it was found after its end");
    explore_point();
    let_go();
}

static void find_twice(void)
{
    find();
    find();
}

static void has_ended(void)
{
    if (ended != 1)
        explore_fail("it never ends");
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "found while let go", .start = start, .threads = {let_go, find_twice},
         .check = has_ended, .interruptions = 6, .delays = 2},
        {.name = "found by two", .start = start, .threads = {let_go, find, find},
         .check = has_ended, .interruptions = 4, .delays = 1},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
