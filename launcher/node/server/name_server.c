#include <config.h>

#include <launcher/node/server/name_server.h>

#include <base/data/list.h>
#include <base/settings/log.h>
#include <launcher/node/server/kvs.h>
#include <stdlib.h>
#include <wireup/proto.h>

#define NAMES_BYTES_MAX (4u << 20)

struct question {
    struct list link;
    uint64_t request;
    names_fn done;
    void *arg;
};

struct names {
    struct rml *rml; /* borrowed */
    orte_process_name_t me, hnp;
    struct kvs *published; /* the HNP's */
    struct list questions; /* of this daemon, not answered */
    uint64_t requests;
};

static int send_names(struct names *names, const orte_process_name_t *peer, opal_buffer_t *buffer)
{
    return rml_give(names->rml, peer, OOB_CONTROL, RML_TAG_NAMES, buffer);
}

/* --- the HNP's side --- */

static int obey(struct names *names, uint8_t command, const char *name, const char *port,
                const char **found)
{
    switch (command) {
    case NAMES_PUBLISH:
        return kvs_put(names->published, name, port);
    case NAMES_UNPUBLISH:
        return kvs_remove(names->published, name);
    default:
        *found = kvs_get(names->published, name);
        return *found ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
    }
}

static int take_question(struct names *names, const orte_process_name_t *origin, uint8_t command,
                         opal_buffer_t *buffer)
{
    uint64_t request;
    char *name, *port;
    const char *found = NULL;
    if (!names->published) {
        return ORTE_ERR_PERM;
    }
    int status = proto_unpack(buffer, "qss", &request, &name, &port);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    int answer = obey(names, command, name, port, &found);
    status =
        send_names(names, origin,
                   proto_new(NAMES_ANSWER, "qis", request, (int32_t) answer, found ? found : ""));
    free(name);
    free(port);
    return status;
}

/* --- every daemon's --- */

static int take_answer(struct names *names, opal_buffer_t *buffer)
{
    uint64_t request;
    int32_t answer;
    char *port;
    int status = proto_unpack(buffer, "qis", &request, &answer, &port);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct question *question;
    list_for_each (question, &names->questions, struct question, link) {
        if (question->request == request) {
            list_remove(&question->link);
            question->done(question->arg, answer, port);
            free(question);
            break;
        }
    }
    free(port);
    return ORTE_SUCCESS;
}

static void on_message(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct names *names = arg;
    uint8_t command = 0;
    int status = proto_unpack(*buffer, "c", &command);
    if (status == OPAL_SUCCESS && info->origin.jobid != names->me.jobid) {
        status = ORTE_ERR_PERM;
    }
    if (status == OPAL_SUCCESS) {
        status = command == NAMES_ANSWER ? take_answer(names, *buffer)
                                         : take_question(names, &info->origin, command, *buffer);
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_LAUNCHER, "dropped a message about published names from %s: %s",
                 ORTE_NAME_PRINT(&info->origin), opal_strerror(status));
    }
}

int names_ask(struct names *names, enum names_command command, const char *name, const char *port,
              names_fn done, void *arg)
{
    struct question *question = malloc(sizeof(*question));
    if (!question) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *question = (struct question){.request = ++names->requests, .done = done, .arg = arg};
    int status =
        send_names(names, &names->hnp,
                   proto_new((uint8_t) command, "qss", question->request, name, port ? port : ""));
    if (status != ORTE_SUCCESS) {
        free(question);
        return status;
    }
    list_append(&names->questions, &question->link);
    return ORTE_SUCCESS;
}

void names_drop(struct names *names, const void *arg)
{
    struct question *question;
    list_for_each (question, &names->questions, struct question, link) {
        if (question->arg == arg) {
            list_remove(&question->link);
            free(question);
        }
    }
}

int names_create(struct names **out, struct rml *rml, const orte_process_name_t *me,
                 const orte_process_name_t *hnp)
{
    struct names *names = calloc(1, sizeof(*names));
    if (!names) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *names = (struct names){.rml = rml, .me = *me, .hnp = *hnp};
    list_init(&names->questions);
    bool owner = me->jobid == hnp->jobid && me->vpid == hnp->vpid;
    if (owner && kvs_create(&names->published, NAMES_BYTES_MAX) != ORTE_SUCCESS) {
        free(names);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    rml_handle(rml, RML_TAG_NAMES, on_message, names);
    *out = names;
    return ORTE_SUCCESS;
}

void names_destroy(struct names *names)
{
    if (!names) {
        return;
    }
    rml_handle(names->rml, RML_TAG_NAMES, NULL, NULL);
    for (struct list *link; (link = list_pop(&names->questions));) {
        free(container_of(link, struct question, link));
    }
    kvs_destroy(names->published);
    free(names);
}
