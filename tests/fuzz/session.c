/* Sessions over datagrams: the ofi hello, and what the machine of btl/sessions makes of any hellos
 * in any order. */
#include <config.h>

#include <btl/ofi/wire/wire.h>
#include <btl/sessions/session.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static const uint8_t key[KEY_BYTES] = {1, 2, 3};
static const struct btl_hello_format format = OFI_HELLO_FORMAT;

static void hello(struct feed *feed)
{
    size_t size;
    uint8_t *exact = feed_copy(feed, BTL_HELLO_MAX + 1, &size), again[BTL_HELLO_MAX];
    struct btl_hello hello;
    if (btl_hello_decode(&format, &hello, exact, size) == OPAL_SUCCESS) {
        fuzz_check(btl_hello_check(&format, exact, size, key) != OPAL_SUCCESS,
                   "nobody guesses a MAC");
        fuzz_check(hello.epoch != 0 && hello.address.size <= FABRIC_ADDRESS_MAX, "it has limits");
        fuzz_check(btl_hello_encode(&format, again, &hello, key) == size &&
                       memcmp(again, exact, size - MAC_BYTES) == 0,
                   "a hello is written as it was read");
        fuzz_check(btl_hello_check(&format, again, size, key) == OPAL_SUCCESS,
                   "its writer is proved");
    }
    free(exact);
}

struct side {
    struct btl_session session;
    uint64_t last, highest; /* my epochs; theirs that were believed */
    bool echoed;            /* mine, since it is mine */
};

static void epoch_begin(struct side *side, uint64_t now)
{
    uint64_t before = side->last;
    if (side->session.epoch == 0) {
        side->session.epoch = btl_epoch_next(&side->last, now);
        side->echoed = false;
        fuzz_check(side->last > before, "an epoch is later than all before");
    }
}

/* As transports do. */
static void take(struct side *side, uint64_t epoch, uint64_t echo, uint64_t now)
{
    struct btl_session *session = &side->session;
    enum btl_session_verdict verdict = btl_session_judge(session, epoch);
    if (verdict == SESSION_OVER) {
        return;
    }
    if (verdict == SESSION_ANOTHER && session->theirs != 0) {
        uint64_t mine = btl_session_keeps(session, echo);
        btl_session_clear(session);
        session->epoch = mine;
    }
    epoch_begin(side, now);
    bool agreed, owed = btl_session_hear(session, epoch, echo, &agreed);
    side->echoed = side->echoed || echo == session->epoch;
    fuzz_check(epoch >= side->highest, "an old hello is not believed");
    fuzz_check(agreed == (echo == session->epoch), "who echoes me agrees");
    fuzz_check(session->proven <= side->echoed, "what did not echo me is no session");
    fuzz_check(owed || session->told == epoch, "I owe what I did not echo");
    fuzz_check(btl_session_judge(session, epoch) == SESSION_SAME, "it is the session now");
    session->told = owed ? epoch : session->told;
    side->highest = epoch;
}

static void machine(struct feed *feed)
{
    struct side side = {.last = 0};
    while (feed->left > 0) {
        uint8_t what = feed_byte(feed);
        uint64_t epoch = what & 2 ? feed_u64(feed) : feed_byte(feed);
        uint64_t echo = what & 4 ? side.session.epoch : feed_byte(feed);
        if (what & 1) {
            take(&side, epoch, echo, what >> 3);
        } else {
            uint64_t theirs = side.session.theirs;
            btl_session_clear(&side.session);
            fuzz_check(btl_session_judge(&side.session, theirs) == SESSION_OVER,
                       "what is over stays over");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    (feed_byte(&feed) % 2 ? machine : hello)(&feed);
    return 0;
}
