#include <config.h>

#include <base/data/le.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <btl/sessions/hello.h>
#include <string.h>

enum {
    FIRST_PAUSE_US = 10000, /* between hellos; then twice as long each time */
    LAST_PAUSE_US = 1000000,
    AGAIN_US = 100,   /* while the provider connects: a hello costs its MAC */
    UNHEARD_TOLD = 5, /* hellos in a row that do not echo mine, although the speaker asks again */
    UNHEARD_GAP_US = 100000, /* between them: those that waited while I computed count as one */
};

/* ---- bytes ---- */

static struct iovec purpose_of(const char *text)
{
    return (struct iovec){(void *) text, strlen(text) + 1};
}

static void mac_of(const struct btl_hello_format *format, uint8_t mac[MAC_BYTES],
                   const uint8_t *data, size_t size, const uint8_t key[KEY_BYTES])
{
    const struct iovec parts[] = {purpose_of(format->hello_mac), {(void *) data, size}};

    crypto_mac(mac, key, parts, 2);
}

size_t btl_hello_encode(const struct btl_hello_format *format, uint8_t out[BTL_HELLO_MAX],
                        const struct btl_hello *hello, const uint8_t key[KEY_BYTES])
{
    size_t size = BTL_HELLO_FIXED + hello->address.size;

    out[0] = format->kind;
    out[1] = format->version;
    put_le16(out + 2, (uint16_t) hello->address.size);
    put_le32(out + 4, hello->index);
    memcpy(out + 8, format->magic, sizeof(format->magic));
    put_le32(out + 12, hello->max_message);
    name_put(out + 16, &hello->from);
    name_put(out + 24, &hello->to);
    put_le64(out + 32, hello->epoch);
    put_le64(out + 40, hello->echo);
    memcpy(out + BTL_HELLO_FIXED, hello->address.bytes, hello->address.size);
    mac_of(format, out + size, out, size, key);
    return size + MAC_BYTES;
}

int btl_hello_decode(const struct btl_hello_format *format, struct btl_hello *hello,
                     const uint8_t *data, size_t size)
{
    if (size < BTL_HELLO_FIXED + MAC_BYTES || data[0] != format->kind ||
        memcmp(data + 8, format->magic, sizeof(format->magic)) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    if (data[1] != format->version) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    size_t length = get_le16(data + 2);
    if (length == 0 || length > FABRIC_ADDRESS_MAX ||
        length != size - BTL_HELLO_FIXED - MAC_BYTES || get_le64(data + 32) == 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    memset(hello, 0, sizeof(*hello));
    hello->index = get_le32(data + 4);
    hello->max_message = get_le32(data + 12);
    hello->from = name_get(data + 16);
    hello->to = name_get(data + 24);
    hello->epoch = get_le64(data + 32);
    hello->echo = get_le64(data + 40);
    hello->address.size = length;
    memcpy(hello->address.bytes, data + BTL_HELLO_FIXED, length);
    return OPAL_SUCCESS;
}

int btl_hello_check(const struct btl_hello_format *format, const uint8_t *data, size_t size,
                    const uint8_t key[KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    mac_of(format, mac, data, size - MAC_BYTES, key);
    return crypto_equal(mac, data + size - MAC_BYTES, MAC_BYTES) ? OPAL_SUCCESS : OPAL_ERR_PERM;
}

uint64_t btl_hello_token(const struct btl_hello_format *format, const uint8_t key[KEY_BYTES],
                         const orte_process_name_t *from, const orte_process_name_t *to,
                         uint64_t from_epoch, uint64_t to_epoch)
{
    uint8_t ends[32], mac[MAC_BYTES];
    const struct iovec parts[] = {purpose_of(format->token_mac), {ends, sizeof(ends)}};

    name_put(ends, from);
    name_put(ends + 8, to);
    put_le64(ends + 16, from_epoch);
    put_le64(ends + 24, to_epoch);
    crypto_mac(mac, key, parts, 2);
    return get_le64(mac);
}

/* ---- saying hello ---- */

static struct btl_handshake *handshake_of(const struct btl_greeter *greeter, struct btl_peer *peer)
{
    return (struct btl_handshake *) (void *) ((char *) peer + greeter->ops->handshake_at);
}

static int key_of(const struct btl_greeter *greeter, const orte_process_name_t *peer,
                  uint8_t key[KEY_BYTES])
{
    const struct btl_host *host = greeter->peers->cards.host;

    return host->ops->pair_key(host->arg, peer, greeter->ops->format.key, key);
}

void btl_handshake_clear(struct btl_handshake *handshake)
{
    btl_session_clear(&handshake->session);
    crypto_random(&handshake->their_token, sizeof(handshake->their_token));
    handshake->pause_us = 0;
    handshake->unheard = 0;
    handshake->bye_said = handshake->bye_answered = false;
}

void btl_hello_bye(struct btl_greeter *greeter, struct btl_peer *peer, bool in_flight)
{
    if (peer->state == PEER_CLOSING) {
        handshake_of(greeter, peer)->bye_answered = true;
    } else if (in_flight) {
        btl_peer_break(peer, OPAL_ERR_UNREACH, "the peer left");
    } else {
        btl_peer_left(peer);
    }
}

void btl_hello_lost(struct btl_greeter *greeter, struct btl_peer *peer)
{
    handshake_of(greeter, peer)->session.proven = false; /* nobody is there to be told */
    if (peer->state != PEER_CLOSING && peer->proc) {
        btl_peer_break(peer, OPAL_ERR_UNREACH, "the session failed at its other end");
    } else {
        btl_hello_bye(greeter, peer, greeter->ops->in_flight(peer));
    }
}

static int hello_send(struct btl_greeter *greeter, struct btl_peer *peer)
{
    struct btl_handshake *handshake = handshake_of(greeter, peer);
    struct btl_session *session = &handshake->session;

    btl_session_open(session, &greeter->last_epoch);
    const struct btl_hello hello = {
        .index = handshake->index,
        .max_message = greeter->max_message,
        .from = greeter->peers->me,
        .to = peer->name,
        .epoch = session->epoch,
        .echo = session->theirs,
        .address = greeter->address,
    };
    uint8_t key[KEY_BYTES], bytes[BTL_HELLO_MAX];
    int status = key_of(greeter, &hello.to, key);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    size_t size = btl_hello_encode(&greeter->ops->format, bytes, &hello, key);
    crypto_wipe(key, sizeof(key));
    status = greeter->ops->send(peer, bytes, size);
    if (status == OPAL_SUCCESS) {
        session->told = session->theirs;
    }
    return status;
}

/* How long the answer has, before the next hello. */
static uint64_t next_pause_us(const struct btl_peer *peer, struct btl_handshake *handshake)
{
    uint64_t pause_us = handshake->pause_us ? handshake->pause_us : FIRST_PAUSE_US;

    if (peer->state == PEER_RETRYING) {
        return BTL_RETRY_US;
    }
    handshake->pause_us = pause_us * 2 < LAST_PAUSE_US ? pause_us * 2 : LAST_PAUSE_US;
    return pause_us;
}

bool btl_hello_say(struct btl_greeter *greeter, struct btl_peer *peer, bool said)
{
    uint64_t now_us = peer->peers->clock_us();

    if (peer->state == PEER_HANDSHAKE && now_us >= peer->give_up_us) {
        btl_peer_break(peer, OPAL_ERR_UNREACH, "no answer to my hello in time");
        return false;
    }
    int status = said ? OPAL_SUCCESS : hello_send(greeter, peer);
    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        btl_peer_wait(peer, now_us + AGAIN_US);
        return false;
    }
    if (status != OPAL_SUCCESS) {
        btl_peer_break(peer, OPAL_ERR_UNREACH, "my hello cannot be sent");
        return false;
    }
    if (peer->state == PEER_UP) {
        list_remove(&peer->waiting);
        return false;
    }
    btl_peer_wait(peer, now_us + next_pause_us(peer, handshake_of(greeter, peer)));
    return true;
}

/* ---- hearing one ---- */

/* A hello that proves its key: its endpoint, made where there was none. */
static struct btl_peer *speaker_of(struct btl_greeter *greeter, const struct btl_hello *hello,
                                   const uint8_t *data, size_t size, uint8_t key[KEY_BYTES])
{
    bool again;

    if (!name_equal(&hello->to, &greeter->peers->me) ||
        key_of(greeter, &hello->from, key) != OPAL_SUCCESS ||
        btl_hello_check(&greeter->ops->format, data, size, key) != OPAL_SUCCESS) {
        return NULL;
    }
    return btl_peer_meet(greeter->peers, &hello->from, &again);
}

/* A session with an epoch of theirs that is new to me: ends what there is of another. */
static bool session_begin(struct btl_greeter *greeter, struct btl_peer *peer,
                          const struct btl_hello *hello, const uint8_t key[KEY_BYTES])
{
    const orte_process_name_t *me = &greeter->peers->me, *them = &hello->from;
    const struct btl_greeter_ops *ops = greeter->ops;
    struct btl_handshake *handshake = handshake_of(greeter, peer);
    struct btl_session *session = &handshake->session;

    if (session->theirs != 0) {
        if (ops->in_flight(peer)) {
            btl_peer_break(peer, OPAL_ERR_UNREACH, "it began anew");
            return false;
        }
        uint64_t mine = btl_session_keeps(session, hello->echo);
        session->proven = false;
        btl_peer_left(peer); /* without a word */
        session->epoch = mine;
    }
    btl_session_open(session, &greeter->last_epoch);
    handshake->their_index = hello->index;
    handshake->max_message = hello->max_message;
    handshake->token = btl_hello_token(&ops->format, key, me, them, session->epoch, hello->epoch);
    handshake->their_token =
        btl_hello_token(&ops->format, key, them, me, hello->epoch, session->epoch);
    if (ops->begun) {
        ops->begun(peer);
    }
    return true;
}

/* A peer that repeats its hello has time to hear mine: the way to it may be closed. */
static void unheard(struct btl_greeter *greeter, struct btl_peer *peer)
{
    struct btl_handshake *handshake = handshake_of(greeter, peer);
    const uint64_t now_us = peer->peers->clock_us();

    if (now_us - handshake->unheard_us < UNHEARD_GAP_US) {
        return;
    }
    handshake->unheard_us = now_us;
    if (++handshake->unheard == UNHEARD_TOLD) {
        log_warn(LOG_BTL, "%s: %s: its hellos come, and it hears none of mine",
                 greeter->peers->name, ORTE_NAME_PRINT(&peer->name));
    }
}

static void hello_take(struct btl_greeter *greeter, struct btl_peer *peer,
                       const struct btl_hello *hello, const uint8_t key[KEY_BYTES])
{
    struct btl_session *session = &handshake_of(greeter, peer)->session;
    enum btl_session_verdict verdict = btl_session_judge(session, hello->epoch);

    if (!btl_peer_takes(peer) || verdict == SESSION_OVER) {
        return;
    }
    if (greeter->ops->locate(peer, &hello->address) != OPAL_SUCCESS) {
        log_info(LOG_BTL, "%s: %s: a hello with an address that is none", greeter->peers->name,
                 ORTE_NAME_PRINT(&hello->from));
        return;
    }
    if (verdict == SESSION_ANOTHER && !session_begin(greeter, peer, hello, key)) {
        return;
    }
    if (handshake_of(greeter, peer)->max_message < greeter->max_message) {
        btl_peer_fail(peer, "its largest message (max_send_size) is below mine");
        return;
    }
    bool agreed, owed = btl_session_hear(session, hello->epoch, hello->echo, &agreed);
    btl_peer_came(peer);
    if (agreed) {
        (void) !btl_peer_up(peer, hello->epoch);
    } else if (!session->proven) {
        unheard(greeter, peer);
    }
    if (owed) {
        btl_peer_wait(peer, 0);
    } else if (verdict == SESSION_SAME && greeter->ops->repeats) {
        greeter->ops->repeats(peer);
    }
}

void btl_hello_proved(struct btl_greeter *greeter, struct btl_peer *peer)
{
    struct btl_session *session = &handshake_of(greeter, peer)->session;

    session->proven = true;
    btl_peer_came(peer);
    (void) !btl_peer_up(peer, session->theirs);
}

bool btl_hello_received(struct btl_greeter *greeter, const uint8_t *data, size_t size)
{
    struct btl_hello hello;
    uint8_t key[KEY_BYTES];
    struct btl_peer *peer = NULL;

    if (btl_hello_decode(&greeter->ops->format, &hello, data, size) == OPAL_SUCCESS) {
        hello.address.format = greeter->address.format;
        peer = speaker_of(greeter, &hello, data, size, key);
    }
    if (peer) {
        hello_take(greeter, peer, &hello, key);
    } else {
        unsigned held = 0;
        if (log_rate_ok("btl hello", &held)) {
            log_info(LOG_BTL, "%s: dropped a hello that proves nothing (%u more)",
                     greeter->peers->name, held);
        }
    }
    crypto_wipe(key, sizeof(key));
    return peer;
}
