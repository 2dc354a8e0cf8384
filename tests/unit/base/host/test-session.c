#include <config.h>

#include <base/host/session.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

#define JOB "00112233445566778899aabbccddeeff"
#define OTHER "ffeeddccbbaa99887766554433221100"

static char tmp[64], base[96], reason[512];

/* A TMPDIR of its own, and no XDG_RUNTIME_DIR. */
static void in_tmp(void)
{
    snprintf(tmp, sizeof(tmp), "/tmp/keel-test-session-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    snprintf(base, sizeof(base), "%s/keel-%u", tmp, (unsigned) geteuid());
    setenv("TMPDIR", tmp, 1);
    unsetenv("XDG_RUNTIME_DIR");
}

static void remove_tmp(void)
{
    ck_assert_int_eq(folder_remove(tmp), 0);
    ck_assert_int_ne(access(tmp, F_OK), 0);
}

static char *open_session(const char *uuid, uint32_t vpid)
{
    char *path = NULL;
    ck_assert_msg(session_path(&path, uuid, vpid, reason, sizeof(reason)) == ORTE_SUCCESS &&
                      session_open(path, reason, sizeof(reason)) == ORTE_SUCCESS,
                  "%s", reason);
    return path;
}

static void assert_refused(int status, const char *word)
{
    char *path = NULL;
    ck_assert_int_eq(session_path(&path, JOB, 0, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(session_open(path, reason, sizeof(reason)), status);
    free(path);
    ck_assert_msg(strstr(reason, word), "'%s' does not say '%s'", reason, word);
}

START_TEST(test_folders_are_made_and_removed)
{
    struct stat st;
    char expected[160];
    in_tmp();
    char *path = open_session(JOB, 3);
    snprintf(expected, sizeof(expected), "%s/" JOB "/3", base);
    ck_assert_str_eq(path, expected);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
    char *same = open_session(JOB, 4), *other = open_session(OTHER, 0);
    session_remove(path);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(access(same, F_OK), 0);
    session_remove(same);
    same[strlen(same) - 2] = 0; /* JOB: it was empty then */
    ck_assert_int_ne(access(same, F_OK), 0);
    ck_assert_int_eq(access(base, F_OK), 0);
    session_remove(other);
    ck_assert_int_ne(access(base, F_OK), 0);
    session_remove(other);
    free(path);
    free(same);
    free(other);
    remove_tmp();
}
END_TEST

START_TEST(test_path_is_known_before_the_folder_is_made)
{
    char *before;
    in_tmp();
    ck_assert_int_eq(session_path(&before, JOB, 1, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_ne(access(base, F_OK), 0);
    char *path = open_session(JOB, 1);
    ck_assert_str_eq(path, before);
    free(before);
    free(path);
    remove_tmp();
}
END_TEST

START_TEST(test_runtime_folder_is_preferred)
{
    char runtime[128], expected[256];
    in_tmp();
    snprintf(runtime, sizeof(runtime), "%s/run", tmp);
    mkdir(runtime, 0700);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    char *path = open_session(JOB, 0);
    snprintf(expected, sizeof(expected), "%s/keel/" JOB "/0", runtime);
    ck_assert_str_eq(path, expected);
    session_remove(path);
    free(path);
    snprintf(expected, sizeof(expected), "%s/keel", runtime);
    ck_assert_int_ne(access(expected, F_OK), 0);
    rmdir(runtime); /* not there: as if it were not set */
    path = open_session(JOB, 0);
    ck_assert_mem_eq(path, base, strlen(base));
    free(path);
    remove_tmp();
}
END_TEST

START_TEST(test_missing_tmpdir_falls_back_to_tmp)
{
    char *path, expected[64];
    unsetenv("XDG_RUNTIME_DIR");
    setenv("TMPDIR", "/nonexistent", 1);
    ck_assert_int_eq(session_path(&path, JOB, 0, reason, sizeof(reason)), ORTE_SUCCESS);
    snprintf(expected, sizeof(expected), "/tmp/keel-%u/" JOB "/0", (unsigned) geteuid());
    ck_assert_str_eq(path, expected);
    free(path);
}
END_TEST

START_TEST(test_what_is_not_ours_alone_is_refused)
{
    char job[160];
    in_tmp();
    mkdir(base, 0700);
    chmod(base, 0755);
    assert_refused(ORTE_ERR_PERM, "mode is 0755");
    chmod(base, 0700);
    rmdir(base);

    ck_assert_int_eq(symlink("/tmp", base), 0);
    assert_refused(ORTE_ERR_PERM, "a link or a file");
    unlink(base);
    close(open(base, O_CREAT | O_WRONLY, 0600));
    assert_refused(ORTE_ERR_PERM, "a link or a file");
    unlink(base);

    mkdir(base, 0700);
    snprintf(job, sizeof(job), "%s/" JOB, base);
    ck_assert_int_eq(symlink("/tmp", job), 0);
    assert_refused(ORTE_ERR_PERM, JOB);
    unlink(job);
    remove_tmp();
}
END_TEST

static void make_anothers(const char *path)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chown(path, 65534, 65534), 0); /* only root can give folders away */
}

START_TEST(test_another_users_folder_is_passed_by)
{
    char expected[256];
    struct stat st;
    if (geteuid() != 0) {
        return;
    }
    in_tmp();
    make_anothers(base);
    char *path = open_session(JOB, 7);
    snprintf(expected, sizeof(expected), "%s-%.8s/" JOB "/7", base, JOB);
    ck_assert_str_eq(path, expected);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);

    rmdir(base); /* the job's other processes find the folder that it has */
    char *other = open_session(JOB, 8);
    ck_assert_mem_eq(other, expected, strlen(expected) - 1);
    make_anothers(base);

    session_remove(path);
    session_remove(other);
    snprintf(expected, sizeof(expected), "%s-%.8s", base, JOB);
    ck_assert_int_ne(access(expected, F_OK), 0);
    free(path);
    free(other);

    make_anothers(expected); /* a second guess */
    path = open_session(JOB, 7);
    snprintf(expected, sizeof(expected), "%s-%.8s/" JOB "/7", base, JOB + 8);
    ck_assert_str_eq(path, expected);
    free(path);
    remove_tmp();
}
END_TEST

START_TEST(test_another_users_folder_is_refused_and_stays)
{
    char jobs[256], path[400];
    if (geteuid() != 0) {
        return;
    }
    in_tmp();
    make_anothers(base);
    snprintf(path, sizeof(path), "%s/" JOB "/0", base);
    ck_assert_int_eq(session_open(path, reason, sizeof(reason)), ORTE_ERR_PERM);
    ck_assert_ptr_nonnull(strstr(reason, "belongs to user 65534"));
    ck_assert_int_eq(folder_remove(base), -EPERM);
    session_remove(path);
    session_leave(path);
    ck_assert_int_eq(access(base, F_OK), 0);
    snprintf(jobs, sizeof(jobs), "%s/" JOB, base);
    make_anothers(jobs);
    session_remove(path);
    session_leave(path);
    session_leave(jobs);
    ck_assert_int_eq(access(jobs, F_OK), 0);
    remove_tmp();
}
END_TEST

START_TEST(test_every_folder_that_matches_is_removed)
{
    static const char *const names[] = {"a-0", "a-12", "b-0"};
    char path[3][128], pattern[128];
    in_tmp();
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", tmp, names[i]);
        ck_assert_int_eq(mkdir(path[i], 0700), 0);
    }
    snprintf(pattern, sizeof(pattern), "%s/a-*", tmp);
    session_remove(pattern);
    ck_assert_int_ne(access(path[0], F_OK), 0);
    ck_assert_int_ne(access(path[1], F_OK), 0);
    ck_assert_int_eq(access(path[2], F_OK), 0);
    remove_tmp();
}
END_TEST

START_TEST(test_paths_that_no_contact_string_holds)
{
    static const char *const names[] = {"a;b", "a\nb", "J\xc3\xbcrgen"};
    char folder[128], *path;
    in_tmp();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(folder, sizeof(folder), "%s/%s", tmp, names[i]);
        mkdir(folder, 0700);
        setenv("TMPDIR", folder, 1);
        ck_assert_int_eq(session_path(&path, JOB, 0, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
        ck_assert_ptr_nonnull(strstr(reason, "set TMPDIR to another folder"));
    }
    snprintf(folder, sizeof(folder), "%s/a b", tmp);
    mkdir(folder, 0700);
    setenv("TMPDIR", folder, 1);
    free(open_session(JOB, 0));
    remove_tmp();
}
END_TEST

START_TEST(test_a_daemons_folder_is_fresh)
{
    in_tmp();
    free(open_session(JOB, 0));
    assert_refused(ORTE_EXISTS, "exists already");
    remove_tmp();
}
END_TEST

START_TEST(test_a_shared_folder_ends_with_the_last)
{
    char *first, *second, file[256];
    in_tmp();
    ck_assert_int_eq(session_share(&first, JOB, 1, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(session_share(&second, JOB, 1, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_eq(first, second);
    snprintf(file, sizeof(file), "%s/socket", second);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    session_leave(first);
    ck_assert_int_eq(access(file, F_OK), 0);
    unlink(file);
    session_leave(second);
    ck_assert_int_ne(access(base, F_OK), 0);
    session_leave(second); /* nothing there */
    mkdir(base, 0755);
    ck_assert_int_eq(session_share(&first, JOB, 1, reason, sizeof(reason)), ORTE_ERR_PERM);
    free(second);
    free(first);
    remove_tmp();
}
END_TEST

START_TEST(test_job_ids_are_checked)
{
    static const char *const ids[] = {"",
                                      "..",
                                      "0011",
                                      JOB "00",
                                      "0011223344556677889/aabbccddeeff",
                                      "00112233445566778899aabbccddeefg"};
    char *path;
    in_tmp();
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        ck_assert_int_eq(session_path(&path, ids[i], 0, reason, sizeof(reason)),
                         ORTE_ERR_BAD_PARAM);
    }
    remove_tmp();
}
END_TEST

/* The longest path that is accepted leaves room for a socket's name. */
START_TEST(test_paths_fit_sockets)
{
    static const char filler[] =
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    struct sockaddr_un address;
    char deep[256], *path = NULL;
    size_t longest = 0;
    int rc = ORTE_SUCCESS;
    in_tmp();
    for (int size = 1; rc == ORTE_SUCCESS && size < (int) sizeof(filler); size++) {
        snprintf(deep, sizeof(deep), "%s/%.*s", tmp, size, filler);
        mkdir(deep, 0700);
        setenv("TMPDIR", deep, 1);
        rc = session_path(&path, JOB, 0, reason, sizeof(reason));
        if (rc == ORTE_SUCCESS) {
            longest = strlen(path);
            free(path);
        }
    }
    ck_assert_int_eq(rc, ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_ptr_nonnull(strstr(reason, "TMPDIR"));
    ck_assert_uint_eq(longest + 1 + SESSION_NAME_MAX + 1, sizeof(address.sun_path));
    remove_tmp();
}
END_TEST

START_TEST(test_removal_stays_inside_the_folder)
{
    char outside[128], inside[256];
    in_tmp();
    snprintf(outside, sizeof(outside), "%s/outside", tmp);
    mkdir(outside, 0700);
    snprintf(inside, sizeof(inside), "%s/precious", outside);
    close(open(inside, O_CREAT | O_WRONLY, 0600));
    char *path = open_session(JOB, 0);
    snprintf(inside, sizeof(inside), "%s/link", path);
    ck_assert_int_eq(symlink(outside, inside), 0);
    snprintf(inside, sizeof(inside), "%s/a", path);
    mkdir(inside, 0700);
    snprintf(inside, sizeof(inside), "%s/a/b", path);
    mkdir(inside, 0700);
    for (int i = 0; i < 300; i++) {
        snprintf(inside, sizeof(inside), "%s/a/b/file-%d", path, i);
        close(open(inside, O_CREAT | O_WRONLY, 0000));
    }
    session_remove(path);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(inside, sizeof(inside), "%s/precious", outside);
    ck_assert_int_eq(access(inside, F_OK), 0);
    snprintf(inside, sizeof(inside), "%s/alias", tmp);
    ck_assert_int_eq(symlink(outside, inside), 0);
    ck_assert_int_lt(folder_remove(inside), 0); /* a link is not a folder of ours */
    ck_assert_int_eq(access(outside, F_OK), 0);
    ck_assert_int_eq(folder_remove("/nonexistent"), -ENOENT);
    free(path);
    remove_tmp();
}
END_TEST

/* A folder with files in a folder in it. */
static void make_nested(const char *folder, const char *inner)
{
    char file[300];
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(file, sizeof(file), "%s/%d", inner, i);
        int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
    }
}

START_TEST(test_two_who_remove_leave_nothing)
{
    char folder[128], inner[256];
    int status = 0;
    in_tmp();
    ck_assert_int_eq(mkdir(base, 0700), 0);
    snprintf(folder, sizeof(folder), "%s/outer", base);
    snprintf(inner, sizeof(inner), "%s/inner", folder);
    for (int round = 0; round < 100; round++) {
        make_nested(folder, inner);
        pid_t other = fork();
        if (other == 0) {
            (void) folder_remove(inner);
            _exit(0);
        }
        (void) folder_remove(folder);
        ck_assert_int_eq(waitpid(other, &status, 0), other);
        ck_assert_msg(access(folder, F_OK) < 0, "round %d: the folder is left", round);
    }
    remove_tmp();
}
END_TEST

UNIT_MAIN("session")
