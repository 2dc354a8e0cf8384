#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd.h>
#include <limits.h>
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
    if (!env) {
        const char *path = getenv("PATH");
        return path ? path : default_path;
    }
    for (; *env; env++) {
        if (strncmp(*env, "PATH=", 5) == 0) {
            return *env + 5;
        }
    }
    return default_path;
}

int program_resolve(const char *name, const char *wdir, char *const *env, char *path, size_t size)
{
    char base[PATH_MAX], found[PATH_MAX];
    int rc = base_folder(wdir, base, sizeof(base));
    if (rc < 0) {
        return rc;
    }
    if (!*name) {
        return -ENOENT;
    }
    if (strchr(name, '/')) {
        rc = try(found, sizeof(found), base, "", 0, name);
    } else {
        int worst = -ENOENT;
        const char *part = search_path(env);
        for (;;) {
            size_t length = strcspn(part, ":"); /* an empty part means the working folder */
            rc = try(found, sizeof(found), base, length ? part : "./", length ? length : 2, name);
            /* a file that may not be executed; folders that may not be searched do not count */
            bool exists = faccessat(AT_FDCWD, found, F_OK, AT_EACCESS) == 0;
            worst = rc == -EACCES && exists ? rc : worst;
            if (rc == 0 || !part[length]) {
                break;
            }
            part += length + 1;
        }
        rc = rc < 0 ? worst : 0;
    }
    if (rc == 0 && strlen(found) >= size) {
        return -ENAMETOOLONG;
    }
    if (rc == 0) {
        strcpy(path, found);
    }
    return rc;
}
