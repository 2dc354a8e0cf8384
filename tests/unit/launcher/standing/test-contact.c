/* The URI file of a DVM: where its socket is, and which files are not believed. */
#include <config.h>

#include <base/host/hostname.h>
#include <base/net/sock.h>
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

START_TEST(test_the_host_is_the_second_line)
{
    char host[8];
    ck_assert(contact_host("17.0;unix:///a/oob\nvm\n", host, sizeof(host)));
    ck_assert_str_eq(host, "vm");
    ck_assert(contact_host("\na\tb\nmore", host, sizeof(host)));
    ck_assert_str_eq(host, "a?b");
    ck_assert(!contact_host("17.0;unix:///a/oob\n", host, sizeof(host)));
    ck_assert(!contact_host("17.0;unix:///a/oob\n\nvm", host, sizeof(host)));
    ck_assert(!contact_host("17.0\nlonger-name\n", host, sizeof(host)));
}
END_TEST

START_TEST(test_a_file_may_be_named_as_prrte_does)
{
    ck_assert_str_eq(contact_file("file:/tmp/uri"), "/tmp/uri");
    ck_assert_str_eq(contact_file("uri"), "uri");
}
END_TEST

static char path[32];
static int fd;

static void begin(const char *text)
{
    strcpy(path, "/tmp/kt.uri.XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
}

static void end(void)
{
    close(fd);
    ck_assert_int_eq(unlink(path), 0);
}

static void refused(const char *file, const char *why)
{
    char reason[512] = "";
    ck_assert_int_eq(contact_connect(file, reason, sizeof(reason)), -1);
    ck_assert_msg(strstr(reason, why), "%s: %s", file, reason);
}

/* why NULL: it is free. */
static void assert_free(const char *file, const char *why)
{
    char reason[512] = "";
    ck_assert_msg(contact_is_free(file, reason, sizeof(reason)) == !why, "%s", reason);
    ck_assert_msg(!why || strstr(reason, why), "%s: %s", file, reason);
}

START_TEST(test_files_of_others_and_of_nothing_are_refused)
{
    begin("");
    refused(path, "not a file of keel-dvm");
    assert_free(path, NULL);
    ck_assert_int_gt(dprintf(fd, "1.0;unix:///nowhere/at/all/oob\n"), 0);
    refused(path, "not a file of keel-dvm");
    assert_free(path, "not a file of keel-dvm");
    ck_assert_int_gt(dprintf(fd, "localhost\n"), 0);
    ck_assert_int_eq(fchmod(fd, 0666), 0);
    refused(path, "others than this user");
    assert_free(path, "others than this user");
    end();
    refused(path, "No such file");
    assert_free(path, NULL);
    refused("/tmp", "not a file of keel-dvm");
    assert_free("/tmp", "not a file of keel-dvm");
}
END_TEST

START_TEST(test_a_host_knows_its_own_alone)
{
    char text[512], host[256];
    host_name(host, sizeof(host));
    snprintf(text, sizeof(text), "1.0;unix:///nowhere/at/all/oob\n%s\n", host);
    begin(text);
    refused(path, "is gone");
    assert_free(path, NULL);
    end();
    begin("1.0;unix:///nowhere/at/all/oob\nanother-host\n");
    refused(path, "is on host another-host");
    assert_free(path, "is known on host another-host alone");
    end();
}
END_TEST

START_TEST(test_a_dvm_that_stands_keeps_its_file)
{
    char folder[] = "/tmp/kt.dvm.XXXXXX", text[512], name[64];
    struct sock_addr addr;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(name, sizeof(name), "%s/dvm", folder);
    ck_assert_int_eq(sock_addr_unix(&addr, name), 0);
    int listener = sock_listen(&addr, 1);
    ck_assert_int_ge(listener, 0);
    snprintf(text, sizeof(text), "1.0;unix://%s/oob\nanother-host\n", folder);
    begin(text);
    assert_free(path, "the DVM that wrote it stands");
    end();
    close(listener);
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

UNIT_MAIN("contact")
