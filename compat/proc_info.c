#include <config.h>

#include <compat/proc_info.h>

#include <base/host/session.h>
#include <base/settings/log.h>
#include <bootstrap/process.h>
#include <errno.h>
#include <oob/contact.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY                                \
    {                                         \
        ORTE_JOBID_INVALID, ORTE_VPID_INVALID \
    }
#define NOTHING                                                                                  \
    {                                                                                            \
        .my_name = NOBODY, .my_daemon = NOBODY, .my_hnp = NOBODY, .nodeid = ORTE_NODEID_INVALID, \
    }

orte_proc_info_t orte_process_info = NOTHING;

static void release(orte_proc_info_t *info)
{
    free(info->my_daemon_uri);
    free(info->my_hnp_uri);
    free(info->nodename);
    free(info->tmpdir_base);
    free(info->top_session_dir);
    free(info->job_session_dir);
    free(info->proc_session_dir);
}

static int copy(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return text && !*to ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_SUCCESS;
}

/* Name and contact string of a daemon; nothing for NULL. */
static int fill_daemon(orte_process_name_t *name, char **uri, const char *text)
{
    struct contact contact;
    char reason[256];
    if (!text) {
        return ORTE_SUCCESS;
    }
    int status = contact_parse(&contact, text, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        return status;
    }
    *name = contact.name;
    return copy(uri, text);
}

/* The folder that holds path, malloc'd. */
static char *folder_above(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash > path ? strndup(path, (size_t) (slash - path)) : NULL;
}

/* TMPDIR/keel-UID/JOB/DAEMON/rank.VPID, the last one made here. */
static int fill_folders(orte_proc_info_t *info, const char *session)
{
    char path[4096];
    if (!session) {
        return ORTE_SUCCESS;
    }
    int status = copy(&info->job_session_dir, session);
    char *job = folder_above(session);
    info->top_session_dir = folder_above(job);
    info->tmpdir_base = folder_above(info->top_session_dir);
    free(job);
    int length = snprintf(path, sizeof(path), "%s/rank.%u", session, info->my_name.vpid);
    if (status != ORTE_SUCCESS || length < 0 || (size_t) length >= sizeof(path)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        log_error(LOG_BOOTSTRAP, "orte_init: cannot make the folder %s: %s", path, strerror(errno));
        return ORTE_ERR_FILE_OPEN_FAILURE;
    }
    return copy(&info->proc_session_dir, path);
}

int proc_info_fill(orte_proc_type_t type)
{
    const struct self *self = process_self();
    const struct job_map *map = process_map();
    char host[ORTE_MAX_HOSTNAME_SIZE] = "localhost";
    orte_proc_info_t info = NOTHING;
    if (!self || !map) {
        return ORTE_ERR_COMM_DISABLED;
    }
    (void) gethostname(host, sizeof(host) - 1);
    info.my_name = self->name;
    info.app_num = (int32_t) self->app;
    info.num_procs = self->size;
    info.num_nodes = (int) map->node_count;
    info.nodeid = self->name.vpid < map->size ? (orte_nodeid_t) map->node_of[self->name.vpid] : 0;
    info.pid = getpid();
    info.proc_type = type | (self->kind == SELF_SINGLETON ? ORTE_PROC_SINGLETON : 0);
    int status = copy(&info.nodename, self->node ? self->node : host);
    if (status == ORTE_SUCCESS) {
        status = fill_daemon(&info.my_daemon, &info.my_daemon_uri, self->daemon);
    }
    if (status == ORTE_SUCCESS) {
        status = fill_daemon(&info.my_hnp, &info.my_hnp_uri, self->hnp);
    }
    if (status == ORTE_SUCCESS) {
        status = fill_folders(&info, self->session_dir);
    }
    if (status != ORTE_SUCCESS) {
        release(&info);
        return status;
    }
    orte_process_info = info;
    return ORTE_SUCCESS;
}

void proc_info_clear(void)
{
    const char *folder = orte_process_info.proc_session_dir;
    int error = folder ? folder_remove(folder) : 0;
    if (error < 0 && error != -ENOENT) {
        log_warn(LOG_BOOTSTRAP, "cannot remove the folder %s: %s", folder, strerror(-error));
    }
    release(&orte_process_info);
    orte_process_info = (orte_proc_info_t) NOTHING;
}
