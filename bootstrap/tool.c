#include <config.h>

#include <bootstrap/tool.h>

#include <base/data/clock.h>
#include <base/loop/handover.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/types/name.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <oob/contact.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <wireup/look.h>
#include <wireup/proto.h>

enum { GUEST_TRIES = 5 };

static struct param contact_param =
    PARAM_STRING("tool_contact", "",
                 "The contact string of a running keelrun (see --report-uri), or file:PATH: a "
                 "process that nobody launched joins that job as a tool");
PARAM_ROWS("bootstrap", contact_param);
static struct param key_param =
    PARAM_STRING("tool_key_file", "",
                 "The file with the key that a tool proves (default: tool.key beside the unix "
                 "socket of the contact string)");
PARAM_ROWS("bootstrap", key_param);

/* --- contact string and key --- */

static int read_line(const char *path, char **line, char *reason, size_t reason_size)
{
    char text[CONTACT_TEXT_MAX + 2] = "";
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, sizeof(text), file);
    if (file) {
        (void) fclose(file);
    }
    if (!read) {
        snprintf(reason, reason_size, "no contact string can be read from %s: %s", path,
                 file ? "it is empty" : strerror(errno));
        return ORTE_ERR_NOT_FOUND;
    }
    text[strcspn(text, "\r\n")] = '\0';
    *line = strdup(text);
    return *line ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int tool_contact(const char *option, char **contact, char *reason, size_t reason_size)
{
    static const char file[] = "file:";
    const char *text = option;
    *contact = NULL;
    if (!text && !getenv(ENV_DAEMON) && !getenv(ENV_PMIX_RANK)) {
        text = param_string(&contact_param);
    }
    if (!text || (!option && !text[0])) {
        return ORTE_SUCCESS;
    }
    if (strncmp(text, file, sizeof(file) - 1) == 0) {
        return read_line(text + sizeof(file) - 1, contact, reason, reason_size);
    }
    *contact = strdup(text);
    return *contact ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Beside the unix socket, if the contact string has one. */
static bool key_path(const struct contact *contact, char *path, size_t size)
{
    const char *named = param_string(&key_param);
    if (named[0]) {
        return snprintf(path, size, "%s", named) < (int) size;
    }
    for (size_t i = 0; i < contact->count; i++) {
        const struct sockaddr_un *addr = (const void *) &contact->addrs[i].storage;
        if (addr->sun_family == AF_UNIX) {
            const char *slash = strrchr(addr->sun_path, '/');
            int length = slash ? (int) (slash - addr->sun_path) : 0;
            return snprintf(path, size, "%.*s/" TOOL_KEY_FILE, length, addr->sun_path) < (int) size;
        }
    }
    return false;
}

/* A file of this user's that nobody else can read. */
static int read_key(const char *path, uint8_t key[KEY_BYTES], char *reason, size_t reason_size)
{
    struct stat stat;
    uint8_t bytes[KEY_BYTES + 1];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        snprintf(reason, reason_size, "the tool key %s cannot be read: %s", path, strerror(errno));
        return errno == EACCES || errno == ELOOP ? ORTE_ERR_PERM : ORTE_ERR_NOT_FOUND;
    }
    int status = ORTE_ERR_PERM;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid() ||
        (stat.st_mode & 077) != 0) {
        snprintf(reason, reason_size, "the tool key %s is not a file for this user alone", path);
    } else if (read(fd, bytes, sizeof(bytes)) != KEY_BYTES) {
        snprintf(reason, reason_size, "the tool key %s is not %d bytes long", path, KEY_BYTES);
    } else {
        memcpy(key, bytes, KEY_BYTES);
        status = ORTE_SUCCESS;
    }
    close(fd);
    crypto_wipe(bytes, sizeof(bytes));
    return status;
}

int tool_door_open(struct tool_door *door, char *text, char *reason, size_t reason_size)
{
    struct contact contact;
    char path[PATH_MAX];
    *door = (struct tool_door){.contact = text};
    int status = contact_parse(&contact, text, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (contact.name.jobid != rml_daemon_job(contact.name.jobid) || contact.name.vpid != 0) {
        snprintf(reason, reason_size, "%s is not keelrun's contact string", text);
        return ORTE_ERR_BAD_PARAM;
    }
    door->hnp = contact.name;
    if (!key_path(&contact, path, sizeof(path))) {
        snprintf(reason, reason_size,
                 "the contact string has no unix socket and tool_key_file is not set: no key");
        return ORTE_ERR_NOT_FOUND;
    }
    return read_key(path, door->key, reason, reason_size);
}

void tool_door_close(struct tool_door *door)
{
    free(door->contact);
    crypto_wipe(door, sizeof(*door));
}

/* --- a link to the HNP --- */

struct key_call {
    struct rml *rml;
    const uint8_t *key;
};

static int set_key(void *arg)
{
    struct key_call *call = arg;
    oob_set_key(rml_oob(call->rml), OOB_KEY_TOOL, call->key);
    return ORTE_SUCCESS;
}

static int connect_hnp(struct rml *rml, struct loop *loop, const struct tool_door *door,
                       char *reason, size_t reason_size)
{
    struct key_call key = {rml, door->key};
    int status = handover_call(loop, set_key, &key);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    rml_route_default(rml, &door->hnp); /* before the link: questions come with it */
    status =
        backend_connect(rml, door->contact, OOB_KEY_TOOL, 0, "keelrun at", reason, reason_size);
    return status == ORTE_ERR_CONNECTION_FAILED ? ORTE_ERR_UNREACH : status;
}

/* --- a guest: the RML by which a name is asked for --- */

struct guest {
    struct loop *loop;
    struct rml *rml;
    const struct tool_door *door;
    struct handover answered;
    orte_process_name_t name; /* the one that was given */
    char reason[512];
};

static void from_hnp_to_guest(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct guest *guest = arg;
    uint8_t command;
    uint64_t number;
    int32_t outcome;
    orte_process_name_t name;
    int status = proto_unpack(*buffer, "cqin", &command, &number, &outcome, &name);
    if (info->role != OOB_KEY_CONTROL || status != OPAL_SUCCESS || command != TOOL_NAME) {
        return;
    }
    guest->name = name;
    handover_give(&guest->answered, outcome, "the HNP gives no name");
}

/* On the loop. */
static void guest_link_changed(void *arg, const struct oob_peer *peer, int status)
{
    struct guest *guest = arg;
    (void) peer;
    if (status != ORTE_SUCCESS) {
        handover_give(&guest->answered, ORTE_ERR_UNREACH, "the link to the HNP is gone");
    }
}

static int guest_open(void *arg)
{
    struct guest *guest = arg;
    struct rml_config config = {
        .loop = guest->loop,
        .name = {guest->door->hnp.jobid | GUEST_JOB_NUMBER, 0},
        .role = OOB_KEY_TOOL,
        .dispatch = RML_DISPATCH_LOOP,
    };
    crypto_random(&config.epoch, sizeof(config.epoch));
    crypto_random(&config.name.vpid, sizeof(config.name.vpid));
    config.name.vpid %= GUESTS_MAX;
    int status = rml_create(&guest->rml, &config, guest->reason, sizeof(guest->reason));
    if (status == ORTE_SUCCESS) {
        rml_handle(guest->rml, ORTE_RML_TAG_TOOL, from_hnp_to_guest, guest);
        rml_watch_links(guest->rml, guest_link_changed, guest);
    }
    return status;
}

static int guest_close(void *arg)
{
    struct guest *guest = arg;
    rml_destroy(guest->rml);
    guest->rml = NULL;
    return ORTE_SUCCESS;
}

static int guest_ask(struct guest *guest)
{
    int status =
        connect_hnp(guest->rml, guest->loop, guest->door, guest->reason, sizeof(guest->reason));
    if (status == ORTE_SUCCESS) {
        status = rml_give(guest->rml, &guest->door->hnp, OOB_CONTROL, ORTE_RML_TAG_TOOL,
                          proto_new(TOOL_NAME, "q", UINT64_C(0)));
    }
    if (status == ORTE_SUCCESS) {
        status = handover_take(&guest->answered, clock_us() + backend_timeout_us());
        snprintf(guest->reason, sizeof(guest->reason), "%s: %s",
                 status == ORTE_ERR_TIMEOUT ? "the HNP does not answer" : guest->answered.reason,
                 opal_strerror(status));
    }
    return status;
}

int tool_ask_name(struct loop *loop, const struct tool_door *door, orte_process_name_t *name,
                  char *reason, size_t reason_size)
{
    struct guest guest = {.loop = loop, .door = door};
    int status = ORTE_EXISTS;
    handover_init(&guest.answered);
    for (int i = 0; i < GUEST_TRIES && status == ORTE_EXISTS; i++) { /* the guest's name is taken */
        status = handover_call(loop, guest_open, &guest);
        if (status == ORTE_SUCCESS) {
            status = guest_ask(&guest);
        }
        (void) handover_call(loop, guest_close, &guest);
    }
    handover_fini(&guest.answered);
    if (status == ORTE_SUCCESS) {
        *name = guest.name;
    } else {
        snprintf(reason, reason_size, "%s", guest.reason);
    }
    return status;
}

/* --- the back end --- */

struct tool {
    struct backend backend;
    orte_process_name_t name, hnp;
    uint64_t number; /* of the last question */
    bool answered;
    int status;
    orte_jobid_t job;
    uint32_t ranks;
    opal_buffer_t *look; /* owned: what the job does; NULL: no such answer */
};

static void take_lost(struct tool *tool)
{
    tool->status = ORTE_ERR_COMM_FAILURE;
    tool->answered = true;
}

static int take_job(struct tool *tool, opal_buffer_t *buffer)
{
    int32_t outcome;
    uint32_t job, ranks;
    int status = proto_unpack(buffer, "iuu", &outcome, &job, &ranks);
    if (status == OPAL_SUCCESS) {
        tool->status = outcome;
        tool->job = job;
        tool->ranks = ranks;
    }
    return status;
}

/* Takes the buffer where it holds what was asked for. */
static int take_look(struct tool *tool, opal_buffer_t **buffer)
{
    int32_t outcome;
    int status = proto_unpack(*buffer, "i", &outcome);
    if (status == OPAL_SUCCESS) {
        tool->status = outcome;
        tool->look = *buffer;
        *buffer = NULL;
    }
    return status;
}

/* The answer to what was asked last; others are late. */
static void take_answer(struct tool *tool, uint8_t command, opal_buffer_t **buffer)
{
    uint64_t number;
    int status = proto_unpack(*buffer, "q", &number);
    if (status != OPAL_SUCCESS || tool->answered || number != tool->number) {
        return;
    }
    status = command == TOOL_JOB    ? take_job(tool, *buffer)
             : command == TOOL_LOOK ? take_look(tool, buffer)
                                    : ORTE_ERR_BAD_PARAM;
    tool->answered = status == OPAL_SUCCESS;
}

static void from_hnp(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct tool *tool = arg;
    uint8_t command;
    int status = proto_unpack(*buffer, "c", &command);
    if (status == OPAL_SUCCESS && command == TOOL_LOST && name_equal(&info->origin, &tool->name)) {
        take_lost(tool);
    } else if (status == OPAL_SUCCESS && info->role == OOB_KEY_CONTROL) {
        take_answer(tool, command, buffer);
    }
}

/* On the loop. The news goes through the queue of messages, into the application's thread. */
static void link_changed(void *arg, const struct oob_peer *peer, int status)
{
    struct tool *tool = arg;
    if (status == ORTE_SUCCESS || !name_equal(&peer->name, &tool->hnp)) {
        return;
    }
    if (rml_give(tool->backend.rml, &tool->name, OOB_CONTROL, ORTE_RML_TAG_TOOL,
                 proto_new(TOOL_LOST, "")) != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "no memory to say that the HNP is gone");
    }
}

/* Takes the question, which has the number of the tool's last one. */
static int ask(struct tool *tool, opal_buffer_t *question, uint64_t limit_us)
{
    struct rml *rml = tool->backend.rml;
    int status = rml_give(rml, &tool->hnp, OOB_CONTROL, ORTE_RML_TAG_TOOL, question);
    if (status == ORTE_SUCCESS) {
        status = rml_wait(rml, &tool->answered, clock_us() + limit_us, NULL, NULL);
    }
    return status == ORTE_SUCCESS ? tool->status : status;
}

/* A new question. */
static struct tool *begin(struct backend *backend)
{
    struct tool *tool = container_of(backend, struct tool, backend);
    tool->answered = false;
    tool->number++;
    return tool;
}

int tool_job(struct backend *backend, orte_jobid_t *job, uint32_t *ranks)
{
    struct tool *tool = begin(backend);
    int status = ask(tool, proto_new(TOOL_JOB, "q", tool->number), backend_timeout_us());
    if (status == ORTE_SUCCESS) {
        *job = tool->job;
        *ranks = tool->ranks;
    }
    return status;
}

int tool_look(struct backend *backend, bool stacks, uint64_t limit_us, const struct keel_look *look,
              void *arg)
{
    struct tool *tool = begin(backend);
    int status = ask(tool, proto_new(TOOL_LOOK, "qc", tool->number, (uint8_t) stacks), limit_us);
    opal_buffer_t *answer = tool->look;
    tool->look = NULL;
    tool->answered = true; /* what comes later is not taken */
    if (status == ORTE_SUCCESS) {
        status = answer ? look_unpack(answer, look, arg) : ORTE_ERR_BAD_PARAM;
    }
    if (answer) {
        OBJ_RELEASE(answer);
    }
    return status;
}

/* The job that it visits goes on. */
static void tool_abort(struct backend *backend, int status, const char *reason)
{
    (void) backend;
    (void) status;
    log_error(LOG_BOOTSTRAP, "aborted%s%s", reason[0] ? ": " : "", reason);
}

static void tool_leave(struct backend *backend)
{
    struct tool *tool = container_of(backend, struct tool, backend);
    rml_handle(backend->rml, ORTE_RML_TAG_TOOL, NULL, NULL);
    rml_watch_links(backend->rml, NULL, tool);
    backend_fini(backend);
    free(tool);
}

static const struct backend_ops tool_ops = {
    .name = "tool",
    .fence = backend_fence_alone,
    .fetch = backend_fetch_nothing,
    .abort = tool_abort,
    .leave = tool_leave,
};

int tool_create(struct backend **out, struct rml *rml, struct loop *loop,
                const struct tool_door *door, const struct self *self, char *reason,
                size_t reason_size)
{
    struct tool *tool = calloc(1, sizeof(*tool));
    if (!tool) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    tool->backend = (struct backend){.ops = &tool_ops, .rml = rml};
    tool->name = self->name;
    tool->hnp = door->hnp;
    int status = backend_map_alone(&tool->backend.map, self);
    if (status == ORTE_SUCCESS) {
        status = backend_init(&tool->backend);
    }
    if (status == ORTE_SUCCESS) {
        status = connect_hnp(rml, loop, door, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        backend_fini(&tool->backend);
        free(tool);
        return status;
    }
    rml_handle(rml, ORTE_RML_TAG_TOOL, from_hnp, tool);
    rml_watch_links(rml, link_changed, tool);
    *out = &tool->backend;
    return ORTE_SUCCESS;
}
