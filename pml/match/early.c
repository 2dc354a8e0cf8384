#include <config.h>

#include <pml/match/early.h>

void early_init(struct early *early, size_t most)
{
    *early = (struct early){.most = most};
    queues_init(&early->contexts);
    list_init(&early->all);
}

void early_fini(struct early *early)
{
    queues_fini(&early->contexts);
}

bool early_put(struct early *early, uint64_t context, struct early_message *message)
{
    if (message->bytes > early->most - early->bytes) {
        return false;
    }
    queues_append(&early->contexts, &message->link, context);
    list_append(&early->all, &message->all);
    early->bytes += message->bytes;
    match_quota_add(message->quota, message->bytes);
    return true;
}

void early_remove(struct early *early, struct early_message *message)
{
    queues_remove(&early->contexts, &message->link);
    list_remove(&message->all);
    early->bytes -= message->bytes;
    message->quota->bytes -= message->bytes;
}

static struct early_message *unqueue(struct early *early, struct early_message *message)
{
    early_remove(early, message);
    return message;
}

struct early_message *early_take(struct early *early, uint64_t context)
{
    struct queue_link *link = queues_first(&early->contexts, context);

    return link ? unqueue(early, container_of(link, struct early_message, link)) : NULL;
}

struct early_message *early_drop(struct early *early)
{
    struct list *oldest = early->all.next;

    return oldest != &early->all ? unqueue(early, container_of(oldest, struct early_message, all))
                                 : NULL;
}
