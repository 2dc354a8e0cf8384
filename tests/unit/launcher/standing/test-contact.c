/* The URI file of a DVM: where its socket is, and which files are not believed. */
#include <config.h>

#include <fcntl.h>
#include <launcher/standing/contact.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(test_the_socket_is_beside_that_for_ranks)
{
    char path[64];
    ck_assert(
        contact_socket("17.0;unix:///tmp/keel-0/ab/0/oob;tcp://10.0.0.1:5\n", path, sizeof(path)));
    ck_assert_str_eq(path, "/tmp/keel-0/ab/0/dvm");
    ck_assert(contact_socket("17.0;unix:///a/oob\n", path, sizeof(path)));
    ck_assert_str_eq(path, "/a/dvm");
}
END_TEST

START_TEST(test_other_texts_name_none)
{
    static const char *const texts[] = {"",
                                        "17.0",
                                        "17.0;tcp://10.0.0.1:5",
                                        "17.0;unix://",
                                        "17.0;unix:///oob",
                                        "17.0;unix:///a/b",
                                        "17.0;unix://relative/oob"};
    char path[64];
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ck_assert_msg(!contact_socket(texts[i], path, sizeof(path)), "%s", texts[i]);
    }
    ck_assert(!contact_socket("1.0;unix:///tmp/keel-0/ab/0/oob", path, 20));
}
END_TEST

START_TEST(test_a_file_may_be_named_as_prrte_does)
{
    ck_assert_str_eq(contact_file("file:/tmp/uri"), "/tmp/uri");
    ck_assert_str_eq(contact_file("uri"), "uri");
}
END_TEST

static void refused(const char *path, const char *why)
{
    char reason[512] = "";
    ck_assert_int_eq(contact_connect(path, reason, sizeof(reason)), -1);
    ck_assert_msg(strstr(reason, why), "%s: %s", path, reason);
}

START_TEST(test_files_of_others_and_of_nothing_are_refused)
{
    char path[] = "/tmp/kt.uri.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    refused(path, "not a file of keel-dvm");
    ck_assert_int_gt(dprintf(fd, "1.0;unix:///nowhere/at/all/oob\n"), 0);
    refused(path, "is gone, or is on another host");
    ck_assert_int_eq(fchmod(fd, 0666), 0);
    refused(path, "others than this user");
    close(fd);
    ck_assert_int_eq(unlink(path), 0);
    refused(path, "No such file");
    refused("/tmp", "not a file of keel-dvm");
}
END_TEST

UNIT_MAIN("contact")
