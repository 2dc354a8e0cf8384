#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tools/info/launcher.h>
#include <unistd.h>

/* keelrun in this program's folder. */
static int find(char path[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - sizeof("keelrun"));
    if (size < 0) {
        return errno;
    }
    path[size] = '\0';
    char *name = strrchr(path, '/');
    strcpy(name ? name + 1 : path, "keelrun");
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* Its warnings, of configuration files say, are this program's own. */
static int start(const char *path, int output, pid_t *pid)
{
    static char name[] = "keelrun", option[] = "--parameters";
    char *const argv[] = {name, option, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* All that comes until the end, malloc'd; NULL: no memory. */
static char *read_all(int fd)
{
    char *text = NULL;
    size_t size;
    FILE *in = fdopen(fd, "r"), *out = open_memstream(&text, &size);
    for (int c; in && out && (c = fgetc(in)) != EOF;) {
        fputc(c, out);
    }
    if (in) {
        fclose(in);
    }
    return out && fclose(out) == 0 ? text : NULL;
}

static char *run(const char *path, char *reason, size_t size)
{
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        snprintf(reason, size, "%s", strerror(errno));
        return NULL;
    }
    int error = start(path, ends[1], &pid);
    close(ends[1]);
    char *text = read_all(ends[0]);
    if (error == 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (error != 0 || !text || status != 0) {
        snprintf(reason, size, "%s: %s", path,
                 error != 0 ? strerror(error)
                 : !text    ? "out of memory"
                            : "it failed; keelrun --parameters says why");
        free(text);
        return NULL;
    }
    return text;
}

char *launcher_parameters(char *reason, size_t size)
{
    char path[PATH_MAX];
    int error = find(path);
    if (error != 0) {
        snprintf(reason, size, "no keelrun beside this program: %s", strerror(error));
        return NULL;
    }
    return run(path, reason, size);
}
