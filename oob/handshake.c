#include <config.h>

#include <base/types/name.h>
#include <oob/handshake.h>

#include <base/data/le.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(crypto_scalarmult_BYTES == 32 && crypto_scalarmult_SCALARBYTES == 32, "X25519");

/* Who a subkey is for: the number in its derivation. */
enum subkey { SUBKEY_ANSWER, SUBKEY_PROOF, SUBKEY_VERDICT, SUBKEY_CONNECTOR, SUBKEY_ACCEPTOR };

/* What a refusal means to the connector. */
static const struct {
    int status;
    const char *text;
} reasons[WIRE_REASONS] = {
    [WIRE_WELCOME] = {ORTE_SUCCESS, "welcome"},
    [WIRE_BAD_FORMAT] = {ORTE_ERR_BAD_PARAM, "it did not understand the hello"},
    [WIRE_BAD_VERSION] = {ORTE_ERR_NOT_SUPPORTED, "it speaks another version of the protocol"},
    [WIRE_WRONG_NAME] = {ORTE_ERR_ADDRESSEE_UNKNOWN, "another process listens there"},
    [WIRE_NO_KEY] = {ORTE_ERR_PERM, "it does not take that kind of key here"},
    [WIRE_BAD_SECURITY] = {ORTE_ERR_PERM, "its oob_security differs"},
    [WIRE_BAD_PROOF] = {ORTE_ERR_PERM, "it has another key"},
    [WIRE_EXISTS] = {ORTE_EXISTS, "this name has a live link to it"},
    [WIRE_SIMULTANEOUS] = {ORTE_EXISTS, "its own connection was kept"},
    [WIRE_BUSY] = {ORTE_ERR_TEMP_OUT_OF_RESOURCE, "too many are at its door"},
    [WIRE_DENIED] = {ORTE_ERR_PERM, "not admitted under this name"},
};

static const char *security_name(enum oob_security security)
{
    static const char *const names[OOB_SECURITIES] = {"none", "auth", "encrypt"};
    return (unsigned) security < OOB_SECURITIES ? names[security] : "unknown";
}

/* --- messages --- */

static void put_head(uint8_t *message, enum wire_type type, size_t size)
{
    memset(message, 0, size);
    memcpy(message + WIRE_AT_MAGIC, WIRE_MAGIC, WIRE_MAGIC_SIZE);
    message[WIRE_AT_VERSION] = WIRE_VERSION;
    message[WIRE_AT_TYPE] = (uint8_t) type;
    put_le16(message + WIRE_AT_SIZE, (uint16_t) size);
}

static bool is_process(const orte_process_name_t *name)
{
    return name->jobid < ORTE_JOBID_WILDCARD && name->vpid < ORTE_VPID_WILDCARD;
}

static void send_message(struct handshake *handshake, const uint8_t *message, size_t size)
{
    memcpy(handshake->out, message, size);
    handshake->out_size = size;
}

static void expect(struct handshake *handshake, enum handshake_state state)
{
    handshake->state = state;
    handshake->in_size = 0;
    handshake->in_want = WIRE_HEAD_SIZE;
}

static void KEEL_PRINTF(4, 5)
    fail(struct handshake *handshake, int status, enum wire_reason reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(handshake->text, sizeof handshake->text, format, args);
    va_end(args);
    handshake->state = HANDSHAKE_FAILED;
    handshake->status = status;
    handshake->reason = reason;
}

static void put_verdict(uint8_t verdict[WIRE_VERDICT_SIZE], enum wire_reason reason)
{
    put_head(verdict, WIRE_VERDICT, WIRE_VERDICT_SIZE);
    verdict[WIRE_AT_REASON] = (uint8_t) reason;
}

void handshake_busy(uint8_t verdict[WIRE_VERDICT_SIZE])
{
    put_verdict(verdict, WIRE_BUSY);
}

/* A verdict whose MAC is zero: the caller writes it, if there are keys. */
static void send_verdict(struct handshake *handshake, enum wire_reason reason, int status)
{
    uint8_t verdict[WIRE_VERDICT_SIZE];
    put_verdict(verdict, reason);
    verdict[WIRE_AT_MODE] = (uint8_t) handshake->self.security;
    put_le16(verdict + WIRE_AT_STATUS, (uint16_t) (int16_t) status);
    send_message(handshake, verdict, sizeof verdict);
}

/* --- keys --- */

/* Records are for what leaves the kernel's sight, and for everything when secrecy is asked for.
 * Without them nothing is secret, and no secret is exchanged: the nonces make each link's proof its
 * own. */
static bool is_plain(const struct handshake_self *self)
{
    return self->security == OOB_SECURITY_NONE ||
           (self->security == OOB_SECURITY_AUTH && self->attested);
}

/* The master key: from the shared key and the exchange, bound to all that both ends have said. For
 * OOB_KEY_PEERCRED the exchange alone is secret; a plain link has none, and the kernel's word alone
 * proves its peer. */
static bool derive_master(struct handshake *handshake, const uint8_t *peer_public)
{
    static const uint8_t no_key[KEY_BYTES];
    uint8_t shared[32] = {0};
    if (!is_plain(&handshake->self) &&
        crypto_scalarmult(shared, handshake->random.secret, peer_public) != 0) {
        return false;
    }
    const uint8_t *key = no_key;
    if (handshake->key != OOB_KEY_PEERCRED) {
        key = handshake->self.keys[handshake->key];
    }
    static const char label[] = "keel oob master";
    const struct iovec parts[] = {
        {(void *) label, sizeof label},
        {shared, sizeof shared},
        {handshake->hello, WIRE_HELLO_SIZE},
        {handshake->answer, WIRE_AT_ANSWER_MAC},
    };
    crypto_mac(handshake->master, key, parts, 4);
    crypto_wipe(shared, sizeof shared);
    return true;
}

static void derive(const struct handshake *handshake, uint8_t key[KEY_BYTES], enum subkey number)
{
    crypto_derive(key, handshake->master, "keel-oob", number);
}

/* One MAC of the transcript so far: everything that was said before it in this connection, with a
 * key of its own for each message, so that none can stand for another. */
static void transcript_mac(const struct handshake *handshake, enum subkey number,
                           const uint8_t *verdict, uint8_t mac[MAC_BYTES])
{
    size_t answer_size = number == SUBKEY_ANSWER ? WIRE_AT_ANSWER_MAC : WIRE_ANSWER_SIZE;
    const struct iovec parts[] = {
        {(void *) handshake->hello, WIRE_HELLO_SIZE},
        {(void *) handshake->answer, answer_size},
        {(void *) handshake->proof, number == SUBKEY_VERDICT ? WIRE_PROOF_SIZE : WIRE_AT_MAC},
        {(void *) verdict, verdict ? WIRE_AT_MAC : 0},
    };
    uint8_t key[KEY_BYTES];
    derive(handshake, key, number);
    crypto_mac(mac, key, parts, number == SUBKEY_ANSWER ? 2 : 4);
    crypto_wipe(key, sizeof key);
}

static void derive_traffic(struct handshake *handshake, enum subkey tx, enum subkey rx)
{
    derive(handshake, handshake->tx_key, tx);
    derive(handshake, handshake->rx_key, rx);
}

/* --- agreement --- */

static enum record_cipher choose_cipher(const struct handshake_self *self, bool peer_aes)
{
    if (is_plain(self)) {
        return RECORD_PLAIN;
    }
    return self->aes && peer_aes ? RECORD_AES256GCM : RECORD_CHACHA20POLY1305;
}

static uint8_t offered_ciphers(const struct handshake_self *self)
{
    return (uint8_t) (1u << RECORD_CHACHA20POLY1305 | (self->aes ? 1u << RECORD_AES256GCM : 0));
}

static bool may_use_key(const struct handshake_self *self, unsigned key)
{
    if (key >= OOB_KEYS) {
        return false;
    }
    return key == OOB_KEY_PEERCRED ? self->attested : self->keys[key] != NULL;
}

/* HELLO and ANSWER but for the fields that differ. */
static void put_hello(struct handshake *handshake, uint8_t *message, enum wire_type type,
                      size_t size, const orte_process_name_t *wanted)
{
    put_head(message, type, size);
    message[WIRE_AT_KEY] = (uint8_t) handshake->key;
    message[WIRE_AT_SECURITY] = (uint8_t) handshake->self.security;
    name_put(message + WIRE_AT_NAME, &handshake->self.name);
    name_put(message + WIRE_AT_WANTED, wanted);
    put_le64(message + WIRE_AT_EPOCH, handshake->self.epoch);
    memcpy(message + WIRE_AT_NONCE, handshake->random.nonce, sizeof handshake->random.nonce);
    if (!is_plain(&handshake->self)) {
        crypto_scalarmult_base(message + WIRE_AT_PUBLIC, handshake->random.secret);
    }
}

/* --- the acceptor --- */

/* Not proved: the connector is told why, without keys. */
static void refuse_stranger(struct handshake *handshake, enum wire_reason reason, const char *text)
{
    fail(handshake, ORTE_ERR_CONNECTION_REFUSED, reason, "%s", text);
    send_verdict(handshake, reason, 0);
}

/* Whether the hello names this process is judged behind the proof: a stranger must not find out
 * which name is right. */
static enum wire_reason judge_hello(const struct handshake *handshake, const char **text)
{
    const uint8_t *hello = handshake->hello;
    orte_process_name_t name = name_get(hello + WIRE_AT_NAME);
    if (!is_process(&name) || hello[WIRE_AT_PURPOSE] >= WIRE_PURPOSES) {
        *text = "a hello without meaning";
        return WIRE_BAD_FORMAT;
    }
    if (hello[WIRE_AT_SECURITY] != handshake->self.security) {
        *text = "its oob_security differs";
        return WIRE_BAD_SECURITY;
    }
    if (!may_use_key(&handshake->self, hello[WIRE_AT_KEY])) {
        *text = "it names a kind of key that is not taken here";
        return WIRE_NO_KEY;
    }
    return WIRE_WELCOME;
}

static void on_hello(struct handshake *handshake)
{
    uint8_t *hello = handshake->hello, *answer = handshake->answer;
    memcpy(hello, handshake->in, WIRE_HELLO_SIZE);
    const char *text = "";
    enum wire_reason reason = judge_hello(handshake, &text);
    if (reason != WIRE_WELCOME) {
        refuse_stranger(handshake, reason, text);
        return;
    }
    orte_process_name_t wanted = name_get(hello + WIRE_AT_WANTED);
    handshake->key = hello[WIRE_AT_KEY];
    handshake->ping = hello[WIRE_AT_PURPOSE] == WIRE_PING;
    handshake->peer = name_get(hello + WIRE_AT_NAME);
    handshake->peer_epoch = get_le64(hello + WIRE_AT_EPOCH);
    bool peer_aes = hello[WIRE_AT_CIPHERS] & 1u << RECORD_AES256GCM;
    handshake->cipher = choose_cipher(&handshake->self, peer_aes);

    put_hello(handshake, answer, WIRE_ANSWER, WIRE_ANSWER_SIZE, &handshake->peer);
    name_put(answer + WIRE_AT_NAME, &wanted);
    answer[WIRE_AT_CIPHERS] = (uint8_t) handshake->cipher;
    if (!derive_master(handshake, hello + WIRE_AT_PUBLIC)) {
        refuse_stranger(handshake, WIRE_BAD_FORMAT, "a weak public key");
        return;
    }
    transcript_mac(handshake, SUBKEY_ANSWER, NULL, answer + WIRE_AT_ANSWER_MAC);
    send_message(handshake, answer, WIRE_ANSWER_SIZE);
    expect(handshake, HANDSHAKE_PROOF);
}

/* A process of the same key may hear that it has come to the wrong one. */
static enum wire_reason judge_names(const struct handshake *handshake)
{
    orte_process_name_t wanted = name_get(handshake->hello + WIRE_AT_WANTED);
    if (!name_equal(&wanted, &handshake->self.name)) {
        return WIRE_WRONG_NAME;
    }
    return name_equal(&handshake->peer, &handshake->self.name) ? WIRE_BAD_FORMAT : WIRE_WELCOME;
}

static void on_proof(struct handshake *handshake)
{
    uint8_t mac[MAC_BYTES];
    memcpy(handshake->proof, handshake->in, WIRE_PROOF_SIZE);
    transcript_mac(handshake, SUBKEY_PROOF, NULL, mac);
    if (!crypto_equal(mac, handshake->proof + WIRE_AT_MAC, MAC_BYTES)) {
        refuse_stranger(handshake, WIRE_BAD_PROOF, "it has another key");
        return;
    }
    enum wire_reason reason = judge_names(handshake);
    if (reason != WIRE_WELCOME) {
        handshake_verdict(handshake, reason, 0);
        snprintf(handshake->text, sizeof handshake->text, "%s",
                 reason == WIRE_WRONG_NAME ? "it wants another process"
                                           : "it has this process's own name");
        return;
    }
    derive_traffic(handshake, SUBKEY_ACCEPTOR, SUBKEY_CONNECTOR);
    handshake->state = HANDSHAKE_PROVED;
    handshake->in_size = handshake->in_want = 0;
}

void handshake_verdict(struct handshake *handshake, enum wire_reason reason, int status)
{
    uint8_t mac[MAC_BYTES];
    send_verdict(handshake, reason, status);
    transcript_mac(handshake, SUBKEY_VERDICT, handshake->out, mac);
    memcpy(handshake->out + WIRE_AT_MAC, mac, MAC_BYTES);
    if (reason == WIRE_WELCOME) {
        handshake->state = HANDSHAKE_DONE;
    } else {
        fail(handshake, ORTE_ERR_CONNECTION_REFUSED, reason, "refused: %s",
             reason == WIRE_DENIED ? opal_strerror(status) : reasons[reason].text);
    }
}

/* --- the connector --- */

/* The other end's fields, once its MAC is right. */
static const char *judge_answer(const struct handshake *handshake)
{
    const uint8_t *answer = handshake->answer;
    orte_process_name_t name = name_get(answer + WIRE_AT_NAME);
    orte_process_name_t wanted = name_get(answer + WIRE_AT_WANTED);
    unsigned cipher = answer[WIRE_AT_CIPHERS];
    bool agreed = cipher == choose_cipher(&handshake->self, true) ||
                  cipher == choose_cipher(&handshake->self, false);
    if (!name_equal(&name, &handshake->wanted) || !name_equal(&wanted, &handshake->self.name)) {
        return "the answer names other processes";
    }
    if (answer[WIRE_AT_KEY] != handshake->key || answer[WIRE_AT_PURPOSE] != 0) {
        return "the answer has no meaning";
    }
    if (answer[WIRE_AT_SECURITY] != handshake->self.security || !agreed) {
        return "its oob_security differs";
    }
    return NULL;
}

static void on_answer(struct handshake *handshake)
{
    uint8_t *answer = handshake->answer;
    memcpy(answer, handshake->in, WIRE_ANSWER_SIZE);
    uint8_t mac[MAC_BYTES];
    bool proved = derive_master(handshake, answer + WIRE_AT_PUBLIC);
    if (proved) {
        transcript_mac(handshake, SUBKEY_ANSWER, NULL, mac);
        proved = crypto_equal(mac, answer + WIRE_AT_ANSWER_MAC, MAC_BYTES);
    }
    if (!proved) {
        fail(handshake, ORTE_ERR_PERM, WIRE_BAD_PROOF, "it has another key");
        return;
    }
    const char *wrong = judge_answer(handshake);
    if (wrong) {
        fail(handshake, ORTE_ERR_PERM, WIRE_BAD_FORMAT, "%s", wrong);
        return;
    }
    handshake->peer = handshake->wanted;
    handshake->peer_epoch = get_le64(answer + WIRE_AT_EPOCH);
    handshake->cipher = answer[WIRE_AT_CIPHERS];
    put_head(handshake->proof, WIRE_PROOF, WIRE_PROOF_SIZE);
    transcript_mac(handshake, SUBKEY_PROOF, NULL, mac);
    memcpy(handshake->proof + WIRE_AT_MAC, mac, MAC_BYTES);
    send_message(handshake, handshake->proof, WIRE_PROOF_SIZE);
    derive_traffic(handshake, SUBKEY_CONNECTOR, SUBKEY_ACCEPTOR);
    expect(handshake, HANDSHAKE_VERDICT);
}

/* A refusal ends this attempt whoever said it; only with a right MAC is it the peer's own word, and
 * another process of the same key does not speak for the one that is wanted. */
static void on_refusal(struct handshake *handshake, bool proved)
{
    const uint8_t *verdict = handshake->in;
    unsigned reason = verdict[WIRE_AT_REASON];
    if (reason == WIRE_WELCOME || reason >= WIRE_REASONS) {
        fail(handshake, ORTE_ERR_CONNECTION_FAILED, WIRE_BAD_FORMAT, "a verdict without meaning");
        return;
    }
    int status = reasons[reason].status;
    char detail[64] = "";
    if (reason == WIRE_DENIED) {
        int denied = (int16_t) get_le16(verdict + WIRE_AT_STATUS);
        status = proved && denied < 0 ? denied : status;
        snprintf(detail, sizeof detail, ": %s", opal_strerror(status));
    } else if (reason == WIRE_BAD_SECURITY) {
        snprintf(detail, sizeof detail, ": %s there, %s here", security_name(verdict[WIRE_AT_MODE]),
                 security_name(handshake->self.security));
    } else if (reason == WIRE_BAD_VERSION) {
        snprintf(detail, sizeof detail, ": %u there, %d here", verdict[WIRE_AT_VERSION],
                 WIRE_VERSION);
    }
    fail(handshake, status, reason, "refused: %s%s", reasons[reason].text, detail);
    handshake->refused_by_peer = proved && reason != WIRE_WRONG_NAME;
}

static void on_verdict(struct handshake *handshake)
{
    bool proved = false;
    if (handshake->state == HANDSHAKE_VERDICT) {
        uint8_t mac[MAC_BYTES];
        transcript_mac(handshake, SUBKEY_VERDICT, handshake->in, mac);
        proved = crypto_equal(mac, handshake->in + WIRE_AT_MAC, MAC_BYTES);
    }
    if (proved && handshake->in[WIRE_AT_REASON] == WIRE_WELCOME) {
        handshake->state = HANDSHAKE_DONE;
        handshake->in_size = handshake->in_want = 0;
    } else {
        on_refusal(handshake, proved);
    }
}

/* --- input --- */

/* What may come in each state; a connector may always be refused instead. */
static const struct {
    enum wire_type type;
    size_t size;
    void (*handle)(struct handshake *handshake);
} expected[] = {
    [HANDSHAKE_HELLO] = {WIRE_HELLO, WIRE_HELLO_SIZE, on_hello},
    [HANDSHAKE_ANSWER] = {WIRE_ANSWER, WIRE_ANSWER_SIZE, on_answer},
    [HANDSHAKE_PROOF] = {WIRE_PROOF, WIRE_PROOF_SIZE, on_proof},
    [HANDSHAKE_VERDICT] = {WIRE_VERDICT, WIRE_VERDICT_SIZE, on_verdict},
};

static bool is_refusal(const struct handshake *handshake)
{
    return handshake->state == HANDSHAKE_ANSWER && handshake->in[WIRE_AT_TYPE] == WIRE_VERDICT;
}

static bool waits(const struct handshake *handshake)
{
    return handshake->state != HANDSHAKE_PROVED && handshake->state < HANDSHAKE_DONE;
}

static void on_head(struct handshake *handshake)
{
    const uint8_t *head = handshake->in;
    if (head[WIRE_AT_VERSION] != WIRE_VERSION && handshake->state == HANDSHAKE_HELLO) {
        refuse_stranger(handshake, WIRE_BAD_VERSION, "another version of the protocol");
        return;
    }
    bool refusal = is_refusal(handshake);
    size_t size = refusal ? WIRE_VERDICT_SIZE : expected[handshake->state].size;
    enum wire_type type = refusal ? WIRE_VERDICT : expected[handshake->state].type;
    bool other_version = head[WIRE_AT_VERSION] != WIRE_VERSION &&
                         !(refusal && head[WIRE_AT_REASON] == WIRE_BAD_VERSION);
    if (other_version || head[WIRE_AT_TYPE] != type || get_le16(head + WIRE_AT_SIZE) != size) {
        fail(handshake, ORTE_ERR_CONNECTION_FAILED, WIRE_BAD_FORMAT,
             "another message than the handshake has here");
        return;
    }
    handshake->in_want = size;
}

static bool magic_fits(const struct handshake *handshake)
{
    size_t size = handshake->in_size < WIRE_MAGIC_SIZE ? handshake->in_size : WIRE_MAGIC_SIZE;
    return memcmp(handshake->in, WIRE_MAGIC, size) == 0;
}

static void begin(struct handshake *handshake, const struct handshake_self *self,
                  const struct handshake_random *random)
{
    memset(handshake, 0, sizeof *handshake);
    handshake->self = *self;
    handshake->random = *random;
}

void handshake_connect(struct handshake *handshake, const struct handshake_self *self,
                       const struct handshake_random *random, const orte_process_name_t *wanted,
                       enum oob_key key)
{
    begin(handshake, self, random);
    if (!may_use_key(self, key)) {
        fail(handshake, ORTE_ERR_PERM, WIRE_NO_KEY, "that key is not held, or not for this socket");
        return;
    }
    handshake->wanted = *wanted;
    handshake->key = key;
    put_hello(handshake, handshake->hello, WIRE_HELLO, WIRE_HELLO_SIZE, wanted);
    handshake->hello[WIRE_AT_CIPHERS] = offered_ciphers(self);
    handshake->hello[WIRE_AT_PURPOSE] = self->ping ? WIRE_PING : WIRE_LINK;
    send_message(handshake, handshake->hello, WIRE_HELLO_SIZE);
    expect(handshake, HANDSHAKE_ANSWER);
}

void handshake_accept(struct handshake *handshake, const struct handshake_self *self,
                      const struct handshake_random *random)
{
    begin(handshake, self, random);
    expect(handshake, HANDSHAKE_HELLO);
}

size_t handshake_wants(const struct handshake *handshake)
{
    return waits(handshake) ? handshake->in_want - handshake->in_size : 0;
}

void handshake_input(struct handshake *handshake, const void *data, size_t size)
{
    if (!waits(handshake) || size > handshake_wants(handshake)) {
        fail(handshake, ORTE_ERR_CONNECTION_FAILED, WIRE_BAD_FORMAT, "more bytes than expected");
        return;
    }
    memcpy(handshake->in + handshake->in_size, data, size);
    handshake->in_size += size;
    if (!magic_fits(handshake)) {
        fail(handshake, ORTE_ERR_CONNECTION_FAILED, WIRE_BAD_FORMAT, "not Keel's protocol");
    } else if (handshake->in_size == WIRE_HEAD_SIZE) {
        on_head(handshake);
    } else if (handshake->in_size > WIRE_HEAD_SIZE && handshake->in_size == handshake->in_want) {
        if (is_refusal(handshake)) {
            on_verdict(handshake);
        } else {
            expected[handshake->state].handle(handshake);
        }
    }
}

void handshake_wipe(struct handshake *handshake)
{
    crypto_wipe(&handshake->random, sizeof handshake->random);
    crypto_wipe(handshake->master, sizeof handshake->master);
    crypto_wipe(handshake->tx_key, sizeof handshake->tx_key);
    crypto_wipe(handshake->rx_key, sizeof handshake->rx_key);
}
