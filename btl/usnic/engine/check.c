#include <config.h>

#include <btl/usnic/engine/check.h>

enum {
    FIRST_US = 2000,      /* the least pause; then twice as long each time, */
    DOUBLINGS = 8,        /* so often: the probes to a peer that sleeps fill its socket, */
    ANSWERED_DOUBLES = 3, /* or so often while the peer answers */
    TRIPS = 3,            /* round trips in each pause, at least */
    GRAIN = 4,            /* bytes to which the size is found */
};

#define BAD_LUCK 1e-10 /* is not what a size is lost by */

static void ask(struct usnic_check *check, enum usnic_check_state state, size_t size,
                uint64_t now_us)
{
    check->state = state;
    check->asked = size;
    check->answered = check->pauses = 0;
    check->doublings = 0;
    check->small_due = check->small_passed = false;
    check->next_us = now_us;
}

void usnic_check_begin(struct usnic_check *check, size_t small, size_t full, uint64_t round_trip_us,
                       uint64_t patience_us, uint64_t now_us)
{
    *check = (struct usnic_check){.small = small,
                                  .full = full,
                                  .passes = small,
                                  .fails = full + 1,
                                  .round_us = TRIPS * round_trip_us,
                                  .patience_us = patience_us};
    ask(check, CHECK_FULL, full, now_us);
}

void usnic_check_met(struct usnic_check *check, uint64_t now_us)
{
    if (!check->met && usnic_check_runs(check) && check->silent_us > 0) {
        check->silent_us = 0;
        check->verdict = CHECK_OPEN;
        ask(check, check->state, check->asked, now_us);
    }
    check->met = true;
}

/* What is asked next, once the sizes have moved towards each other. */
static void search(struct usnic_check *check, uint64_t now_us)
{
    if (check->passes >= check->full) {
        check->state = CHECK_DONE;
        check->verdict = CHECK_PASSES;
    } else if (check->fails - check->passes <= GRAIN) {
        check->state = CHECK_DONE;
        check->verdict = CHECK_SMALL_ONLY;
    } else {
        ask(check, CHECK_SEARCH, check->passes + (check->fails - check->passes) / 2, now_us);
    }
}

/* How likely it is that a size which passes as often as the small one was answered in no pause. */
static double luck(const struct usnic_check *check)
{
    double lost = (check->pauses - check->answered + 1.0) / (check->pauses + 2.0), all = 1;

    for (unsigned i = 0; i < check->pauses && all >= BAD_LUCK; i++) {
        all *= lost;
    }
    return all;
}

/* The pause after a probe is over without an answer to it. */
static void unanswered(struct usnic_check *check, uint64_t now_us)
{
    unsigned most = check->small_passed ? ANSWERED_DOUBLES : DOUBLINGS;

    check->doublings = check->doublings < most ? check->doublings + 1 : most;
    check->small_passed = false;
    check->silent_us += check->next_us - check->asked_us;
    if (luck(check) < BAD_LUCK) {
        check->fails = check->asked;
        search(check, now_us);
    } else if (check->silent_us >= check->patience_us) {
        check->verdict = check->heard ? CHECK_ONE_WAY : CHECK_NOTHING;
    }
}

static uint64_t pause_us(const struct usnic_check *check)
{
    uint64_t pause = (uint64_t) FIRST_US << check->doublings;

    return pause > check->round_us ? pause : check->round_us;
}

size_t usnic_check_probe(struct usnic_check *check, uint64_t now_us)
{
    if (!usnic_check_runs(check)) {
        return 0;
    }
    if (check->small_due) {
        check->small_due = false;
        return check->small;
    }
    if (now_us < check->next_us) {
        return 0;
    }
    if (check->pauses > 0) {
        unanswered(check, now_us);
        if (!usnic_check_runs(check)) {
            return 0;
        }
    }
    check->asked_us = now_us;
    check->next_us = now_us + pause_us(check);
    check->pauses++;
    check->small_due = true;
    return check->asked;
}

void usnic_check_answered(struct usnic_check *check, size_t size, uint64_t now_us)
{
    check->silent_us = 0;
    check->heard = false;
    check->known = true;
    if (!usnic_check_runs(check) || size > check->full) {
        return;
    }
    check->verdict = CHECK_OPEN;
    if (size <= check->small) {
        check->small_passed = true;
        check->answered += check->answered < check->pauses;
    }
    if (size <= check->passes) {
        return;
    }
    check->passes = size;
    if (check->fails <= size) { /* a late answer: it passes after all */
        check->fails = check->full + 1;
    }
    if (size >= check->asked) {
        search(check, now_us);
    }
}
