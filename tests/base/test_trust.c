/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who else could change a file: folders, links and modes on the way to it. */
#include "base/trust.h"
#include "support/support.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], file[96], folder[96], link_to[96], links[96], why[ACUI_DISTRUST];

static int setup(void **state)
{
    (void)state;
    strcpy(root, "/tmp/acuda_test_XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/folder", root);
    snprintf(file, sizeof file, "%s/folder/file", root);
    snprintf(links, sizeof links, "%s/links", root);
    snprintf(link_to, sizeof link_to, "%s/links/link", root);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(mkdir(links, 0755), 0);
    FILE *made = fopen(file, "w");
    assert_non_null(made);
    fclose(made);
    assert_int_equal(chmod(file, 0755), 0);
    assert_int_equal(symlink("../folder/file", link_to), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(file);
    unlink(link_to);
    rmdir(folder);
    rmdir(links);
    return rmdir(root);
}

static void is_trusted(const char *path)
{
    if (!acui_is_trusted(path, why))
        fail_msg("%s: %s", path, why);
}

static void is_not_trusted(const char *path, const char *words, const char *named)
{
    assert_false(acui_is_trusted(path, why));
    if (!strstr(why, words) || !strstr(why, named))
        fail_msg("%s: %s", path, why);
}

static void own_files(void **state)
{
    (void)state;
    char odd[128], relative[64], where[512];
    is_trusted(file);
    is_trusted(link_to);
    is_trusted("/");
    snprintf(odd, sizeof odd, "%s//./links/../folder/file", root);
    is_trusted(odd);
    snprintf(odd, sizeof odd, "%s/nothing/there", root);
    is_trusted(odd); /* so there is nothing to run */
    assert_non_null(getcwd(where, sizeof where));
    assert_int_equal(chdir(folder), 0);
    snprintf(relative, sizeof relative, "../links/link");
    is_trusted(relative);
    assert_int_equal(chmod(links, 0777), 0);
    is_not_trusted(relative, "everybody can write", "/links");
    assert_int_equal(chdir(where), 0);
}

static void modes(void **state)
{
    (void)state;
    assert_int_equal(chmod(file, 0757), 0);
    is_not_trusted(file, "everybody can write", file);
    is_not_trusted(link_to, "everybody can write", file);
    assert_int_equal(chmod(file, 0755), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    is_not_trusted(file, "everybody can write", folder);
    is_not_trusted(link_to, "everybody can write", folder);
    assert_int_equal(chmod(folder, 01777), 0); /* as /tmp: others can not exchange the file */
    is_trusted(file);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(links, 0777), 0); /* others can exchange the link */
    is_trusted(file);
    is_not_trusted(link_to, "everybody can write", links);
}

static void links_without_an_end(void **state)
{
    (void)state;
    unlink(link_to);
    assert_int_equal(symlink("link", link_to), 0);
    is_trusted(link_to); /* nor can it be opened */
}

/* Only root can give files away. */
static void owners_and_groups(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    if (chown(file, 4321, 0) != 0)
        skip(); /* a container without the right to */
    is_not_trusted(file, "belongs to user 4321", file);
    assert_int_equal(chown(file, 0, 4321), 0);
    is_trusted(file);
    assert_int_equal(chmod(file, 0775), 0);
    is_not_trusted(file, "group 4321 can write", file);
    assert_int_equal(chown(file, 0, 0), 0);
    is_trusted(file);
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(lchown(link_to, 4321, 0), 0);
    is_not_trusted(link_to, "belongs to user 4321", link_to);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(own_files), TEST(modes), TEST(links_without_an_end),
                                       TEST(owners_and_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
