#include <config.h>

#include <launcher/standing/submitter.h>

#include <base/data/clock.h>
#include <base/data/strings.h>
#include <base/text/reason.h>
#include <launcher/standing/contact.h>
#include <launcher/standing/talk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wireup/proto.h>

/* Others may plan, and start daemons for it, before this one: longer than the DVM gives one of
 * them, so that one that hangs does not cost the others their jobs. */
#define TURN_S 600u

struct submitter {
    struct talk talk;
    struct standing_node *nodes; /* owned */
    uint32_t count;
    const struct submitter_ops *ops;
    void *arg;
    bool over; /* and the owner knows */
};

/* --- before the loop runs --- */

static opal_buffer_t *new_hello(void)
{
    mode_t mask = umask(077);
    umask(mask);
    opal_buffer_t *hello = proto_new(TALK_HELLO, "su", PACKAGE_VERSION, (uint32_t) mask);
    return hello ? proto_whole(hello, proto_pack_strings(hello, environ)) : NULL;
}

static int take_nodes(struct submitter *submitter, opal_buffer_t *buffer)
{
    char **names = NULL;
    uint32_t *numbers = NULL;
    int status = proto_unpack_strings(buffer, &names);
    size_t count = strings_count(names);
    if (status == OPAL_SUCCESS && (count == 0 || count > UINT32_MAX / 2)) {
        status = ORTE_ERR_UNPACK_FAILURE;
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_u32s(buffer, 2 * (uint32_t) count, &numbers);
    }
    if (status == OPAL_SUCCESS) {
        submitter->nodes = calloc(count, sizeof(*submitter->nodes));
        status = submitter->nodes ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; status == ORTE_SUCCESS && i < count; i++) {
        submitter->nodes[i] = (struct standing_node){names[i], numbers[2 * i], numbers[2 * i + 1]};
        submitter->count++;
    }
    if (status == ORTE_SUCCESS) {
        free(names); /* the strings are the nodes' */
    } else {
        strings_free(names);
    }
    free(numbers);
    return status;
}

static int take_answer(struct submitter *submitter, opal_buffer_t *buffer, char *reason,
                       size_t reason_size)
{
    uint8_t kind = 0;
    char *why = NULL;
    int status = proto_unpack(buffer, "c", &kind);
    if (status == OPAL_SUCCESS && kind == TALK_OVER) {
        status = proto_unpack(buffer, "s", &why);
        snprintf(reason, reason_size, "the DVM %s", why ? why : "ends");
        free(why);
        return ORTE_ERR_PERM;
    }
    if (status == OPAL_SUCCESS) {
        status = kind == TALK_NODES ? take_nodes(submitter, buffer) : ORTE_ERR_BAD_PARAM;
    }
    return status == ORTE_SUCCESS
               ? status
               : reason_set(status, reason, reason_size, "the DVM's answer makes no sense");
}

/* Says it, and waits for the turn. */
static int ask(struct talk *talk, opal_buffer_t *question, uint32_t limit_s, opal_buffer_t **answer,
               char *reason, size_t reason_size)
{
    bool limited = limit_s > 0 && limit_s < TURN_S;
    uint64_t wait_us = (limited ? limit_s : TURN_S) * UINT64_C(1000000);
    if (!talk_send(talk, question)) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                          "the environment is too large, or memory is short");
    }
    int status = talk_wait(talk, clock_us() + wait_us, answer);
    if (status == ORTE_ERR_TIMEOUT) {
        return reason_set(
            limited ? status : ORTE_ERR_NOT_AVAILABLE, reason, reason_size,
            "no turn to plan this job within %u s: other jobs are planned on the DVM, "
            "or it does not answer",
            limited ? limit_s : TURN_S);
    }
    return status == ORTE_SUCCESS
               ? status
               : reason_set(status, reason, reason_size, "the DVM does not answer: %s",
                            opal_strerror(status));
}

int submitter_open(struct submitter **out, const char *file, uint32_t limit_s, char *reason,
                   size_t reason_size)
{
    opal_buffer_t *answer;
    int fd = contact_connect(contact_file(file), reason, reason_size);
    if (fd < 0) {
        return ORTE_ERR_CONNECTION_FAILED;
    }
    struct submitter *submitter = calloc(1, sizeof(*submitter));
    if (!submitter) {
        close(fd);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    talk_open(&submitter->talk, fd);
    int status = ask(&submitter->talk, new_hello(), limit_s, &answer, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = take_answer(submitter, answer, reason, reason_size);
        OBJ_RELEASE(answer);
    }
    if (status != ORTE_SUCCESS) {
        submitter_close(submitter);
        return status;
    }
    *out = submitter;
    return ORTE_SUCCESS;
}

/* What the DVM says to a change. */
static int take_change(opal_buffer_t *buffer, char *reason, size_t reason_size)
{
    uint8_t kind = 0;
    char *why = NULL;
    int status = proto_unpack(buffer, "c", &kind);
    if (status == OPAL_SUCCESS && kind == TALK_CHANGED) {
        return ORTE_SUCCESS;
    }
    status = status == OPAL_SUCCESS && kind == TALK_OVER ? proto_unpack(buffer, "s", &why)
                                                         : ORTE_ERR_BAD_PARAM;
    snprintf(reason, reason_size, "the DVM %s",
             status == OPAL_SUCCESS ? why : "has given an answer that makes no sense");
    free(why);
    return ORTE_ERR_PERM;
}

int submitter_change(const char *file, enum talk_change change, const char *hosts,
                     uint64_t limit_us, char *reason, size_t reason_size)
{
    struct talk talk;
    opal_buffer_t *answer = NULL;
    int fd = contact_connect(contact_file(file), reason, reason_size);
    if (fd < 0) {
        return ORTE_ERR_CONNECTION_FAILED;
    }
    talk_open(&talk, fd);
    int status = talk_send(&talk, proto_new(TALK_CHANGE, "cs", (uint8_t) change, hosts))
                     ? talk_wait(&talk, clock_us() + limit_us, &answer)
                     : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        status = take_change(answer, reason, reason_size);
        OBJ_RELEASE(answer);
    } else {
        snprintf(reason, reason_size, "%s: the DVM does not answer: %s", file,
                 opal_strerror(status));
    }
    talk_close(&talk);
    return status;
}

int submitter_stop(const char *file, uint64_t limit_us, char *reason, size_t reason_size)
{
    struct talk talk;
    opal_buffer_t *answer = NULL;
    uint64_t until_us = clock_us() + limit_us;
    int fd = contact_connect(contact_file(file), reason, reason_size);
    if (fd < 0) {
        return ORTE_ERR_CONNECTION_FAILED;
    }
    talk_open(&talk, fd);
    int status =
        talk_send(&talk, proto_new(TALK_STOP, "")) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    while (status == ORTE_SUCCESS) { /* what it says is not of interest, its end is */
        status = talk_wait(&talk, until_us, &answer);
        if (answer) {
            OBJ_RELEASE(answer);
        }
    }
    talk_close(&talk);
    return status == ORTE_ERR_COMM_FAILURE
               ? ORTE_SUCCESS
               : reason_set(status, reason, reason_size, "%s: the DVM does not end: %s", file,
                            opal_strerror(status));
}

/* --- on the loop --- */

static void tell_over(struct submitter *submitter, const char *why)
{
    if (!submitter->over) {
        submitter->over = true;
        submitter->ops->over(submitter->arg, why);
    }
}

static int take_unstarted(struct submitter *submitter, opal_buffer_t *buffer)
{
    uint32_t vpid;
    char *why;
    int status = proto_unpack(buffer, "us", &vpid, &why);
    if (status == OPAL_SUCCESS) {
        submitter->ops->unstarted(submitter->arg, vpid, why);
    }
    free(why);
    return status;
}

static int heard(void *arg, uint8_t kind, opal_buffer_t *buffer)
{
    struct submitter *submitter = arg;
    char *text = NULL;
    if (kind == TALK_UNSTARTED) {
        return take_unstarted(submitter, buffer);
    }
    int status = kind == TALK_SAID || kind == TALK_OVER ? proto_unpack(buffer, "s", &text)
                                                        : ORTE_ERR_BAD_PARAM;
    if (status == OPAL_SUCCESS && kind == TALK_SAID) {
        submitter->ops->said(submitter->arg, text);
    } else if (status == OPAL_SUCCESS) {
        tell_over(submitter, text);
    }
    free(text);
    return status;
}

static void ended(void *arg)
{
    tell_over(arg, "is gone");
}

void submitter_serve(struct submitter *submitter, struct loop *loop,
                     const struct submitter_ops *ops, void *arg)
{
    static const struct talk_ops talk_ops = {.heard = heard, .ended = ended};
    submitter->ops = ops;
    submitter->arg = arg;
    talk_serve(&submitter->talk, loop, &talk_ops, submitter);
}

const struct standing_node *submitter_nodes(const struct submitter *submitter, uint32_t *count)
{
    *count = submitter->count;
    return submitter->nodes;
}

bool submitter_take(struct submitter *submitter, const uint32_t *slots)
{
    opal_buffer_t *buffer = proto_new(TALK_TAKE, "u", submitter->count);
    if (buffer) {
        buffer = proto_whole(buffer,
                             opal_dss.pack(buffer, slots, (int32_t) submitter->count, OPAL_UINT32));
    }
    return talk_send(&submitter->talk, buffer);
}

bool submitter_start(struct submitter *submitter, uint32_t vpid, const char *node, const char *text,
                     size_t size)
{
    for (uint32_t i = 0; i < submitter->count; i++) {
        if (strcmp(submitter->nodes[i].name, node) == 0) {
            return talk_send(&submitter->talk, proto_new(TALK_START, "uub", vpid, i, text, size));
        }
    }
    return false;
}

void submitter_close(struct submitter *submitter)
{
    if (!submitter) {
        return;
    }
    talk_close(&submitter->talk);
    for (uint32_t i = 0; i < submitter->count; i++) {
        free(submitter->nodes[i].name);
    }
    free(submitter->nodes);
    free(submitter);
}
