#include <config.h>

#include <launcher/front/channel.h>

#include <base/data/list.h>
#include <base/settings/log.h>
#include <stdlib.h>

struct waiting {
    struct list link;
    opal_buffer_t *buffer; /* owned */
};

struct channel_end {
    struct loop *loop;         /* borrowed */
    struct channel_end *other; /* NULL: gone */
    struct list arrived;
    struct loop_task deliver;
    channel_fn fn;
    void *arg;
};

static void deliver(struct loop_task *task)
{
    struct channel_end *end = container_of(task, struct channel_end, deliver);
    struct list now = LIST_INIT(now);
    list_splice(&now, &end->arrived);
    for (struct list *link; (link = list_pop(&now));) {
        struct waiting *waiting = container_of(link, struct waiting, link);
        if (end->fn) {
            end->fn(end->arg, waiting->buffer);
        }
        OBJ_RELEASE(waiting->buffer);
        free(waiting);
    }
}

static struct channel_end *end_create(struct loop *loop)
{
    struct channel_end *end = calloc(1, sizeof(*end));
    if (end) {
        end->loop = loop;
        end->deliver.run = deliver;
        list_init(&end->arrived);
        list_init(&end->deliver.link);
    }
    return end;
}

int channel_create(struct loop *loop, struct channel_end **front, struct channel_end **hnp)
{
    struct channel_end *a = end_create(loop);
    struct channel_end *b = end_create(loop);
    if (!a || !b) {
        free(a);
        free(b);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    a->other = b;
    b->other = a;
    *front = a;
    *hnp = b;
    return ORTE_SUCCESS;
}

void channel_destroy(struct channel_end *end)
{
    if (!end) {
        return;
    }
    if (end->other) {
        end->other->other = NULL;
    }
    loop_cancel(end->loop, &end->deliver);
    for (struct list *link; (link = list_pop(&end->arrived));) {
        struct waiting *waiting = container_of(link, struct waiting, link);
        OBJ_RELEASE(waiting->buffer);
        free(waiting);
    }
    free(end);
}

void channel_receive(struct channel_end *end, channel_fn fn, void *arg)
{
    end->fn = fn;
    end->arg = arg;
}

bool channel_send(struct channel_end *end, opal_buffer_t *buffer)
{
    struct waiting *waiting = buffer && end->other ? malloc(sizeof(*waiting)) : NULL;
    if (!waiting) {
        unsigned held = 0;
        if (end->other && log_rate_ok("channel", &held)) {
            log_error(LOG_LAUNCHER, "no memory for a message to or from the front end");
        }
        if (buffer) {
            OBJ_RELEASE(buffer);
        }
        return !end->other;
    }
    waiting->buffer = buffer;
    list_append(&end->other->arrived, &waiting->link);
    loop_post(end->loop, &end->other->deliver);
    return true;
}
