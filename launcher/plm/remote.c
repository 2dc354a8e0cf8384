#include <config.h>

#include <launcher/plm/remote.h>

#include <base/data/strings.h>
#include <base/settings/param.h>
#include <launcher/agent/agent.h>
#include <launcher/shepherd/program.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct param agent, launch_agent, prefix;
} params = {
    .agent = PARAM_STRING("plm_rsh_agent", "ssh -x -o BatchMode=yes -o ConnectTimeout=10",
                          "The command that starts a daemon on another host: AGENT HOST PROGRAM "
                          "ARGUMENTS, the last two quoted for a shell"),
    .launch_agent = PARAM_STRING("plm_launch_agent", "",
                                 "The daemon's command on other hosts, for a shell there (default: "
                                 "the path of keeld here; --launch-agent)"),
    .prefix = PARAM_STRING("plm_prefix", "",
                           "The folder below which Keel is installed on other hosts, if it is not "
                           "the same as here: keeld is in its bin (--prefix)"),
};
PARAM_ROWS("launcher", params);

/* A path as a word of the command that the agent gives to a shell; malloc'd, NULL: no memory. */
static char *shell_word(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    char *word = malloc(4 * strlen(path) + 3), *end = word;
    if (!word || !path[strspn(path, plain)]) {
        return word ? strcpy(word, path) : NULL;
    }
    *end++ = '\'';
    for (; *path; path++) {
        if (*path == '\'') {
            end = stpcpy(end, "'\\''");
        } else {
            *end++ = *path;
        }
    }
    strcpy(end, "'");
    return word;
}

/* PREFIX/bin/NAME as a word for a shell; malloc'd, NULL: no memory. */
static char *in_prefix(const char *prefix, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/bin/%s", prefix, name) < 0) {
        return NULL;
    }
    char *word = shell_word(path);
    free(path);
    return word;
}

char **remote_program(const char *keeld, const char *launch_agent, const char *prefix)
{
    char **words = NULL;
    bool whole = agent_split(&words, launch_agent);
    if (whole && !words) {
        whole = strings_add(&words, prefix[0] ? in_prefix(prefix, "keeld") : shell_word(keeld));
    } else if (whole && prefix[0] && !strchr(words[0], '/')) {
        char *word = in_prefix(prefix, words[0]);
        free(words[0]);
        words[0] = word;
        whole = word != NULL;
    }
    if (!whole) {
        strings_free(words);
        return NULL;
    }
    return words;
}

int remote_make(struct remote *remote, const char *keeld, char *reason, size_t reason_size)
{
    const char *prefix = param_string(&params.prefix);
    char path[PATH_MAX];
    *remote = (struct remote){NULL, NULL};
    if (prefix[0] && prefix[0] != '/') {
        snprintf(reason, reason_size, "plm_prefix (--prefix) is %s: a whole path is needed",
                 prefix);
        return ORTE_ERR_BAD_PARAM;
    }
    bool whole = agent_split(&remote->agent, param_string(&params.agent));
    remote->program = remote_program(keeld, param_string(&params.launch_agent), prefix);
    if (!whole || !remote->program) {
        snprintf(reason, reason_size, "cannot start the daemons: out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (!remote->agent) {
        snprintf(reason, reason_size,
                 "plm_rsh_agent is empty: the command that starts a daemon on another host is "
                 "needed, as ssh -x");
        return ORTE_ERR_BAD_PARAM;
    }
    int found = program_resolve(remote->agent[0], path, sizeof(path));
    snprintf(reason, reason_size, "cannot start the daemons: %s: %s", remote->agent[0],
             strerror(-found));
    return found == 0 ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
}

void remote_fini(struct remote *remote)
{
    strings_free(remote->agent);
    strings_free(remote->program);
    *remote = (struct remote){NULL, NULL};
}
