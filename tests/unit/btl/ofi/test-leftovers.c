/* What a killed process leaves of the provider shm. */
#include <btl/ofi/provider/leftovers.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(names_tell_their_owner)
{
    char name[OFI_LEFTOVER_NAME];

    ofi_leftover_name(name, 4026531836, 1234);
    ck_assert_str_eq(name, "keel-ofi.4026531836.1234");
    ck_assert_int_eq(ofi_leftover_owner(name, 4026531836), 1234);
    ck_assert_int_eq(ofi_leftover_owner("keel-ofi.7.1234:0:0", 7), 1234);
    static const char *const others[] = {
        "keel-ofi.8.1234",        "keel-ofi.7.",   "keel-ofi.7.-1",  "keel-ofi.7.0",
        "keel-ofi.7.1x",          "keel-ofi..1",   "keel-ofi.7",     "1234:0:0",
        "keel-ofi.7.99999999999", "keel-ofi. 7.1", "keel-ofi.7. 12", ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        ck_assert_msg(ofi_leftover_owner(others[i], 7) == 0, "%s", others[i]);
    }
}
END_TEST

static void make(const char *folder, const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static bool there(const char *folder, const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

START_TEST(what_the_dead_left_is_removed)
{
    char folder[] = "/tmp/keel-leftovers-XXXXXX", mine[OFI_LEFTOVER_NAME], dead[OFI_LEFTOVER_NAME],
         elsewhere[OFI_LEFTOVER_NAME], command[200];
    pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ofi_leftover_name(mine, 7, getpid());
    ofi_leftover_name(dead, 7, child);
    strcat(dead, ":0:0");
    ofi_leftover_name(elsewhere, 8, child);
    make(folder, mine);
    make(folder, dead);
    make(folder, elsewhere);
    make(folder, "another's");
    ck_assert_uint_eq(ofi_leftovers_remove(folder, 7), 1);
    ck_assert(!there(folder, dead));
    ck_assert(there(folder, mine) && there(folder, elsewhere) && there(folder, "another's"));
    ck_assert_uint_eq(ofi_leftovers_remove(folder, 0), 0);
    ck_assert_uint_eq(ofi_leftovers_remove("/nonexistent", 7), 0);
    ck_assert_uint_gt(ofi_leftover_space(), 0);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

UNIT_MAIN("ofi-leftovers")
