#include <config.h>

#include <base/data/clock.h>
#include <btl/plane/plane.h>
#include <ptl/rail/owed.h>
#include <ptl/rail/way.h>

enum {
    SAY_PASSES = 64,      /* of progress, after which a process is told */
    FIRST_LOOK = 2,       /* the pass after which the clock is read first */
    CLOCK_PASSES = 8,     /* at most between looks at it */
    SAY_NS = 1000 * 1000, /* after which it is told, too */
};

void rail_owed_say(struct rail_link *link)
{
    uint8_t bytes[RAIL_NUMBER_BYTES];
    const struct rail_way way = rail_way_connected(link->proc);
    if (link->lost) {
        rail_encode_lost(bytes);
    } else {
        rail_encode_came(bytes, link->come.expected);
    }
    if (!way.module || rail_way_put(&way, bytes, sizeof(bytes), NULL, 0) == OPAL_SUCCESS) {
        rail_owed_told(link);
    }
}

static void say_all(void)
{
    struct rail_link *link;
    list_for_each (link, &rail.owing, struct rail_link, owes) {
        rail_owed_say(link);
    }
}

static void begin_count(void)
{
    rail.owing_passes = 0;
    rail.owing_look = FIRST_LOOK;
}

/* Until the clock is read again: no more than there is time for. */
static unsigned passes_to_look(uint64_t elapsed_ns)
{
    const uint64_t passed = rail.owing_passes - FIRST_LOOK;
    const uint64_t left = elapsed_ns > 0 ? (SAY_NS - elapsed_ns) * passed / elapsed_ns : 1;
    return left < CLOCK_PASSES ? (unsigned) left + !left : CLOCK_PASSES;
}

/* After each pass while something is owed. A program's answer, which says it too, often follows the
 * first one. */
static void after_pass(void *unused)
{
    (void) unused;
    if (++rail.owing_passes < rail.owing_look) {
        return;
    }
    if (list_empty(&rail.owing)) {
        rail.owes = false;
        begin_count();
        return;
    }
    const uint64_t now_ns = clock_ns();
    rail.owing_ns = rail.owing_passes == FIRST_LOOK ? now_ns : rail.owing_ns;
    const uint64_t elapsed_ns = now_ns - rail.owing_ns;
    if (rail.owing_passes >= SAY_PASSES || elapsed_ns >= SAY_NS) {
        say_all();
        begin_count();
    } else {
        rail.owing_look += passes_to_look(elapsed_ns);
    }
    rail.owes = !list_empty(&rail.owing);
}

void rail_owed_open(void)
{
    list_init(&rail.owing);
    begin_count();
    plane_after_pass(PLANE_AFTER_RAILS, &rail.owes, after_pass, NULL);
}

void rail_owed_close(void)
{
    say_all();
    plane_after_pass(PLANE_AFTER_RAILS, NULL, NULL, NULL);
}
