#include <config.h>

#include <btl/usnic/engine/window.h>
#include <stdlib.h>

enum { SLOTS_LEAST = 64 };

void usnic_window_init(struct usnic_window *window, uint32_t first)
{
    *window = (struct usnic_window){.first = first, .next = first};
    list_init(&window->flight);
    list_init(&window->lost);
}

void usnic_window_fini(struct usnic_window *window)
{
    free(window->ring);
    window->ring = NULL;
    window->slots = 0;
}

static struct usnic_segment **slot(const struct usnic_window *window, uint32_t sequence)
{
    return &window->ring[sequence & (window->slots - 1)];
}

static bool grow(struct usnic_window *window)
{
    struct usnic_window bigger = {.slots = window->slots ? 2 * window->slots : SLOTS_LEAST};

    bigger.ring = calloc(bigger.slots, sizeof(*bigger.ring));
    if (!bigger.ring) {
        return false;
    }
    for (uint32_t at = window->first; at != window->next; at++) {
        *slot(&bigger, at) = *slot(window, at);
    }
    free(window->ring);
    window->ring = bigger.ring;
    window->slots = bigger.slots;
    return true;
}

bool usnic_window_has_room(struct usnic_window *window)
{
    uint32_t used = window->next - window->first;

    return used < window->slots || (used < USNIC_WINDOW_PACKETS && grow(window));
}

void usnic_window_add(struct usnic_window *window, struct usnic_segment *segment)
{
    segment->sequence = window->next++;
    segment->state = USNIC_LOST;
    segment->resent = segment->again = segment->probe = false;
    segment->stamp = segment->first = 0;
    *slot(window, segment->sequence) = segment;
    list_append(&window->lost, &segment->link);
}

void usnic_window_sent(struct usnic_window *window, struct usnic_segment *segment, uint64_t stamp)
{
    segment->again = segment->resent;
    segment->resent = segment->stamp != 0;
    segment->first = segment->resent ? segment->first : stamp;
    segment->stamp = stamp;
    segment->state = USNIC_FLIGHT;
    list_remove(&segment->link);
    list_append(&window->flight, &segment->link);
    window->in_flight++;
    window->bulk += segment->bulk;
    window->charge += segment->charge;
}

/* Out of flight, and out of its list. */
static void leave(struct usnic_window *window, struct usnic_segment *segment)
{
    if (segment->state == USNIC_FLIGHT) {
        window->in_flight--;
        window->bulk -= segment->bulk;
        window->charge -= segment->charge;
    }
    list_remove(&segment->link);
}

void usnic_window_resend(struct usnic_window *window, struct usnic_segment *segment)
{
    leave(window, segment);
    segment->state = USNIC_LOST;
    segment->probe = true;
    list_prepend(&window->lost, &segment->link);
}

static void acknowledge(struct usnic_window *window, uint32_t sequence, uint64_t echo, uint64_t now,
                        struct usnic_acked *acked, struct list *done)
{
    struct usnic_segment *segment = *slot(window, sequence);

    if (!segment) {
        return;
    }
    /* What the receiver answers was sent before this was sent again. */
    bool was_lost = segment->state == USNIC_LOST && segment->stamp != 0;
    if (was_lost || (segment->resent && echo < segment->stamp)) {
        uint64_t late = segment->probe || segment->again ? 0 : now - segment->first;
        acked->spurious++;
        acked->late = late > acked->late ? late : acked->late;
    }
    acked->packets++;
    acked->charge += segment->charge;
    leave(window, segment);
    segment->state = USNIC_IDLE;
    *slot(window, sequence) = NULL;
    list_append(done, &segment->link);
}

/* The first packet of the window is one that is not acknowledged. */
static void skip(struct usnic_window *window)
{
    while (!usnic_window_empty(window) && !*slot(window, window->first)) {
        window->first++;
    }
}

void usnic_window_acked(struct usnic_window *window, uint32_t ack, uint64_t echo, uint64_t now,
                        struct usnic_acked *acked, struct list *done)
{
    for (; window->first != ack; window->first++) {
        acknowledge(window, window->first, echo, now, acked, done);
    }
    skip(window);
}

void usnic_window_acked_range(struct usnic_window *window, struct usnic_range range, uint64_t echo,
                              uint64_t now, struct usnic_acked *acked, struct list *done)
{
    uint32_t open = window->next - window->first;

    for (uint32_t at = range.first; at != range.end && at - window->first < open; at++) {
        acknowledge(window, at, echo, now, acked, done);
    }
    skip(window);
}

uint32_t usnic_window_lose(struct usnic_window *window, uint64_t newest, uint64_t limit)
{
    uint32_t count = 0;

    while (!list_empty(&window->flight)) {
        struct usnic_segment *segment = usnic_window_oldest(window);
        if (segment->stamp >= newest || segment->stamp > limit) {
            break;
        }
        leave(window, segment);
        segment->state = USNIC_LOST;
        segment->probe = false;
        list_append(&window->lost, &segment->link);
        count++;
    }
    return count;
}

struct usnic_segment *usnic_window_first(const struct usnic_window *window)
{
    return usnic_window_empty(window) ? NULL : *slot(window, window->first);
}

struct usnic_segment *usnic_window_oldest(const struct usnic_window *window)
{
    return list_empty(&window->flight)
               ? NULL
               : container_of(window->flight.next, struct usnic_segment, link);
}

struct usnic_segment *usnic_window_drop(struct usnic_window *window)
{
    for (; window->first != window->next; window->first++) {
        struct usnic_segment *segment = *slot(window, window->first);
        if (segment) {
            leave(window, segment);
            segment->state = USNIC_IDLE;
            *slot(window, window->first) = NULL;
            return segment;
        }
    }
    return NULL;
}

size_t usnic_window_largest(const struct usnic_window *window)
{
    size_t largest = 0;

    for (uint32_t at = window->first; at != window->next; at++) {
        const struct usnic_segment *segment = *slot(window, at);
        size_t size = segment ? usnic_segment_least(segment) : 0;
        largest = size > largest ? size : largest;
    }
    return largest;
}

void usnic_window_trim(struct usnic_window *window)
{
    if (usnic_window_empty(window) && window->slots > SLOTS_LEAST) {
        usnic_window_fini(window);
    }
}
