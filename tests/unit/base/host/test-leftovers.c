/* What is removed of session folders: those whose holder has ended, and nothing else. */
#include <config.h>

#include <base/host/leftovers.h>
#include <base/host/session.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

#define JOB "00112233445566778899aabbccddeeff"
#define OTHER "ffeeddccbbaa99887766554433221100"

static char tmp[64], place[96], reason[512];

static unsigned jobs_over;

static void over(const char *job)
{
    ck_assert(session_is_job(job));
    jobs_over++;
}

/* A TMPDIR of its own, and no XDG_RUNTIME_DIR. */
static void in_tmp(void)
{
    snprintf(tmp, sizeof(tmp), "/tmp/keel-test-left-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    snprintf(place, sizeof(place), "%s/keel-%u", tmp, (unsigned) geteuid());
    setenv("TMPDIR", tmp, 1);
    unsetenv("XDG_RUNTIME_DIR");
}

static char *make_session(const char *uuid, uint32_t vpid)
{
    char *path = NULL;
    ck_assert_msg(session_path(&path, uuid, vpid, reason, sizeof(reason)) == ORTE_SUCCESS &&
                      session_open(path, reason, sizeof(reason)) == ORTE_SUCCESS,
                  "%s", reason);
    return path;
}

/* Held by a process that ends without removing it, with something in it. */
static char *leave_session(const char *uuid, uint32_t vpid)
{
    char *path = make_session(uuid, vpid), inner[PATH_MAX];
    pid_t child = fork();
    if (child == 0) {
        snprintf(inner, sizeof(inner), "%s/deep", path);
        _exit(mkdir(inner, 0700) < 0 || leftovers_hold(path) < 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    return path;
}

static void assert_there(char *path, bool there)
{
    ck_assert_msg((access(path, F_OK) == 0) == there, "%s is %sthere", path, there ? "not " : "");
    free(path);
}

START_TEST(what_is_not_held_any_more_goes)
{
    char shm[128];
    in_tmp();
    snprintf(shm, sizeof(shm), SESSION_SHM JOB "-%d", (int) getpid());
    ck_assert_int_eq(mkdir(shm, 0700), 0);
    char *left = leave_session(JOB, (uint32_t) getpid()), *also = leave_session(OTHER, 0);
    leftovers_sweep(over);
    ck_assert_uint_eq(jobs_over, 2);
    ck_assert_int_ne(access(shm, F_OK), 0);
    assert_there(left, false);
    assert_there(also, false);
    ck_assert_int_ne(access(place, F_OK), 0);
    ck_assert_int_eq(rmdir(tmp), 0);
}
END_TEST

START_TEST(what_is_held_stays)
{
    in_tmp();
    char *held = make_session(JOB, 0), *left = leave_session(JOB, 1);
    int fd = leftovers_hold(held);
    ck_assert_int_ge(fd, 0);
    leftovers_sweep(over);
    assert_there(held, true);
    assert_there(left, false);
    ck_assert_uint_eq(jobs_over, 0);
    close(fd);
    leftovers_sweep(over);
    ck_assert_uint_eq(jobs_over, 1);
    ck_assert_int_eq(rmdir(tmp), 0);
}
END_TEST

START_TEST(what_is_not_held_yet_stays)
{
    char path[PATH_MAX];
    in_tmp();
    char *fresh = make_session(JOB, 0);
    snprintf(path, sizeof(path), "%s/held.new", fresh);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    char *foreign = make_session(JOB, 1);
    snprintf(path, sizeof(path), "%s/held.another-host", foreign);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    leftovers_sweep(over);
    assert_there(fresh, true);
    assert_there(foreign, true);
    ck_assert_int_eq(folder_remove(tmp), 0);
}
END_TEST

START_TEST(what_is_no_session_folder_stays)
{
    char path[PATH_MAX], target[PATH_MAX];
    in_tmp();
    char *left = leave_session(JOB, 0), *open_to_others = leave_session(OTHER, 0);
    chmod(open_to_others, 0755);
    snprintf(target, sizeof(target), "%s/elsewhere", tmp);
    ck_assert_int_eq(rename(left, target), 0);
    ck_assert_int_eq(symlink(target, left), 0);
    snprintf(path, sizeof(path), "%s/" JOB "/0x", place);
    ck_assert_int_eq(rename(open_to_others, path), 0); /* no number, and open */
    leftovers_sweep(over);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(access(target, F_OK), 0);
    chmod(path, 0700);
    leftovers_sweep(over);
    assert_there(strdup(path), true);
    assert_there(left, true);
    free(open_to_others);
    ck_assert_int_eq(folder_remove(tmp), 0);
}
END_TEST

START_TEST(another_users_name_is_passed_by)
{
    in_tmp();
    if (geteuid() != 0) {
        ck_assert_int_eq(rmdir(tmp), 0);
        return; /* only root can give folders away */
    }
    ck_assert_int_eq(mkdir(place, 0700), 0);
    ck_assert_int_eq(chown(place, 65534, 65534), 0);
    char *left = leave_session(JOB, 0);
    ck_assert_ptr_nonnull(strstr(left, "-00112233/"));
    leftovers_sweep(over);
    assert_there(left, false);
    ck_assert_int_eq(access(place, F_OK), 0);
    ck_assert_int_eq(rmdir(place), 0);
    ck_assert_int_eq(rmdir(tmp), 0);
}
END_TEST

/* What leftovers_each says, in words, job by job. */
static void note(void *arg, const char *job, enum hold head, enum hold others)
{
    static const char *const words[] = {"none", "left", "lives"};
    char *text = arg;
    size_t used = strlen(text);
    snprintf(text + used, 256 - used, "%s %s %s;", job, words[head], words[others]);
}

START_TEST(jobs_are_seen_by_what_is_held)
{
    char text[256] = "", path[PATH_MAX];
    in_tmp();
    leftovers_each(note, text);
    ck_assert_str_eq(text, "");
    char *head = make_session(JOB, 0), *other = leave_session(JOB, 2),
         *far = make_session(OTHER, 3);
    int fd = leftovers_hold(head);
    leftovers_each(note, text);
    ck_assert_str_eq(text, JOB " lives left;");
    assert_there(other, true); /* it was looked at only */
    close(fd);
    fd = leftovers_hold(far);
    text[0] = '\0';
    folder_remove(head);
    leftovers_each(note, text);
    ck_assert_ptr_nonnull(strstr(text, JOB " none left;"));
    ck_assert_ptr_nonnull(strstr(text, OTHER " none lives;"));
    close(fd);
    snprintf(path, sizeof(path), "%s/" OTHER, place);
    ck_assert_int_eq(chmod(path, 0770), 0); /* others may enter: it is nobody's */
    text[0] = '\0';
    leftovers_each(note, text);
    ck_assert_ptr_null(strstr(text, OTHER));
    free(head);
    free(far);
    ck_assert_int_eq(folder_remove(tmp), 0);
}
END_TEST

UNIT_MAIN("leftovers")
