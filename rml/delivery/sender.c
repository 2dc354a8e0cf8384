#include <config.h>

#include <rml/delivery/sender.h>

static struct rml_out *out_of(struct list *link)
{
    return container_of(link, struct rml_out, link);
}

static uint64_t end_of(const struct rml_out *frame)
{
    return frame->sequence + rml_stamp_cost(frame->length);
}

static void reset_positions(struct rml_sender *sender)
{
    sender->cursor = &sender->frames;
    sender->end = 0;
    sender->sent = 0;
    sender->high = 0;
    sender->acked = 0;
    sender->limit = RML_WINDOW_FIRST;
    sender->probe_at = 0;
    sender->probe_wait = RML_PROBE_FIRST_US;
    sender->resent_at = 0;
    sender->silent_since = 0;
}

void rml_sender_init(struct rml_sender *sender)
{
    *sender = (struct rml_sender){.stream = 0};
    list_init(&sender->frames);
    reset_positions(sender);
}

void rml_sender_push(struct rml_sender *sender, struct rml_out *frame, uint64_t now)
{
    frame->sequence = sender->end;
    frame->lent = false;
    list_append(&sender->frames, &frame->link);
    if (sender->cursor == &sender->frames) {
        sender->cursor = &frame->link;
    }
    sender->end = end_of(frame);
    if (sender->probe_at == 0) {
        sender->probe_wait = RML_PROBE_FIRST_US;
        sender->probe_at = now + sender->probe_wait;
        sender->silent_since = now;
    }
}

struct rml_out *rml_sender_next(struct rml_sender *sender, uint64_t now)
{
    if (sender->cursor == &sender->frames) {
        return NULL;
    }
    struct rml_out *frame = out_of(sender->cursor);
    if (frame->lent || end_of(frame) > sender->limit) {
        return NULL;
    }
    if (sender->sent == sender->acked) { /* nothing was on the way: the answer is due from now */
        sender->probe_at = now + sender->probe_wait;
    }
    frame->lent = true;
    sender->cursor = frame->link.next;
    sender->sent = end_of(frame);
    sender->high = sender->sent > sender->high ? sender->sent : sender->high;
    return frame;
}

void rml_sender_returned(struct rml_out *frame)
{
    frame->lent = false;
}

/* Takes off what lies wholly before ack. */
static void take_acknowledged(struct rml_sender *sender, uint64_t ack, struct list *done)
{
    while (!list_empty(&sender->frames)) {
        struct rml_out *frame = out_of(sender->frames.next);
        if (end_of(frame) > ack) {
            return;
        }
        if (sender->cursor == &frame->link) {
            sender->cursor = frame->link.next;
        }
        list_remove(&frame->link);
        list_append(done, &frame->link);
    }
}

bool rml_sender_ack(struct rml_sender *sender, uint64_t ack, uint32_t window, uint64_t now,
                    struct list *done)
{
    if (ack > sender->high) {
        return false;
    }
    sender->probe_wait = RML_PROBE_FIRST_US;
    if (ack >= sender->acked && ack + window > sender->limit) {
        sender->limit = ack + window;
    }
    if (ack > sender->acked) {
        sender->acked = ack;
        sender->sent = sender->sent > ack ? sender->sent : ack;
        take_acknowledged(sender, ack, done);
    }
    bool waits = !list_empty(&sender->frames);
    sender->probe_at = waits ? now + sender->probe_wait : 0;
    sender->silent_since = waits ? now : 0;
    return true;
}

void rml_sender_rewind(struct rml_sender *sender, uint64_t now)
{
    sender->cursor = sender->frames.next;
    sender->sent = sender->acked;
    if (!list_empty(&sender->frames)) {
        sender->probe_wait = RML_PROBE_FIRST_US;
        sender->probe_at = now + sender->probe_wait;
    }
}

bool rml_sender_gap(struct rml_sender *sender, uint64_t now)
{
    bool again = sender->resent_at > 0 && sender->resent == sender->acked &&
                 now < sender->resent_at + RML_PROBE_FIRST_US / 2;
    if (again || sender->sent == sender->acked) {
        return false; /* the answer to frames that were sent before the resend */
    }
    sender->resent = sender->acked;
    sender->resent_at = now > 0 ? now : 1;
    rml_sender_rewind(sender, now);
    return true;
}

bool rml_sender_probe(struct rml_sender *sender, uint64_t now)
{
    if (sender->probe_at == 0 || now < sender->probe_at) {
        return false;
    }
    sender->probe_wait = sender->probe_wait * 2;
    if (sender->probe_wait > RML_PROBE_MAX_US) {
        sender->probe_wait = RML_PROBE_MAX_US;
    }
    sender->probe_at = now + sender->probe_wait;
    return true;
}

void rml_sender_probe_at(struct rml_sender *sender, uint64_t at)
{
    sender->probe_at = at > 0 ? at : 1;
    sender->probe_wait = RML_PROBE_FIRST_US / 2;
}

void rml_sender_renumber(struct rml_sender *sender)
{
    uint64_t probe_at = sender->probe_at, silent_since = sender->silent_since;
    struct rml_out *frame;
    reset_positions(sender);
    sender->stream = 0;
    sender->cursor = sender->frames.next;
    sender->probe_at = probe_at;
    sender->silent_since = silent_since;
    list_for_each (frame, &sender->frames, struct rml_out, link) {
        frame->sequence = sender->end;
        sender->end = end_of(frame);
    }
}

void rml_sender_fail(struct rml_sender *sender, struct list *failed)
{
    list_splice(failed, &sender->frames);
    reset_positions(sender);
    sender->stream++;
}
