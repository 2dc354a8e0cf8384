#include <config.h>

#include <btl/fabric/fabric_receive.h>
#include <stdlib.h>

enum { CACHE_LINE = 64 };

static size_t round_up(size_t bytes)
{
    return (bytes + CACHE_LINE - 1) & ~(size_t) (CACHE_LINE - 1);
}

size_t fabric_receive_room(size_t count, size_t bytes)
{
    return count * round_up(bytes);
}

struct fabric_rx *fabric_receive_at(const struct fabric_receives *receives, size_t number)
{
    return (struct fabric_rx *) (void *) (receives->elements + number * receives->element_bytes);
}

int fabric_receive_open(struct fabric_receives *receives, struct fabric *fabric, size_t count,
                        size_t bytes, size_t element_bytes)
{
    *receives = (struct fabric_receives){
        .fabric = fabric, .count = count, .bytes = bytes, .element_bytes = round_up(element_bytes)};
    list_init(&receives->unposted);
    receives->elements = aligned_alloc(CACHE_LINE, count * receives->element_bytes);
    if (!receives->elements) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memset(receives->elements, 0, count * receives->element_bytes);
    for (size_t i = 0; i < count; i++) {
        struct fabric_rx *rx = fabric_receive_at(receives, i);
        rx->bytes = fabric_carve(fabric, bytes);
        list_init(&rx->link);
        fabric_receive_post(receives, rx);
    }
    return list_empty(&receives->unposted) ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

void fabric_receive_again(struct fabric_receives *receives)
{
    for (size_t i = 0; i < receives->count; i++) {
        struct fabric_rx *rx = fabric_receive_at(receives, i);
        list_remove(&rx->link);
        fabric_receive_post(receives, rx);
    }
}

void fabric_receive_close(struct fabric_receives *receives)
{
    free(receives->elements);
    receives->elements = NULL;
}

void fabric_receive_post(struct fabric_receives *receives, struct fabric_rx *rx)
{
    const struct fabric *fabric = receives->fabric;

    if (!fabric->ep || fi_recv(fabric->ep, rx->bytes, receives->bytes, fabric->memory_desc,
                               FI_ADDR_UNSPEC, &rx->context) != 0) {
        list_append(&receives->unposted, &rx->link);
    }
}

void fabric_receive_repost(struct fabric_receives *receives)
{
    struct list again;

    list_init(&again);
    list_splice(&again, &receives->unposted);
    for (struct list *link; (link = list_pop(&again));) {
        fabric_receive_post(receives, container_of(link, struct fabric_rx, link));
    }
}
