#include <config.h>

#include <pml/peers/context.h>
#include <pml/progress/progress.h>
#include <pml/requests/control.h>
#include <pml/requests/recv.h>

/* What a probe looks for, and what it found. */
struct probe {
    struct keel_pml_context *context;
    int32_t source, tag;
    bool takes;
    bool found;
    struct keel_pml_status status;  /* of what was found */
    struct keel_pml_message *taken; /* that, if it takes it */
    int error;                      /* there will be none */
};

static bool is_allowed(const struct keel_pml_context *context, int32_t source, int32_t tag)
{
    return context && (source == KEEL_PML_ANY_SOURCE || context_has_rank(context, source)) &&
           (tag == KEEL_PML_ANY_TAG || tag >= KEEL_PML_TAG_MIN);
}

/* NULL: none. */
static const struct keel_pml_message *look(struct probe *probe)
{
    struct match *match = &probe->context->match;

    if (!probe->takes) {
        const struct match_message *found = match_probe(match, probe->source, probe->tag);
        return found ? container_of(found, const struct keel_pml_message, match) : NULL;
    }
    probe->taken = message_of(match_take(match, probe->source, probe->tag));
    if (probe->taken) {
        control_left(message_member(probe->taken));
        probe->context->taken++;
    }
    return probe->taken;
}

/* There is a message, or there will be none. One that stays may be another thread's soon. */
static bool is_over(void *arg)
{
    struct probe *probe = arg;
    if (probe->found || probe->error != OPAL_SUCCESS) {
        return true;
    }
    const struct keel_pml_message *message = look(probe);
    if (message) {
        probe->found = true;
        probe->status = (struct keel_pml_status){.source = message->header->hdr_src,
                                                 .tag = message->header->hdr_tag,
                                                 .bytes = message->header->hdr_msg_length};
    } else if (probe->source >= 0) {
        probe->error = member_ready(context_member(probe->context, probe->source));
    }
    return probe->found || probe->error != OPAL_SUCCESS;
}

static void tell(const void *arg, char *text, size_t size)
{
    const struct probe *probe = arg;
    request_tell(text, size, "a probe for a message from", probe->source, probe->tag);
}

static int ask(struct probe *probe, bool waits, struct keel_pml_status *end)
{
    if (!is_allowed(probe->context, probe->source, probe->tag)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct pml *pml = probe->context->pml;
    if (waits) {
        int status = progress_until(pml, is_over, tell, probe);
        if (status != OPAL_SUCCESS) {
            return status;
        }
    } else {
        (void) progress_once(pml, is_over, probe);
    }
    if (probe->found && end) {
        *end = probe->status;
    }
    return probe->found ? OPAL_SUCCESS : probe->error;
}

int keel_pml_iprobe(struct keel_pml_context *context, int32_t source, int32_t tag, bool *there,
                    struct keel_pml_status *status)
{
    struct probe probe = {.context = context, .source = source, .tag = tag};
    if (!there) {
        return OPAL_ERR_BAD_PARAM;
    }
    int result = ask(&probe, false, status);
    if (result == OPAL_SUCCESS) {
        *there = probe.found;
    }
    return result;
}

int keel_pml_probe(struct keel_pml_context *context, int32_t source, int32_t tag,
                   struct keel_pml_status *status)
{
    struct probe probe = {.context = context, .source = source, .tag = tag};
    return ask(&probe, true, status);
}

static int take(struct keel_pml_context *context, int32_t source, int32_t tag, bool waits,
                struct keel_pml_message **message, struct keel_pml_status *status)
{
    struct probe probe = {.context = context, .source = source, .tag = tag, .takes = true};
    if (!message) {
        return OPAL_ERR_BAD_PARAM;
    }
    int result = ask(&probe, waits, status);
    if (result == OPAL_SUCCESS) {
        *message = probe.taken;
    }
    return result;
}

int keel_pml_improbe(struct keel_pml_context *context, int32_t source, int32_t tag,
                     struct keel_pml_message **message, struct keel_pml_status *status)
{
    return take(context, source, tag, false, message, status);
}

int keel_pml_mprobe(struct keel_pml_context *context, int32_t source, int32_t tag,
                    struct keel_pml_message **message, struct keel_pml_status *status)
{
    return take(context, source, tag, true, message, status);
}
