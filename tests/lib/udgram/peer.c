/* The life of a peer: card, hello, end. docs/add-a-transport.md, section 3. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <string.h>
#include <tests/lib/udgram/udgram.h>

enum { FIRST_PAUSE_US = 10000, LAST_PAUSE_US = 1000000 };

static struct udgram *module_of(const struct btl_peer *life)
{
    return udgram_of(life->peers->module);
}

static void peer_begin(struct btl_peer *life)
{
    rdma_am_peer_init(&udgram_endpoint_of(life)->am, udgram_endpoint_of(life));
}

int udgram_peer_want(struct udgram *udgram, udgram_endpoint *peer)
{
    if (peer->life.state == PEER_UP) {
        return OPAL_SUCCESS;
    }
    btl_peer_activate(&udgram->peers, &peer->life);
    btl_peer_want(&peer->life);
    return peer->life.state < PEER_FAILING ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERR_UNREACH;
}

udgram_endpoint *udgram_peer_find(struct udgram *udgram, const struct udgram_header *header,
                                  const char *path)
{
    udgram_endpoint *peer = roster_at(udgram->peers.roster, header->index);
    bool known = peer && peer->session.theirs != 0 && strcmp(udgram_path(&peer->at), path) == 0;

    return known ? peer : NULL;
}

/* ---- its card ---- */

static int card_read(const struct udgram *udgram, struct udgram_card *card, const void *data,
                     size_t size)
{
    int status = udgram_card_decode(card, data, size);

    return status == OPAL_SUCCESS && card->netstack != udgram->card.netstack ? OPAL_ERR_UNREACH
                                                                             : status;
}

static int card_judge(void *peers, const void *data, size_t size)
{
    struct udgram_card card;

    return card_read(udgram_of(((struct btl_peers *) peers)->module), &card, data, size);
}

static int card_locate(struct btl_peer *life, const void *data, size_t size)
{
    struct udgram_card card;
    int status = life->located ? OPAL_SUCCESS : card_read(module_of(life), &card, data, size);

    if (status == OPAL_SUCCESS && !life->located &&
        sock_addr_unix(&udgram_endpoint_of(life)->at, card.path) != 0) {
        status = OPAL_ERR_BAD_PARAM;
    }
    return status;
}

/* ---- hello ---- */

static int pair_key(const struct udgram *udgram, const orte_process_name_t *name,
                    uint8_t key[KEY_BYTES])
{
    const struct btl_host *host = udgram->peers.cards.host;

    return host->ops->pair_key(host->arg, name, "udgram", key);
}

static int hello_send(struct udgram *udgram, udgram_endpoint *peer)
{
    uint8_t bytes[UDGRAM_HELLO_BYTES], key[KEY_BYTES];
    const struct iovec part = {bytes, sizeof(bytes)};

    if (pair_key(udgram, &peer->life.name, key) != OPAL_SUCCESS) {
        btl_peer_fail(&peer->life, "there is no key for it");
        return OPAL_ERR_UNREACH;
    }
    btl_session_open(&peer->session, &udgram->last_epoch);
    const struct udgram_hello hello = {
        .index = roster_number(udgram->peers.roster, peer),
        .from = udgram->peers.me,
        .to = peer->life.name,
        .epoch = peer->session.epoch,
        .echo = peer->session.theirs,
    };
    udgram_hello_encode(bytes, &hello, udgram->card.path, key);
    crypto_wipe(key, sizeof(key));
    int status = udgram_transmit(udgram, peer, &part, 1);
    if (status == OPAL_SUCCESS) {
        peer->session.told = peer->session.theirs;
    }
    return status;
}

/* Says hello until it is answered: a peer drops one that comes while it ends the last session. */
static void greet(struct btl_peer *life)
{
    udgram_endpoint *peer = udgram_endpoint_of(life);
    uint64_t now_us = clock_us();

    if (life->state == PEER_HANDSHAKE && now_us >= life->give_up_us) {
        btl_peer_break(life, OPAL_ERR_UNREACH, "no answer to my hello in time");
    } else if (hello_send(module_of(life), peer) != OPAL_SUCCESS) {
        return; /* it failed, or is tried again on the next pass */
    } else if (life->state == PEER_UP) {
        list_remove(&life->waiting);
    } else {
        uint64_t pause_us = peer->pause_us ? peer->pause_us : FIRST_PAUSE_US;
        btl_peer_wait(life, now_us + pause_us);
        peer->pause_us = pause_us * 2 < LAST_PAUSE_US ? pause_us * 2 : LAST_PAUSE_US;
    }
}

/* A session with an epoch of theirs that is new to me: ends what there is of another. */
static bool session_begin(struct udgram *udgram, udgram_endpoint *peer,
                          const struct udgram_hello *hello, const struct sock_addr *from)
{
    if (peer->session.theirs != 0) {
        if (rdma_am_peer_active(&peer->am)) {
            btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "it began anew");
            return false;
        }
        uint64_t mine = btl_session_keeps(&peer->session, hello->echo);
        btl_peer_left(&peer->life); /* without a word */
        peer->session.epoch = mine;
    }
    btl_session_open(&peer->session, &udgram->last_epoch);
    peer->at = *from;
    peer->life.located = true;
    peer->their_index = hello->index;
    return true;
}

static void hello_take(struct udgram *udgram, udgram_endpoint *peer,
                       const struct udgram_hello *hello, const struct sock_addr *from)
{
    enum btl_session_verdict verdict = btl_session_judge(&peer->session, hello->epoch);
    bool agreed, owed;

    if (!btl_peer_takes(&peer->life) || verdict == SESSION_OVER ||
        (verdict == SESSION_ANOTHER && !session_begin(udgram, peer, hello, from))) {
        return;
    }
    owed = btl_session_hear(&peer->session, hello->epoch, hello->echo, &agreed);
    btl_peer_came(&peer->life);
    if (agreed) {
        (void) !btl_peer_up(&peer->life, hello->epoch);
    }
    if (owed) {
        btl_peer_wait(&peer->life, 0);
    }
}

/* Whether who speaks from this socket has the key of who it says it is. */
static bool is_proven(const struct udgram *udgram, const struct udgram_hello *hello,
                      const uint8_t *data, const char *path)
{
    uint8_t key[KEY_BYTES];
    bool proven = name_equal(&hello->to, &udgram->peers.me) &&
                  pair_key(udgram, &hello->from, key) == OPAL_SUCCESS &&
                  udgram_hello_check(data, path, key) == OPAL_SUCCESS;

    crypto_wipe(key, sizeof(key));
    return proven;
}

void udgram_hello_received(struct udgram *udgram, const uint8_t *data, size_t size,
                           const struct sock_addr *from)
{
    struct udgram_hello hello;
    unsigned held = 0;
    bool again;

    if (udgram_hello_decode(&hello, data, size) == OPAL_SUCCESS &&
        is_proven(udgram, &hello, data, udgram_path(from))) {
        udgram_endpoint *peer =
            udgram_endpoint_of(btl_peer_meet(&udgram->peers, &hello.from, &again));
        if (peer) { /* else it says hello again */
            hello_take(udgram, peer, &hello, from);
        }
        return;
    }
    udgram->dropped++;
    if (log_rate_ok("udgram hello", &held)) {
        log_info(LOG_BTL, "udgram: dropped a hello that proves nothing (%u more)", held);
    }
}

/* ---- its end ---- */

static int bye_send(udgram_endpoint *peer)
{
    uint8_t bytes[UDGRAM_HEADER_BYTES];
    const struct iovec part = {bytes, sizeof(bytes)};

    udgram_header_encode(bytes,
                         &(struct udgram_header){.kind = UDGRAM_BYE, .index = peer->their_index});
    return udgram_transmit(module_of(&peer->life), peer, &part, 1);
}

/* A session that fails is told so, if that is possible: then the peer need not find out. */
static void peer_cut(struct btl_peer *life, int status)
{
    udgram_endpoint *peer = udgram_endpoint_of(life);
    struct udgram *udgram = module_of(life);

    if (life->state == PEER_BROKEN && peer->session.theirs != 0) {
        (void) !bye_send(peer);
    }
    /* what is done, before what fails */
    (void) desc_set_finish(&udgram->super, &udgram->descs, peer);
    btl_session_clear(&peer->session);
    peer->pause_us = 0;
    rdma_am_cancel(udgram->am, &peer->am, status);
}

/* Nothing new begins; what was sent lies in the peer's socket already. */
static void peer_leave(struct btl_peer *life)
{
    rdma_am_cancel(module_of(life)->am, &udgram_endpoint_of(life)->am, OPAL_ERR_UNREACH);
}

static bool peer_say_bye(struct btl_peer *life)
{
    udgram_endpoint *peer = udgram_endpoint_of(life);

    if (peer->session.theirs != 0 && bye_send(peer) == OPAL_ERR_OUT_OF_RESOURCE) {
        return false;
    }
    btl_session_clear(&peer->session);
    return true;
}

void udgram_bye_received(udgram_endpoint *peer)
{
    if (rdma_am_peer_active(&peer->am)) {
        btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "the peer left");
    } else {
        btl_peer_left(&peer->life);
    }
}

const struct btl_peer_hooks udgram_peer_hooks = {
    .begin = peer_begin,
    .judge = card_judge,
    .locate = card_locate,
    .connect = greet,
    .cut = peer_cut,
    .end = btl_peer_free,
    .leave = peer_leave,
    .say_bye = peer_say_bye,
};
