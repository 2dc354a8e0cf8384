/* The file for tools: its names, its lines, and what cannot be written. */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/pmix/connection/rendezvous.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char folder[64];

static void begin(void)
{
    strcpy(folder, "/tmp/rendezvous-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int count_names(void)
{
    DIR *names = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(names)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(names);
    return count;
}

static void end(void)
{
    DIR *names = opendir(folder);
    for (struct dirent *entry; (entry = readdir(names)) != NULL;) {
        unlinkat(dirfd(names), entry->d_name, 0);
    }
    closedir(names);
    ck_assert_int_eq(rmdir(folder), 0);
}

static int write_as(const char *host)
{
    struct rendezvous rendezvous = {
        .folder = folder, .host = host, .nspace = "keel-0-server", .rank = 3, .port = 12345};
    return rendezvous_write(&rendezvous);
}

static void check_file(const char *name)
{
    char path[256], text[512], expected[512];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_RDONLY);
    ck_assert_msg(fd >= 0, "%s", path);
    ssize_t size = read(fd, text, sizeof(text) - 1);
    ck_assert_int_gt(size, 0);
    text[size] = '\0';
    snprintf(expected, sizeof(expected), "keel-0-server.3;tcp4://127.0.0.1:12345\n%s\n%d\n%u:%u\n",
             PMIX_SERVER_VERSION, (int) getpid(), (unsigned) geteuid(), (unsigned) getegid());
    ck_assert_int_eq(strncmp(text, expected, strlen(expected)), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_uint_eq(status.st_nlink, 3);
    close(fd);
}

START_TEST(three_names)
{
    char name[64];
    begin();
    ck_assert_int_eq(write_as("host"), 0);
    ck_assert_int_eq(count_names(), 3);
    check_file("pmix.host.tool");
    check_file("pmix.host.tool.keel-0-server");
    snprintf(name, sizeof(name), "pmix.host.tool.%d", (int) getpid());
    check_file(name);
    ck_assert_int_eq(write_as("host"), -EEXIST); /* what others may have read stays */
    ck_assert_int_eq(count_names(), 3);
    end();
}
END_TEST

START_TEST(names_of_hosts)
{
    begin();
    ck_assert_int_eq(write_as("host.example.org"), 0);
    check_file("pmix.host.tool");
    ck_assert_int_eq(write_as("10.0.0.1"), 0);
    check_file("pmix.10.0.0.1.tool");
    ck_assert_int_eq(write_as("fe80::1"), 0);
    check_file("pmix.fe80::1.tool");
    end();
}
END_TEST

START_TEST(what_cannot_be_written)
{
    char name[300];
    begin();
    ck_assert_int_eq(write_as("a/host"), -EINVAL);
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    ck_assert_int_eq(write_as(name), -EINVAL);
    ck_assert_int_eq(count_names(), 0);
    end();
    ck_assert_int_eq(write_as("host"), -ENOENT);
}
END_TEST

UNIT_MAIN("pmix-rendezvous")
