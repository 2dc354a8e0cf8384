#include <config.h>

#include <launcher/node/spawn_check.h>

#include <base/data/strings.h>
#include <base/settings/fault.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/program.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 or an errno. */
static int enter(const char *folder)
{
    struct stat st;
    if (stat(folder, &st) < 0) {
        return errno;
    }
    if (!S_ISDIR(st.st_mode)) {
        return ENOTDIR;
    }
    return faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/* The environment that has the PATH of the program: its own, else its parent's, else the daemon's.
 */
static char *const *find_path(const struct launch_app *app, const struct launch_app *parent)
{
    return app->env && strings_value(app->env, "PATH")         ? app->env
           : parent->env && strings_value(parent->env, "PATH") ? parent->env
                                                               : environ;
}

static int check_app(const struct daemon *daemon, const struct launch_app *app,
                     const struct launch_app *parent, char *reason, size_t reason_size)
{
    char program[PATH_MAX];
    const char *wdir = launch_app_wdir(app, parent);
    struct fault fault = fault_at("launcher.check");
    int error = fault.action == FAULT_ERROR ? (int) fault.value : wdir[0] ? enter(wdir) : 0;
    bool entered = error == 0;
    if (entered) {
        error = -program_find(app->argv[0], wdir, app->path, find_path(app, parent), program,
                              sizeof(program));
    }
    if (error) {
        snprintf(reason, reason_size, "cannot %s %s on node %s: %s",
                 entered ? "start" : "enter the folder", entered ? app->argv[0] : wdir,
                 daemon->node, strerror(error));
    }
    return error ? ORTE_ERR_NOT_FOUND : ORTE_SUCCESS;
}

/* Is one of its ranks to run here? */
static bool is_wanted(const struct daemon *daemon, const struct spawned *spawned, uint32_t app)
{
    bool wanted = false;
    for (uint32_t i = 0; i < spawned->count && !wanted; i++) {
        wanted =
            spawned->app_of[i] == spawned->app_first + app &&
            launch_daemon_of(&daemon->launch, spawned, spawned->node_of[i]) == daemon->name.vpid;
    }
    return wanted;
}

int spawn_check(const struct daemon *daemon, const struct spawned *spawned, char *reason,
                size_t reason_size)
{
    const struct launch *launch = &daemon->launch;
    int status = ORTE_SUCCESS;
    if (!launch_fits(launch, spawned)) {
        snprintf(reason, reason_size, "node %s: the order does not fit the job", daemon->node);
        return ORTE_ERR_BAD_PARAM;
    }
    for (uint32_t i = 0; i < spawned->app_count && status == ORTE_SUCCESS; i++) {
        if (is_wanted(daemon, spawned, i)) {
            status = check_app(daemon, &spawned->apps[i],
                               &launch->apps[launch->app_of[spawned->parent]], reason, reason_size);
        }
    }
    return status;
}
