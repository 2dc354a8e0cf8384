/* What a client asks for. */
#include <config.h>

#include <launcher/pmi1/pmi1_internal.h>

#include <stdlib.h>
#include <string.h>

/* "cmd=lookup_result port= info=ok rc=0 msg=success" and a newline go with a port; a value that
 * came in a line always fits one */
#define PORT_MAX (PMI1_LINE_MAX - 64)

/* --- the key-value space --- */

static bool names_my_kvs(const struct pmi1_client *client, const struct pmi1_request *request)
{
    const char *name = pmi1_request_value(request, "kvsname");
    return name && strcmp(name, client->space->name) == 0;
}

static void do_put(struct pmi1_client *client, const struct pmi1_request *request)
{
    struct pmi1_space *space = client->space;
    const char *key = pmi1_request_value(request, "key");
    const char *value = pmi1_request_value(request, "value");
    const char *error = NULL;
    if (!names_my_kvs(client, request)) {
        error = "unknown_kvsname";
    } else if (!key || !*key || !value) {
        error = "key_or_value_missing";
    } else {
        size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
        int status = kvs_put(space->kvs, key, value);
        if (status == ORTE_SUCCESS &&
            (blob_append(&space->puts, key, key_size) != ORTE_SUCCESS ||
             blob_append(&space->puts, value, value_size) != ORTE_SUCCESS)) {
            pmi1_client_drop(client, "needs more memory than there is");
            return;
        }
        error = status == ORTE_EXISTS ? "duplicate_key" : status ? "no_space" : NULL;
    }
    if (error) {
        pmi1_client_reply(client, "cmd=put_result rc=-1 msg=%s", error);
    } else {
        pmi1_client_reply(client, "cmd=put_result rc=0 msg=success");
    }
}

static void do_get(struct pmi1_client *client, const struct pmi1_request *request)
{
    const char *key = pmi1_request_value(request, "key");
    const char *value =
        key && names_my_kvs(client, request) ? kvs_get(client->space->kvs, key) : NULL;
    if (value) {
        pmi1_client_reply(client, "cmd=get_result rc=0 msg=success value=%s", value);
    } else {
        pmi1_client_reply(client, "cmd=get_result rc=-1 msg=key_%.200s_not_found value=unknown",
                          key ? key : "");
    }
}

/* --- published names --- */

static void name_answered(void *arg, int status, const char *port)
{
    struct pmi1_client *client = arg;
    if (client->asked == NAMES_PUBLISH) {
        pmi1_client_reply(client, "cmd=publish_result info=%s rc=%d msg=%s", status ? "fail" : "ok",
                          status ? 1 : 0,
                          status == ORTE_SUCCESS  ? "success"
                          : status == ORTE_EXISTS ? "key_already_present"
                                                  : "no_space");
    } else if (client->asked == NAMES_UNPUBLISH) {
        pmi1_client_reply(client, "cmd=unpublish_result info=%s rc=%d msg=%s",
                          status ? "fail" : "ok", status ? 1 : 0,
                          status ? "service_not_found" : "success");
    } else if (status == ORTE_SUCCESS) {
        pmi1_client_reply(client, "cmd=lookup_result port=%s info=ok rc=0 msg=success", port);
    } else {
        pmi1_client_reply(client, "cmd=lookup_result info=fail rc=1 msg=service_not_found");
    }
    loop_post(client->space->daemon->loop, &client->space->resume);
}

static void do_name(struct pmi1_client *client, const struct pmi1_request *request)
{
    const char *service = pmi1_request_value(request, "service");
    const char *port = pmi1_request_value(request, "port");
    client->asked = request->command == PMI1_PUBLISH_NAME  ? NAMES_PUBLISH
                    : request->command == PMI1_LOOKUP_NAME ? NAMES_LOOKUP
                                                           : NAMES_UNPUBLISH;
    client->waiting = true;
    int status = ORTE_ERR_BAD_PARAM;
    if (service && (client->asked != NAMES_PUBLISH || (port && strlen(port) <= PORT_MAX))) {
        status = names_ask(client->space->daemon->names, client->asked, service, port,
                           name_answered, client);
    }
    if (status != ORTE_SUCCESS) {
        name_answered(client, status, "");
    }
}

/* --- requests --- */

static void do_init(struct pmi1_client *client, const struct pmi1_request *request)
{
    int version = 0;
    bool known = pmi1_request_number(request, "pmi_version", &version) && version == 1;
    if (known) {
        client->state = CLIENT_INIT;
        local_joined(client->space->daemon, client->rank, "MPI_Init");
    }
    pmi1_client_reply(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d",
                      known ? 0 : -1);
}

static void do_abort(struct pmi1_client *client, const struct pmi1_request *request)
{
    int code = 1;
    (void) pmi1_request_number(request, "exitcode", &code);
    client->state = CLIENT_FINAL;
    local_aborted(client->space->daemon, client->rank, code, "MPI_Abort");
}

static void do_barrier(struct pmi1_client *client)
{
    client->waiting = client->in_barrier = true;
    client->space->arrived++;
    pmi1_barrier_check(client->space);
}

/* Between init and finalize. */
static void obey(struct pmi1_client *client, const struct pmi1_request *request)
{
    const struct launch *launch = &client->space->daemon->launch;
    switch (request->command) {
    case PMI1_GET_MAXES:
        pmi1_client_reply(client, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d",
                          PMI1_KVSNAME_MAX, PMI1_KEY_MAX, PMI1_VALUE_MAX);
        break;
    case PMI1_GET_APPNUM:
        pmi1_client_reply(client, "cmd=appnum appnum=%u",
                          launch->app_of[client->rank] - client->space->app_first);
        break;
    case PMI1_GET_MY_KVSNAME:
        pmi1_client_reply(client, "cmd=my_kvsname kvsname=%s", client->space->name);
        break;
    case PMI1_GET_UNIVERSE_SIZE:
        pmi1_client_reply(client, "cmd=universe_size size=%u", launch->universe);
        break;
    case PMI1_PUT:
        do_put(client, request);
        break;
    case PMI1_GET:
        do_get(client, request);
        break;
    case PMI1_BARRIER_IN:
        do_barrier(client);
        break;
    case PMI1_FINALIZE:
        client->state = CLIENT_FINAL;
        pmi1_client_reply(client, "cmd=finalize_ack");
        break;
    case PMI1_PUBLISH_NAME:
    case PMI1_LOOKUP_NAME:
    case PMI1_UNPUBLISH_NAME:
        do_name(client, request);
        break;
    case PMI1_SPAWN:
        if (pmi1_spawn_begin(&client->spawn) != ORTE_SUCCESS) {
            pmi1_client_drop(client, "wants to spawn too many programs");
        }
        break;
    default:
        pmi1_client_drop(client, "sent a command that PMI-1 does not have");
        break;
    }
}

/* --- spawn --- */

static void end_spawn(struct pmi1_client *client)
{
    pmi1_spawn_fini(&client->spawn);
    client->spawn_request = 0;
    loop_post(client->space->daemon->loop, &client->space->resume);
}

/* There is an error for each rank, where a line holds them; clients do without. */
void pmi1_client_spawned(struct pmi1_client *client, int status)
{
    char codes[PMI1_LINE_MAX - 64] = "";
    uint64_t ranks = pmi1_spawn_ranks(&client->spawn);
    for (uint64_t i = 0; i < ranks && 2 * ranks < sizeof(codes); i++) {
        memcpy(codes + 2 * i, i + 1 < ranks ? "0," : "0", i + 1 < ranks ? 3 : 2);
    }
    if (status == ORTE_SUCCESS) {
        pmi1_client_reply(client, "cmd=spawn_result rc=0%s%s", codes[0] ? " errcodes=" : "", codes);
    } else {
        pmi1_client_reply(client, "cmd=spawn_result rc=-1 msg=spawn_failed");
    }
    end_spawn(client);
}

/* A value of an answer holds no blanks. */
static void refuse_spawn(struct pmi1_client *client, const char *lacks)
{
    bool ranks = strcmp(lacks, "nprocs") == 0;
    daemon_tell(client->space->daemon, "rank %u: MPI_Comm_spawn is refused: a program %s",
                client->rank, ranks ? "with 0 ranks (nprocs)" : "without a name (execname)");
    pmi1_client_reply(client, "cmd=spawn_result rc=-1 msg=%s_is_%s", lacks,
                      ranks ? "0" : "missing");
    end_spawn(client);
}

static void ask_spawn(struct pmi1_client *client)
{
    struct daemon *daemon = client->space->daemon;
    const struct pmi1_spawn *spawn = &client->spawn;
    const char *lacks = pmi1_spawn_lacks(spawn);
    client->waiting = true;
    client->spawn_request = ++daemon->requests.last_number;
    if (lacks) {
        refuse_spawn(client, lacks);
        return;
    }
    int status = daemon_ask_spawn(daemon, client->spawn_request, client->rank, spawn->puts,
                                  spawn->wishes, spawn->count);
    if (status != ORTE_SUCCESS) {
        pmi1_client_spawned(client, status);
    }
}

static void take_spawn_line(struct pmi1_client *client, const char *line)
{
    int status = pmi1_spawn_line(&client->spawn, line);
    if (status != ORTE_SUCCESS) {
        pmi1_client_drop(client, status == ORTE_ERR_BAD_PARAM ? "sent a line that is not PMI-1"
                                                              : "wants to spawn too much");
    } else if (!client->spawn.open && pmi1_spawn_is_whole(&client->spawn)) {
        ask_spawn(client);
    }
}

void pmi1_client_take_line(struct pmi1_client *client, char *line, size_t size)
{
    struct pmi1_request request;
    if (client->spawn.open) {
        line[size] = '\0';
        take_spawn_line(client, line);
    } else if (pmi1_request_read(&request, line, size) != ORTE_SUCCESS) {
        pmi1_client_drop(client, "sent a line that is not PMI-1");
    } else if (request.command == PMI1_ABORT) {
        do_abort(client, &request);
    } else if (request.command == PMI1_INIT && client->state != CLIENT_INIT) {
        do_init(client, &request);
    } else if (client->state == CLIENT_INIT) {
        obey(client, &request);
    } else {
        pmi1_client_drop(client, "sent a request outside of init and finalize");
    }
}
