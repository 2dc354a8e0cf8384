#include <config.h>

#include <base/data/reorder.h>

void reorder_init(struct reorder *reorder, uint32_t last, uint32_t most, uint32_t first)
{
    reorder->last = last;
    reorder->most = most <= last / 2 ? most : last / 2;
    list_init(&reorder->early);
    reorder_restart(reorder, first);
}

void reorder_restart(struct reorder *reorder, uint32_t first)
{
    reorder->expected = first & reorder->last;
}

static uint32_t ahead_of(const struct reorder *reorder, uint32_t sequence)
{
    return (sequence - reorder->expected) & reorder->last;
}

/* Most frames come behind all that are kept. */
static bool keep(struct reorder *reorder, struct reorder_frame *frame, uint32_t ahead)
{
    struct list *at = &reorder->early;

    for (; at->prev != &reorder->early; at = at->prev) {
        const struct reorder_frame *before = container_of(at->prev, struct reorder_frame, link);
        uint32_t other = ahead_of(reorder, before->sequence);
        if (other == ahead) {
            return false;
        }
        if (other < ahead) {
            break;
        }
    }
    list_insert_before(at, &frame->link);
    return true;
}

enum reorder_verdict reorder_put(struct reorder *reorder, struct reorder_frame *frame,
                                 uint32_t sequence)
{
    uint32_t ahead = ahead_of(reorder, sequence);

    if (ahead == 0) {
        reorder_step(reorder);
        return REORDER_NOW;
    }
    if (ahead > reorder->most) {
        return ahead > reorder->last / 2 ? REORDER_AGAIN : REORDER_TOO_FAR;
    }
    frame->sequence = sequence;
    return keep(reorder, frame, ahead) ? REORDER_KEPT : REORDER_AGAIN;
}

struct reorder_frame *reorder_next(struct reorder *reorder)
{
    struct reorder_frame *frame = container_of(reorder->early.next, struct reorder_frame, link);

    if (list_empty(&reorder->early) || frame->sequence != reorder->expected) {
        return NULL;
    }
    list_remove(&frame->link);
    reorder_step(reorder);
    return frame;
}

struct reorder_frame *reorder_drop(struct reorder *reorder)
{
    struct list *link = list_pop(&reorder->early);

    return link ? container_of(link, struct reorder_frame, link) : NULL;
}
