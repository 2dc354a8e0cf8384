#include <config.h>

#include <base/data/strings.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/program.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What execvp takes when there is no PATH. */
static const char default_path[] = "/bin:/usr/bin";

/* 0 when the file can be executed, else -errno. */
static int check(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        return -errno;
    }
    if (S_ISDIR(st.st_mode)) {
        return -EISDIR;
    }
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0) {
        return -EACCES;
    }
    return 0;
}

/* The folder that relative names start from, to be put in front of them; "" when none need be. */
static int base_folder(const char *wdir, char *base, size_t size)
{
    char cwd[PATH_MAX] = "";
    if (!wdir) {
        base[0] = 0;
        return 0;
    }
    if (wdir[0] != '/' && !getcwd(cwd, sizeof(cwd))) {
        return -errno;
    }
    int length = snprintf(base, size, "%s%s%s/", cwd, *cwd ? "/" : "", wdir);
    return (size_t) length < size ? 0 : -ENAMETOOLONG;
}

/* Puts base, folder (whose length is given) and name together, and checks the file. */
static int try(char *path, size_t size, const char *base, const char *folder, size_t length,
               const char *name)
{
    const char *front = (length > 0 ? folder[0] : name[0]) == '/' ? "" : base;
    const char *slash = length > 0 && folder[length - 1] != '/' ? "/" : "";
    int written = snprintf(path, size, "%s%.*s%s%s", front, (int) length, folder, slash, name);
    return (size_t) written < size ? check(path) : -ENAMETOOLONG;
}

static const char *search_path(char *const *env)
{
    const char *path = env ? strings_value(env, "PATH") : getenv("PATH");
    return path ? path : default_path;
}

/* In these folders, with colons between them; an empty one means the working folder. On failure
 * -EACCES when there was a file that may not be executed; folders that may not be searched do not
 * count. */
static int search(char *found, size_t size, const char *base, const char *folders, const char *name)
{
    int worst = -ENOENT;
    for (;; folders++) {
        size_t length = strcspn(folders, ":");
        int rc = try(found, size, base, length ? folders : "./", length ? length : 2, name);
        if (rc == 0) {
            return 0;
        }
        if (rc == -EACCES && faccessat(AT_FDCWD, found, F_OK, AT_EACCESS) == 0) {
            worst = rc;
        }
        folders += length;
        if (!*folders) {
            return worst;
        }
    }
}

/* In one list of folders after the other. */
static int resolve(const char *name, const char *wdir, const char *const *lists, size_t count,
                   char *path, size_t size)
{
    char base[PATH_MAX], found[PATH_MAX];
    int rc = base_folder(wdir, base, sizeof(base));
    if (rc < 0) {
        return rc;
    }
    if (!*name) {
        return -ENOENT;
    }
    rc = strchr(name, '/') ? try(found, sizeof(found), base, "", 0, name) : -ENOENT;
    for (size_t i = 0; i < count && rc < 0 && !strchr(name, '/'); i++) {
        int one = search(found, sizeof(found), base, lists[i], name);
        rc = one == -ENOENT ? rc : one;
    }
    if (rc == 0 && strlen(found) >= size) {
        return -ENAMETOOLONG;
    }
    if (rc == 0) {
        strcpy(path, found);
    }
    return rc;
}

int program_resolve(const char *name, char *path, size_t size)
{
    const char *lists[] = {search_path(NULL)};
    return resolve(name, NULL, lists, 1, path, size);
}

int program_find(const char *name, const char *wdir, const char *folders, char *const *env,
                 char *path, size_t size)
{
    /* the last is the working folder */
    const char *lists[] = {folders, search_path(env), ""};
    bool named = folders && *folders;
    return resolve(name, wdir, named ? lists : lists + 1, named ? 3 : 2, path, size);
}

const char *program_strerror(int error)
{
    return error == ELIBACC ? "the interpreter or dynamic linker that it names is not there"
                            : strerror(error);
}
