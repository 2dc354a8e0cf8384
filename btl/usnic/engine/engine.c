#include <config.h>

#include <btl/usnic/engine/inside.h>
#include <stdlib.h>

enum {
    TICK_US = 10,
    RESERVED = 8, /* segments for acknowledgements, of at least twice as many */
    BURST = 16    /* packets that a flow sends in its turn */
};

/* ---- segments ---- */

struct usnic_segment *usnic_segment_get(struct usnic_engine *engine, uint8_t kind)
{
    if (engine->unused_count <= (kind == USNIC_ACK ? 0 : RESERVED)) {
        return NULL;
    }
    struct usnic_segment *segment =
        container_of(list_pop(&engine->unused), struct usnic_segment, link);
    engine->unused_count--;
    segment->kind = kind;
    segment->state = USNIC_IDLE;
    segment->stamp = 0;
    return segment;
}

void usnic_segment_put(struct usnic_engine *engine, struct usnic_segment *segment)
{
    if (!segment->on_wire) {
        segment->flow = NULL;
        list_prepend(&engine->unused, &segment->link);
        engine->unused_count++;
    }
}

void usnic_engine_sent(struct usnic_engine *engine, struct usnic_segment *segment)
{
    segment->on_wire = false;
    if (segment->state == USNIC_IDLE) {
        usnic_segment_put(engine, segment);
    }
}

/* ---- the engine ---- */

static bool is_sensible(const struct usnic_engine_config *config)
{
    return config->segments >= 2 * RESERVED &&
           config->segment_bytes >= config->prefix + USNIC_MTU_LEAST &&
           config->segment_bytes % 8 == 0 && config->receive_buffers >= 2 &&
           config->small_charge > 0 && config->small_charge <= config->full_charge &&
           config->full_charge <= UINT16_MAX && config->max_message <= UINT32_MAX &&
           config->peer_timeout_us > 0;
}

/* What may be under way to this process: if the first packet is lost, each of the others needs a
 * receive buffer, however small it is. */
static size_t room_of(const struct usnic_engine_config *config)
{
    size_t buffers = config->receive_buffers / 2 * config->small_charge;

    return config->room > 0 && config->room < buffers ? config->room : buffers;
}

static void init_segments(struct usnic_engine *engine)
{
    const struct usnic_engine_config *config = &engine->config;

    list_init(&engine->unused);
    for (size_t i = 0; i < config->segments; i++) {
        engine->segments[i].number = (uint32_t) i;
        engine->segments[i].packet = config->memory + i * config->segment_bytes + config->prefix;
        list_append(&engine->unused, &engine->segments[i].link);
    }
    engine->unused_count = config->segments;
}

int usnic_engine_init(struct usnic_engine *engine, const struct usnic_engine_config *config,
                      const struct usnic_user *user, void *arg, uint64_t now_us)
{
    if (!is_sensible(config)) {
        return OPAL_ERR_BAD_PARAM;
    }
    *engine = (struct usnic_engine){.config = *config,
                                    .user = user,
                                    .arg = arg,
                                    .now_us = now_us,
                                    .swept_us = now_us,
                                    .awake_us = now_us,
                                    .looked_us = now_us};
    engine->config.room = room_of(config);
    engine->segments = calloc(config->segments, sizeof(*engine->segments));
    if (!engine->segments) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    init_segments(engine);
    wheel_init(&engine->wheel, TICK_US, now_us);
    list_init(&engine->resending);
    list_init(&engine->ready);
    list_init(&engine->acks);
    list_init(&engine->active);
    return OPAL_SUCCESS;
}

void usnic_engine_fini(struct usnic_engine *engine)
{
    free(engine->segments);
    engine->segments = NULL;
}

/* ---- progress ---- */

static void expire(struct usnic_engine *engine)
{
    for (struct wheel_timer *expired; (expired = wheel_expire(&engine->wheel, engine->now_us));) {
        struct usnic_timer *timer = container_of(expired, struct usnic_timer, wheel);
        if (timer->is_for_acks) {
            usnic_ack_timer_expired(engine, timer->flow);
        } else {
            usnic_timer_expired(engine, timer->flow);
        }
    }
}

/* Each flow of the list once; what cannot go on puts itself back. */
static int resend(struct usnic_engine *engine)
{
    struct list turn;
    int count = 0;

    list_init(&turn);
    list_splice(&turn, &engine->resending);
    for (struct list *link; (link = list_pop(&turn));) {
        count += usnic_resend(engine, container_of(link, struct usnic_flow, resending), BURST);
    }
    return count;
}

/* Flows in turn. One whose turn found the wire full is the first of the next turn. */
static int pump(struct usnic_engine *engine)
{
    struct list turn;
    int count = 0;

    list_init(&turn);
    list_splice(&turn, &engine->ready);
    for (struct list *link; (link = list_pop(&turn));) {
        count += usnic_pump(engine, container_of(link, struct usnic_flow, ready), BURST);
    }
    return count;
}

static int acknowledge(struct usnic_engine *engine)
{
    int count = 0;

    while (!list_empty(&engine->acks)) {
        struct usnic_flow *flow = container_of(engine->acks.next, struct usnic_flow, acks);
        if (!usnic_transmit_ack(engine, flow)) {
            break;
        }
        count++;
    }
    return count;
}

/* A process that was not running when its timers expired cannot know that its peers were silent. */
static void wake(struct usnic_engine *engine, uint64_t now_us)
{
    uint64_t stall_us = engine->config.peer_timeout_us / 4;

    if (now_us - engine->now_us > stall_us && now_us - stall_us > wheel_next(&engine->wheel)) {
        engine->awake_us = now_us;
    }
    engine->now_us = now_us;
}

void usnic_engine_look(struct usnic_engine *engine, uint64_t now_us)
{
    engine->waited_us = now_us - engine->looked_us;
    engine->looked_us = now_us;
}

int usnic_engine_progress(struct usnic_engine *engine, uint64_t now_us)
{
    int count = 0;

    wake(engine, now_us);
    engine->rounds++;
    engine->full[USNIC_PRIORITY] = engine->full[USNIC_DATA] = false;
    expire(engine);
    if (!list_empty(&engine->resending)) {
        count += resend(engine);
    }
    if (!list_empty(&engine->ready)) {
        count += pump(engine);
    }
    if (!list_empty(&engine->acks)) {
        count += acknowledge(engine);
    }
    usnic_share_sweep(engine);
    return count;
}

bool usnic_engine_busy(const struct usnic_engine *engine)
{
    return engine->flights > 0 || !list_empty(&engine->ready) || !list_empty(&engine->acks);
}

uint64_t usnic_engine_due(const struct usnic_engine *engine)
{
    if (!list_empty(&engine->resending) || !list_empty(&engine->ready) ||
        !list_empty(&engine->acks)) {
        return engine->now_us;
    }
    return wheel_next(&engine->wheel);
}
