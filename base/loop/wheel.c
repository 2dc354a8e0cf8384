#include <config.h>

#include <base/loop/wheel.h>

void wheel_init(struct wheel *wheel, uint64_t tick, uint64_t now)
{
    wheel->tick = tick;
    wheel->now = now / tick;
    list_init(&wheel->expired);
    for (unsigned circle = 0; circle < WHEEL_CIRCLES; circle++) {
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++) {
            list_init(&wheel->slots[circle][slot]);
        }
    }
}

/* The smallest circle of which the time is in another slot than the present, in this turn. In the
 * last one it may be in a later turn: then its slot's time comes early, and it is placed again. */
static void place(struct wheel *wheel, struct wheel_timer *timer)
{
    uint64_t differ = timer->due ^ wheel->now;
    unsigned circle = 0;

    while (circle < WHEEL_CIRCLES - 1 && differ >> WHEEL_BITS * (circle + 1) != 0) {
        circle++;
    }
    unsigned slot = (timer->due >> WHEEL_BITS * circle) % WHEEL_SLOTS;
    list_append(&wheel->slots[circle][slot], &timer->link);
}

void wheel_start(struct wheel *wheel, struct wheel_timer *timer, uint64_t due)
{
    list_remove(&timer->link);
    timer->due = due / wheel->tick + (due % wheel->tick != 0);
    if (timer->due <= wheel->now) {
        timer->due = wheel->now + 1;
    }
    place(wheel, timer);
}

/* Empties the slots whose time has come between then and now. */
static void turn(struct wheel *wheel, unsigned circle, uint64_t now, struct list *come)
{
    uint64_t from = wheel->now >> WHEEL_BITS * circle, to = now >> WHEEL_BITS * circle;

    for (uint64_t at = from; at < to && at - from < WHEEL_SLOTS; at++) {
        list_splice(come, &wheel->slots[circle][(at + 1) % WHEEL_SLOTS]);
    }
}

static void advance(struct wheel *wheel, uint64_t now)
{
    struct list come = LIST_INIT(come);

    for (unsigned circle = 0; circle < WHEEL_CIRCLES; circle++) {
        turn(wheel, circle, now, &come);
    }
    wheel->now = now;
    for (struct list *link; (link = list_pop(&come));) {
        struct wheel_timer *timer = container_of(link, struct wheel_timer, link);
        if (timer->due <= now) {
            list_append(&wheel->expired, link);
        } else {
            place(wheel, timer);
        }
    }
}

struct wheel_timer *wheel_expire(struct wheel *wheel, uint64_t now)
{
    if (now / wheel->tick > wheel->now) {
        advance(wheel, now / wheel->tick);
    }
    struct list *link = list_pop(&wheel->expired);
    return link ? container_of(link, struct wheel_timer, link) : NULL;
}

uint64_t wheel_next(const struct wheel *wheel)
{
    if (!list_empty(&wheel->expired)) {
        return wheel->now * wheel->tick;
    }
    for (unsigned circle = 0; circle < WHEEL_CIRCLES; circle++) {
        unsigned shift = WHEEL_BITS * circle;
        for (unsigned ahead = 1; ahead <= WHEEL_SLOTS; ahead++) {
            uint64_t at = (wheel->now >> shift) + ahead;
            if (!list_empty(&wheel->slots[circle][at % WHEEL_SLOTS])) {
                return (at << shift) * wheel->tick;
            }
        }
    }
    return UINT64_MAX;
}
