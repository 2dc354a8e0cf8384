#include <config.h>

#include <base/data/array.h>
#include <launcher/node/server/allgather.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/cards.h>
#include <wireup/proto.h>

static struct param max_bytes =
    PARAM_SIZE("allgather_max_bytes", "256m", 4096, INT32_MAX / 2,
               "How much a daemon keeps of the collectives between daemons that are under way");
PARAM_ROWS("launcher", max_bytes);

#define EARLY_MAX 4096 /* operations that others began and this daemon did not join yet */

/* Sorted vpids, each once. */
struct members {
    uint32_t *vpids; /* owned */
    uint32_t count;
};

/* It is there until it has ended here (delivered) and no child can still say anything about it. */
struct operation {
    struct list link;
    char *key; /* owned */
    struct members members;
    uint32_t place;     /* mine among the members, which is my number in their tree */
    uint32_t *children; /* owned: their vpids */
    uint32_t child_count, missing;
    bool *came; /* owned, by child */
    bool joined, sent, finished;
    int status;       /* the first failure */
    struct blob data; /* what has come; once sent, nothing */
    allgather_fn done;
    void *arg;
};

struct allgather {
    struct rml *rml; /* borrowed */
    orte_process_name_t me;
    uint32_t radix;
    struct list operations;
    unsigned early;
    size_t bytes;                              /* in all operations */
    void (*begun)(void *arg, const char *key); /* NULL: nobody wants to know */
    void *begun_arg;
    uint32_t *lost; /* owned: neighbours */
    uint32_t lost_count;
};

enum direction { UP = 1, DOWN };

/* --- members --- */

static int by_vpid(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;
    return (left > right) - (left < right);
}

static int members_make(struct members *members, const uint32_t *vpids, uint32_t count)
{
    *members = (struct members){0};
    if (count == 0) {
        return ORTE_ERR_BAD_PARAM;
    }
    members->vpids = malloc(count * sizeof(*vpids));
    if (!members->vpids) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(members->vpids, vpids, count * sizeof(*vpids));
    qsort(members->vpids, count, sizeof(*vpids), by_vpid);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || members->vpids[i] != members->vpids[members->count - 1]) {
            members->vpids[members->count++] = members->vpids[i];
        }
    }
    return ORTE_SUCCESS;
}

/* UINT32_MAX: not among them. */
static uint32_t members_place(const struct members *members, uint32_t vpid)
{
    const uint32_t *found = bsearch(&vpid, members->vpids, members->count, sizeof(vpid), by_vpid);
    return found ? (uint32_t) (found - members->vpids) : UINT32_MAX;
}

static bool members_equal(const struct members *a, const struct members *b)
{
    return a->count == b->count && memcmp(a->vpids, b->vpids, a->count * sizeof(*a->vpids)) == 0;
}

/* --- operations --- */

static void operation_destroy(struct allgather *allgather, struct operation *operation)
{
    list_remove(&operation->link);
    allgather->early -= !operation->joined;
    allgather->bytes -= operation->data.size;
    free(operation->key);
    free(operation->members.vpids);
    free(operation->children);
    free(operation->came);
    blob_fini(&operation->data);
    free(operation);
}

static struct operation *find_operation(struct allgather *allgather, const char *key)
{
    struct operation *operation;
    list_for_each (operation, &allgather->operations, struct operation, link) {
        if (strcmp(operation->key, key) == 0) {
            return operation;
        }
    }
    return NULL;
}

static bool is_lost(const struct allgather *allgather, uint32_t vpid)
{
    for (uint32_t i = 0; i < allgather->lost_count; i++) {
        if (allgather->lost[i] == vpid) {
            return true;
        }
    }
    return false;
}

static uint32_t parent_vpid(const struct allgather *allgather, const struct operation *operation)
{
    return operation->members.vpids[tree_parent(allgather->radix, operation->place)];
}

static void fail(struct operation *operation, int status)
{
    operation->status = operation->status == ORTE_SUCCESS ? status : operation->status;
}

static void child_came(struct operation *operation, uint32_t child)
{
    operation->missing -= !operation->came[child];
    operation->came[child] = true;
}

/* Takes note of members that cannot be reached. */
static void note_lost(const struct allgather *allgather, struct operation *operation)
{
    for (uint32_t child = 0; child < operation->child_count; child++) {
        if (is_lost(allgather, operation->children[child])) {
            child_came(operation, child);
            fail(operation, ORTE_ERR_COMM_FAILURE);
        }
    }
    if (operation->place > 0 && is_lost(allgather, parent_vpid(allgather, operation))) {
        fail(operation, ORTE_ERR_COMM_FAILURE);
    }
}

/* Takes the members on success. */
static int new_operation(struct allgather *allgather, const char *key, struct members *members,
                         struct operation **out)
{
    uint32_t place = members_place(members, allgather->me.vpid);
    if (place == UINT32_MAX || strlen(key) > ALLGATHER_KEY_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct operation *operation = calloc(1, sizeof(*operation));
    char *copy = strdup(key);
    uint32_t count = tree_children(allgather->radix, members->count, place, NULL, 0);
    uint32_t *children = calloc((size_t) count + 1, sizeof(*children));
    bool *came = calloc((size_t) count + 1, sizeof(*came));
    if (!operation || !copy || !came || !children || allgather->early >= EARLY_MAX) {
        free(operation);
        free(copy);
        free(children);
        free(came);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    tree_children(allgather->radix, members->count, place, children, count);
    for (uint32_t i = 0; i < count; i++) {
        children[i] = members->vpids[children[i]];
    }
    *operation = (struct operation){.key = copy,
                                    .members = *members,
                                    .place = place,
                                    .children = children,
                                    .child_count = count,
                                    .missing = count,
                                    .came = came};
    *members = (struct members){0};
    list_append(&allgather->operations, &operation->link);
    allgather->early++;
    note_lost(allgather, operation);
    *out = operation;
    return ORTE_SUCCESS;
}

/* Finds or makes it; takes the members in every case. Other members than those known fail it. */
static int get_operation(struct allgather *allgather, const char *key, struct members *members,
                         struct operation **out)
{
    int status = ORTE_SUCCESS;
    struct operation *operation = find_operation(allgather, key);
    if (!operation) {
        status = new_operation(allgather, key, members, &operation);
    } else if (!members_equal(&operation->members, members)) {
        fail(operation, ORTE_ERR_BAD_PARAM);
    }
    free(members->vpids);
    *out = operation;
    return status;
}

static void add_data(struct allgather *allgather, struct operation *operation, const void *data,
                     size_t size)
{
    size_t limit = (size_t) param_int(&max_bytes);
    if (operation->status != ORTE_SUCCESS) {
        return;
    }
    if (size > limit || allgather->bytes > limit - size ||
        blob_append(&operation->data, data, size) != ORTE_SUCCESS) {
        fail(operation, ORTE_ERR_OUT_OF_RESOURCE);
        return;
    }
    allgather->bytes += size;
}

static void drop_data(struct allgather *allgather, struct operation *operation)
{
    allgather->bytes -= operation->data.size;
    blob_fini(&operation->data);
}

/* --- messages: c direction, s key, u how many members, their vpids, i status, b data --- */

static int send_message(struct allgather *allgather, const struct operation *operation,
                        enum direction direction, uint32_t vpid)
{
    const struct members *members = &operation->members;
    opal_buffer_t *buffer = proto_new((uint8_t) direction, "su", operation->key, members->count);
    int status = buffer
                     ? opal_dss.pack(buffer, members->vpids, (int32_t) members->count, OPAL_UINT32)
                     : ORTE_ERR_OUT_OF_RESOURCE;
    bool whole = operation->status == ORTE_SUCCESS;
    if (status == OPAL_SUCCESS) {
        status = proto_pack(buffer, "ib", (int32_t) operation->status,
                            whole ? operation->data.data : NULL, whole ? operation->data.size : 0);
    }
    orte_process_name_t peer = {allgather->me.jobid, vpid};
    status = rml_give(allgather->rml, &peer, OOB_CONTROL, RML_TAG_ALLGATHER,
                      proto_whole(buffer, status));
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BOOTSTRAP, "cannot send to daemon %u for %s: %s", vpid, operation->key,
                 opal_strerror(status));
    }
    return status;
}

struct message {
    char *key; /* owned, as is the rest */
    struct members members;
    int32_t status;
    uint8_t *data;
    size_t size;
};

static void message_fini(struct message *message)
{
    free(message->key);
    free(message->members.vpids);
    free(message->data);
}

static int members_unpack(opal_buffer_t *buffer, struct members *members)
{
    uint32_t count;
    int status = proto_unpack(buffer, "u", &count);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (count == 0 || count > proto_left(buffer) / sizeof(uint32_t)) {
        return ORTE_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    members->vpids = calloc(count, sizeof(*members->vpids));
    if (!members->vpids) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int32_t read = (int32_t) count;
    status = opal_dss.unpack(buffer, members->vpids, &read, OPAL_UINT32);
    members->count = count;
    bool sorted = (uint32_t) read == count;
    for (uint32_t i = 1; sorted && i < count; i++) {
        sorted = members->vpids[i - 1] < members->vpids[i];
    }
    return status == OPAL_SUCCESS && !sorted ? ORTE_ERR_UNPACK_FAILURE : status;
}

static int message_unpack(opal_buffer_t *buffer, struct message *message)
{
    int status = proto_unpack(buffer, "s", &message->key);
    if (status == OPAL_SUCCESS) {
        status = members_unpack(buffer, &message->members);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "ib", &message->status, &message->data, &message->size);
    }
    return status;
}

/* --- progress --- */

/* Nothing more is to be done or can be said about it? */
static bool is_over(const struct operation *operation)
{
    return operation->finished && operation->joined && operation->missing == 0 &&
           (operation->sent || operation->place == 0);
}

/* False: the parent cannot be told, and will not answer. */
static bool send_up(struct allgather *allgather, struct operation *operation)
{
    uint32_t parent = parent_vpid(allgather, operation);
    operation->sent = true;
    bool went = !is_lost(allgather, parent) &&
                send_message(allgather, operation, UP, parent) == ORTE_SUCCESS;
    drop_data(allgather, operation);
    if (!went) {
        fail(operation, ORTE_ERR_COMM_FAILURE);
    }
    return went;
}

/* Tells the one who joined; may end the operation. Its callback comes last: it may do anything. */
static void deliver(struct allgather *allgather, struct operation *operation)
{
    struct blob data = operation->data;
    allgather_fn done = operation->done;
    void *arg = operation->arg;
    int status = operation->status;
    allgather->bytes -= data.size;
    operation->data = (struct blob){0};
    if (is_over(operation)) {
        operation_destroy(allgather, operation);
    }
    done(arg, status, status == ORTE_SUCCESS ? data.data : NULL,
         status == ORTE_SUCCESS ? data.size : 0);
    blob_fini(&data);
}

/* The result is known. A daemon that has not yet said anything to its parent does so now: the
 * parent waits for it, to forget the operation. */
static void finish(struct allgather *allgather, struct operation *operation)
{
    operation->finished = true;
    if (!operation->sent && operation->place > 0) {
        (void) send_up(allgather, operation);
    }
    for (uint32_t child = 0; child < operation->child_count; child++) {
        if (!is_lost(allgather, operation->children[child])) {
            (void) send_message(allgather, operation, DOWN, operation->children[child]);
        }
    }
    if (operation->joined) {
        deliver(allgather, operation);
    }
}

/* After something has come. The operation may be gone afterwards. */
static void advance(struct allgather *allgather, struct operation *operation)
{
    bool complete = operation->joined && operation->missing == 0;
    if (operation->finished) {
        if (is_over(operation)) {
            operation_destroy(allgather, operation);
        }
        return;
    }
    if (!complete && operation->status == ORTE_SUCCESS) {
        return;
    }
    bool top = operation->place == 0 || is_lost(allgather, parent_vpid(allgather, operation));
    if (top || (!operation->sent && !send_up(allgather, operation))) {
        finish(allgather, operation); /* else the result comes down */
    }
}

static int take_up(struct allgather *allgather, uint32_t origin, struct message *message)
{
    struct operation *operation;
    int status = get_operation(allgather, message->key, &message->members, &operation);
    message->members = (struct members){0};
    for (uint32_t child = 0; status == ORTE_SUCCESS && child < operation->child_count; child++) {
        if (operation->children[child] == origin && !operation->came[child]) {
            child_came(operation, child);
            fail(operation, message->status);
            if (!operation->finished) {
                add_data(allgather, operation, message->data, message->size);
            }
            advance(allgather, operation);
            return ORTE_SUCCESS;
        }
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    advance(allgather, operation); /* other members may have been named */
    return ORTE_ERR_PERM;
}

static int take_down(struct allgather *allgather, uint32_t origin, struct message *message)
{
    struct operation *operation;
    int status = get_operation(allgather, message->key, &message->members, &operation);
    message->members = (struct members){0};
    if (status != ORTE_SUCCESS) {
        return status;
    }
    bool early = message->status == ORTE_SUCCESS && !operation->sent;
    if (operation->place == 0 || parent_vpid(allgather, operation) != origin || early) {
        return ORTE_ERR_PERM;
    }
    if (operation->finished) {
        return ORTE_SUCCESS;
    }
    drop_data(allgather, operation);
    if (message->status != ORTE_SUCCESS) {
        operation->status = message->status;
    }
    add_data(allgather, operation, message->data, message->size);
    finish(allgather, operation);
    return ORTE_SUCCESS;
}

static void tell_begun(struct allgather *allgather, const char *key, bool news)
{
    if (allgather->begun &&
        (news ? allgather_is_begun(allgather, key) : allgather_has_failed(allgather, key))) {
        allgather->begun(allgather->begun_arg, key);
    }
}

static void from_daemon(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct allgather *allgather = arg;
    struct message message = {0};
    uint8_t direction = 0;
    int status = proto_unpack(*buffer, "c", &direction);
    if (status == OPAL_SUCCESS) {
        status = message_unpack(*buffer, &message);
    }
    if (status == OPAL_SUCCESS && info->origin.jobid != allgather->me.jobid) {
        status = ORTE_ERR_PERM;
    }
    bool understood = status == OPAL_SUCCESS;
    bool news = understood && !find_operation(allgather, message.key);
    if (understood) {
        status = direction == UP ? take_up(allgather, info->origin.vpid, &message)
                                 : take_down(allgather, info->origin.vpid, &message);
    }
    if (understood) {
        tell_begun(allgather, message.key, news);
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BOOTSTRAP, "dropped a part of a collective from %s: %s",
                 ORTE_NAME_PRINT(&info->origin), opal_strerror(status));
    }
    message_fini(&message);
}

/* --- the calls --- */

int allgather_join(struct allgather *allgather, const char *key, const uint32_t *daemons,
                   uint32_t count, int status, const void *data, size_t size, allgather_fn done,
                   void *arg)
{
    struct members members;
    struct operation *operation = find_operation(allgather, key);
    if (operation && operation->joined) {
        return ORTE_EXISTS;
    }
    int made = members_make(&members, daemons, count);
    if (made == ORTE_SUCCESS) {
        made = get_operation(allgather, key, &members, &operation);
    }
    if (made != ORTE_SUCCESS) {
        return made;
    }
    operation->joined = true;
    operation->done = done;
    operation->arg = arg;
    allgather->early--;
    if (operation->finished) {
        deliver(allgather, operation);
        return ORTE_SUCCESS;
    }
    fail(operation, status);
    add_data(allgather, operation, data, size);
    advance(allgather, operation);
    return ORTE_SUCCESS;
}

void allgather_forget(struct allgather *allgather, const char *prefix)
{
    struct operation *operation;
    list_for_each (operation, &allgather->operations, struct operation, link) {
        if (strncmp(operation->key, prefix, strlen(prefix)) == 0) {
            operation_destroy(allgather, operation);
        }
    }
}

bool allgather_is_begun(struct allgather *allgather, const char *key)
{
    const struct operation *operation = find_operation(allgather, key);
    return operation && !operation->joined;
}

bool allgather_has_failed(struct allgather *allgather, const char *key)
{
    const struct operation *operation = find_operation(allgather, key);
    return operation && !operation->joined && operation->status != ORTE_SUCCESS;
}

void allgather_watch(struct allgather *allgather, void (*begun)(void *arg, const char *key),
                     void *arg)
{
    allgather->begun = begun;
    allgather->begun_arg = arg;
}

unsigned allgather_pending(const struct allgather *allgather)
{
    unsigned count = 0;
    for (const struct list *link = allgather->operations.next; link != &allgather->operations;
         link = link->next) {
        count++;
    }
    return count;
}

/* An operation that the loss concerns and that was not yet told of it. */
static struct operation *find_broken(struct allgather *allgather)
{
    struct operation *operation;
    list_for_each (operation, &allgather->operations, struct operation, link) {
        bool told = operation->finished || operation->status != ORTE_SUCCESS;
        note_lost(allgather, operation);
        bool parent_lost = operation->place > 0 && !operation->finished &&
                           is_lost(allgather, parent_vpid(allgather, operation));
        if ((!told && operation->status != ORTE_SUCCESS) || parent_lost || is_over(operation)) {
            return operation;
        }
    }
    return NULL;
}

void allgather_daemon_lost(struct allgather *allgather, uint32_t vpid)
{
    if (!array_add(&allgather->lost, allgather->lost_count, sizeof(*allgather->lost))) {
        return;
    }
    allgather->lost[allgather->lost_count++] = vpid;
    for (struct operation *operation; (operation = find_broken(allgather));) {
        char key[ALLGATHER_KEY_MAX + 1];
        snprintf(key, sizeof(key), "%s", operation->key);
        advance(allgather, operation);
        tell_begun(allgather, key, false);
    }
}

int allgather_create(struct allgather **out, struct rml *rml, const orte_process_name_t *me,
                     uint32_t radix)
{
    struct allgather *allgather = calloc(1, sizeof(*allgather));
    if (!allgather) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    allgather->rml = rml;
    allgather->me = *me;
    allgather->radix = radix ? radix : 1;
    list_init(&allgather->operations);
    rml_handle(rml, RML_TAG_ALLGATHER, from_daemon, allgather);
    *out = allgather;
    return ORTE_SUCCESS;
}

void allgather_destroy(struct allgather *allgather)
{
    if (!allgather) {
        return;
    }
    rml_handle(allgather->rml, RML_TAG_ALLGATHER, NULL, NULL);
    allgather_forget(allgather, "");
    free(allgather->lost);
    free(allgather);
}
