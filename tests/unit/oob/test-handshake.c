/* oob/handshake.h: two state machines talk through memory, with and without an enemy between them.
 */
#include <base/data/le.h>
#include <oob/handshake.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

static const uint8_t app_key[KEY_BYTES] = {1, 2, 3}, other_key[KEY_BYTES] = {1, 2, 4};
static const orte_process_name_t name_b = {65536, 2}, name_c = {65536, 3};

static struct handshake_self self_a = {.name = {65536, 1},
                                       .epoch = 11,
                                       .security = OOB_SECURITY_ENCRYPT,
                                       .keys = {[OOB_KEY_APP] = app_key}};
static struct handshake_self self_b = {.name = {65536, 2},
                                       .epoch = 22,
                                       .security = OOB_SECURITY_ENCRYPT,
                                       .keys = {[OOB_KEY_APP] = app_key}};
static struct handshake a, b; /* a connects to b */
/* Everything that was said, by message: hello, answer, proof, verdict. */
enum { HELLO, ANSWER, PROOF, VERDICT, MESSAGES };
static uint8_t said[MESSAGES][WIRE_MESSAGE_MAX];
static const size_t sizes[MESSAGES] = {104, 136, 48, 48};

static struct handshake_random randomness(uint8_t seed)
{
    struct handshake_random random;
    memset(&random, seed, sizeof random);
    random.secret[0] = (uint8_t) (seed + 1);
    return random;
}

static void begin_key(enum oob_key key)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    struct handshake_random random_a = randomness(10), random_b = randomness(20);
    handshake_connect(&a, &self_a, &random_a, &name_b, key);
    handshake_accept(&b, &self_b, &random_b);
}

static void begin(void)
{
    begin_key(OOB_KEY_APP);
}

/* Feeds in pieces of at most step bytes, as a socket would: never more than is wanted. */
static size_t feed(struct handshake *to, const uint8_t *data, size_t size, size_t step)
{
    size_t fed = 0;
    while (fed < size && handshake_wants(to) > 0) {
        size_t piece = handshake_wants(to);
        piece = piece < step ? piece : step;
        piece = piece < size - fed ? piece : size - fed;
        handshake_input(to, data + fed, piece);
        fed += piece;
    }
    return fed;
}

/* Takes what an end has to say. */
static size_t take(struct handshake *from, uint8_t *data)
{
    size_t size = from->out_size;
    memcpy(data, from->out, size);
    from->out_size = 0;
    return size;
}

/* Runs the whole handshake; before a message is fed, change may alter it. Stops when an end fails.
 */
static void run_with(size_t step, void (*change)(int message, uint8_t *data, size_t *size))
{
    for (int message = 0; message < MESSAGES; message++) {
        struct handshake *from = message % 2 == 0 ? &a : &b, *to = message % 2 == 0 ? &b : &a;
        if (message == VERDICT && from->state == HANDSHAKE_PROVED) {
            handshake_verdict(from, WIRE_WELCOME, ORTE_SUCCESS);
        }
        size_t size = take(from, said[message]);
        if (size == 0) {
            return;
        }
        if (change) {
            change(message, said[message], &size);
        }
        feed(to, said[message], size, step);
    }
}

static void run(void)
{
    run_with(SIZE_MAX, NULL);
}

START_TEST(both_ends_agree)
{
    begin();
    run();
    ck_assert_int_eq(a.state, HANDSHAKE_DONE);
    ck_assert_int_eq(b.state, HANDSHAKE_DONE);
    ck_assert(b.peer.vpid == 1 && b.peer_epoch == 11 && b.key == OOB_KEY_APP);
    ck_assert(a.peer.vpid == 2 && a.peer_epoch == 22 && a.key == OOB_KEY_APP);
    ck_assert_int_eq(a.cipher, RECORD_CHACHA20POLY1305);
    ck_assert_int_eq(b.cipher, RECORD_CHACHA20POLY1305);
    ck_assert_mem_eq(a.tx_key, b.rx_key, KEY_BYTES);
    ck_assert_mem_eq(a.rx_key, b.tx_key, KEY_BYTES);
    ck_assert_mem_ne(a.tx_key, a.rx_key, KEY_BYTES);
    ck_assert_uint_eq(handshake_wants(&a), 0);
    ck_assert_uint_eq(handshake_wants(&b), 0);
}
END_TEST

START_TEST(in_pieces_of_any_size)
{
    for (size_t step = 1; step < WIRE_MESSAGE_MAX; step++) {
        begin();
        run_with(step, NULL);
        ck_assert_int_eq(a.state, HANDSHAKE_DONE);
        ck_assert_int_eq(b.state, HANDSHAKE_DONE);
    }
}
END_TEST

START_TEST(sizes_are_golden)
{
    begin();
    for (int message = 0; message < MESSAGES; message++) {
        struct handshake *from = message % 2 == 0 ? &a : &b, *to = message % 2 == 0 ? &b : &a;
        if (message == VERDICT) {
            handshake_verdict(&b, WIRE_WELCOME, ORTE_SUCCESS);
        }
        ck_assert_uint_eq(take(from, said[message]), sizes[message]);
        ck_assert_mem_eq(said[message], "KEEL-OOB\x02", 9);
        ck_assert_uint_eq(said[message][WIRE_AT_TYPE], (unsigned) message + 1);
        ck_assert_uint_eq(get_le16(said[message] + WIRE_AT_SIZE), sizes[message]);
        feed(to, said[message], sizes[message], SIZE_MAX);
    }
    /* What a stranger can make us read. */
    ck_assert_uint_le(sizes[HELLO] + sizes[PROOF], 256);
}
END_TEST

static void check_hex(const uint8_t *data, size_t size, const char *golden)
{
    char hex[2 * WIRE_MESSAGE_MAX + 1];
    crypto_to_hex(hex, data, size);
    ck_assert_str_eq(hex, golden);
}

#define MAGIC "4b45454c2d4f4f42"
#define NAME_A "0000010001000000"
#define NAME_B "0000010002000000"
#define NONCE_A "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
#define NONCE_B "1414141414141414141414141414141414141414141414141414141414141414"
#define PUBLIC_A "f77ff4b10788bfdca62ca0bb160d427cf5762d85f2b5cad6807ec9c3febbde09"
#define PUBLIC_B "18a6f8c1a7fddf22bd410138f79f7298cd38d1d0a542d4266d556be8609d8862"
#define NO_MAC "0000000000000000000000000000000000000000000000000000000000000000"

/* All messages and both keys, as docs/wire.md draws them; computed by other programs from it. */
START_TEST(bytes_are_golden)
{
    begin();
    run();
    check_hex(said[HELLO], sizes[HELLO],
              MAGIC "02"
                    "01"
                    "6800"
                    "01" /* application key */
                    "02" /* encrypt */
                    "04" /* ChaCha20-Poly1305 */
                    "00" /* a link */
              NAME_A NAME_B "0b00000000000000" NONCE_A PUBLIC_A);
    check_hex(said[ANSWER], sizes[ANSWER],
              MAGIC "02"
                    "02"
                    "8800"
                    "01020200" NAME_B NAME_A "1600000000000000" NONCE_B PUBLIC_B
                    "a67d1a0e29c578197e0cb1d12f2edcae50baff5f0cf4a55fe177f537da438187");
    check_hex(said[PROOF], sizes[PROOF],
              MAGIC "02"
                    "03"
                    "3000"
                    "00000000"
                    "7ead09af441d3c6bb95d88b123ba987eeaee223f9c96a30894cc5f997494e469");
    check_hex(said[VERDICT], sizes[VERDICT],
              MAGIC "02"
                    "04"
                    "3000"
                    "00020000"
                    "ee3427441d64f039171f0e58b9633ed949ef654c21a85db7576823c341ce1d70");
    check_hex(a.tx_key, KEY_BYTES,
              "83f446ca305d1fc2fea288c5b8adc351e6b72c4e2b2a79e2772780fad2314c90");
    check_hex(b.tx_key, KEY_BYTES,
              "bcdfa4026beac97b01accc448f89f6fc3d6bba661900705b6262b5116a706317");
}
END_TEST

START_TEST(refusals_have_golden_bytes)
{
    uint8_t data[WIRE_MESSAGE_MAX];
    begin();
    size_t size = take(&a, data);
    data[WIRE_AT_SECURITY] = 0; /* before the keys are known */
    feed(&b, data, size, SIZE_MAX);
    ck_assert_uint_eq(take(&b, data), WIRE_VERDICT_SIZE);
    check_hex(data, WIRE_VERDICT_SIZE,
              MAGIC "02043000"
                    "05020000" NO_MAC);
    handshake_busy(data);
    check_hex(data, WIRE_VERDICT_SIZE,
              MAGIC "02043000"
                    "0a000000" NO_MAC);

    begin();
    feed(&b, data, take(&a, data), SIZE_MAX);
    feed(&a, data, take(&b, data), SIZE_MAX);
    feed(&b, data, take(&a, data), SIZE_MAX);
    handshake_verdict(&b, WIRE_DENIED, ORTE_ERR_NODE_FULLY_USED);
    ck_assert_uint_eq(take(&b, data), WIRE_VERDICT_SIZE);
    check_hex(data, WIRE_AT_MAC,
              MAGIC "02043000"
                    "09028eff"); /* -114 */
}
END_TEST

static int flip_message;
static size_t flip_byte;
static uint8_t flip_mask;

static void flip(int message, uint8_t *data, size_t *size)
{
    (void) size;
    if (message == flip_message) {
        data[flip_byte] ^= flip_mask;
    }
}

START_TEST(every_flipped_byte_fails)
{
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    for (flip_message = 0; flip_message < MESSAGES; flip_message++) {
        for (flip_byte = 0; flip_byte < sizes[flip_message]; flip_byte++) {
            for (size_t i = 0; i < sizeof masks; i++) {
                flip_mask = masks[i];
                begin();
                run_with(SIZE_MAX, flip);
                /* The connector never ends well; the acceptor only when all but its own verdict
                 * came through. */
                ck_assert_msg(a.state != HANDSHAKE_DONE, "message %d byte %zu mask %x",
                              flip_message, flip_byte, flip_mask);
                ck_assert_msg(b.state != HANDSHAKE_DONE || flip_message == VERDICT,
                              "message %d byte %zu mask %x", flip_message, flip_byte, flip_mask);
            }
        }
    }
}
END_TEST

START_TEST(another_key_fails)
{
    self_b.keys[OOB_KEY_APP] = other_key;
    begin();
    run();
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
    ck_assert_int_eq(a.status, ORTE_ERR_PERM);
    ck_assert_str_eq(a.text, "it has another key");
    ck_assert_int_eq(b.state, HANDSHAKE_PROOF);

    /* A connector that does not check the answer is found out by the acceptor. */
    self_b.keys[OOB_KEY_APP] = app_key;
    begin();
    feed(&b, a.out, a.out_size, SIZE_MAX);
    uint8_t forged[48];
    memcpy(forged, "KEEL-OOB\x02\x03\x30\x00\x00\x00\x00\x00", 16);
    memset(forged + 16, 0, 32);
    feed(&b, forged, sizeof forged, SIZE_MAX);
    ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
    ck_assert_int_eq(b.reason, WIRE_BAD_PROOF);
}
END_TEST

START_TEST(a_key_kind_that_is_not_held_is_refused)
{
    self_a.keys[OOB_KEY_CONTROL] = app_key;
    begin_key(OOB_KEY_CONTROL);
    run();
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
    ck_assert_int_eq(a.reason, WIRE_NO_KEY);
    ck_assert(!a.refused_by_peer);
    ck_assert_int_eq(b.reason, WIRE_NO_KEY);
    /* One's own missing key is found before anything is said. */
    begin_key(OOB_KEY_TOOL);
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
    ck_assert_uint_eq(a.out_size, 0);
}
END_TEST

START_TEST(peercred_needs_the_kernels_word_at_both_ends)
{
    self_a.keys[OOB_KEY_APP] = self_b.keys[OOB_KEY_APP] = NULL;
    for (int attested = 0; attested < 4; attested++) {
        self_a.attested = attested & 1;
        self_b.attested = attested & 2;
        begin_key(OOB_KEY_PEERCRED);
        run();
        ck_assert_int_eq(a.state, attested == 3 ? HANDSHAKE_DONE : HANDSHAKE_FAILED);
    }
    ck_assert_mem_eq(a.tx_key, b.rx_key, KEY_BYTES);
}
END_TEST

START_TEST(the_wrong_process_refuses)
{
    self_b.name = name_c;
    begin();
    run();
    ck_assert_int_eq(a.status, ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_str_eq(a.text, "refused: another process listens there");
    ck_assert_int_eq(b.reason, WIRE_WRONG_NAME);
    ck_assert(!a.refused_by_peer); /* it does not speak for whom is wanted */
    /* Nobody is let in under the acceptor's own name, or under none. */
    static const orte_process_name_t bad[] = {{65536, 2}, {65536, UINT32_MAX}, {UINT32_MAX - 1, 1}};
    for (int i = 0; i < 3; i++) {
        self_a.name = bad[i];
        self_b.name = name_b;
        begin();
        run();
        ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
        ck_assert_int_eq(b.reason, WIRE_BAD_FORMAT);
        ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
    }
}
END_TEST

/* Without the key there is no way to find out which name is right. */
START_TEST(a_stranger_hears_the_same_for_any_name)
{
    self_a.keys[OOB_KEY_APP] = other_key;
    for (int kind = 0; kind < 3; kind++) {
        self_a.name = kind == 1 ? name_b : (orte_process_name_t){65536, 1};
        self_b.name = kind == 2 ? name_c : name_b;
        begin();
        uint8_t answer[WIRE_MESSAGE_MAX], verdict[WIRE_MESSAGE_MAX], proof[WIRE_PROOF_SIZE] = {0};
        memcpy(proof, "KEEL-OOB\x02\x03\x30", 12);
        feed(&b, a.out, a.out_size, WIRE_MESSAGE_MAX);
        ck_assert_uint_eq(take(&b, answer), WIRE_ANSWER_SIZE);
        ck_assert_mem_eq(answer + WIRE_AT_NAME, a.out + WIRE_AT_WANTED, 8);
        feed(&b, proof, sizeof proof, WIRE_MESSAGE_MAX);
        ck_assert_uint_eq(take(&b, verdict), WIRE_VERDICT_SIZE);
        ck_assert_int_eq(verdict[WIRE_AT_REASON], WIRE_BAD_PROOF);
        ck_assert_str_eq(b.text, "it has another key");
    }
}
END_TEST

START_TEST(security_must_be_the_same)
{
    for (int mode_a = 0; mode_a < OOB_SECURITIES; mode_a++) {
        for (int mode_b = 0; mode_b < OOB_SECURITIES; mode_b++) {
            self_a.security = (enum oob_security) mode_a;
            self_b.security = (enum oob_security) mode_b;
            begin();
            run();
            ck_assert_int_eq(a.state, mode_a == mode_b ? HANDSHAKE_DONE : HANDSHAKE_FAILED);
            ck_assert_int_eq(b.state, a.state);
        }
    }
    self_a.security = OOB_SECURITY_ENCRYPT;
    self_b.security = OOB_SECURITY_NONE;
    begin();
    run();
    ck_assert_str_eq(a.text, "refused: its oob_security differs: none there, encrypt here");
}
END_TEST

START_TEST(the_cipher_fits_both)
{
    if (!record_can_aes()) {
        return;
    }
    for (int aes = 0; aes < 4; aes++) {
        self_a.aes = aes & 1;
        self_b.aes = aes & 2;
        begin();
        run();
        ck_assert_int_eq(a.state, HANDSHAKE_DONE);
        ck_assert_int_eq(a.cipher, aes == 3 ? RECORD_AES256GCM : RECORD_CHACHA20POLY1305);
        ck_assert_int_eq(b.cipher, a.cipher);
    }
    /* Records everywhere but where the kernel vouches, or nobody wants them. */
    self_a.security = self_b.security = OOB_SECURITY_AUTH;
    begin();
    run();
    ck_assert_int_eq(a.cipher, RECORD_AES256GCM);
    self_a.attested = self_b.attested = true;
    begin();
    run();
    ck_assert_int_eq(a.cipher, RECORD_PLAIN);
    ck_assert_int_eq(b.cipher, RECORD_PLAIN);
    /* Ends that see the socket differently do not meet. */
    self_b.attested = false;
    begin();
    run();
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
}
END_TEST

START_TEST(a_plain_link_exchanges_no_keys)
{
    static const uint8_t none[32];
    self_a.attested = self_b.attested = true;
    for (int mode = 0; mode < OOB_SECURITIES; mode++) {
        bool plain = mode != OOB_SECURITY_ENCRYPT;
        self_a.security = self_b.security = (enum oob_security) mode;
        begin();
        run();
        ck_assert_int_eq(a.state, HANDSHAKE_DONE);
        ck_assert_int_eq(b.cipher == RECORD_PLAIN, plain);
        ck_assert_int_eq(memcmp(b.hello + WIRE_AT_PUBLIC, none, sizeof none) == 0, plain);
        ck_assert_int_eq(memcmp(a.answer + WIRE_AT_PUBLIC, none, sizeof none) == 0, plain);
    }
    /* The key is proved all the same. */
    self_a.security = self_b.security = OOB_SECURITY_AUTH;
    self_b.keys[OOB_KEY_APP] = other_key;
    begin();
    run();
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
    ck_assert_str_eq(a.text, "it has another key");
}
END_TEST

START_TEST(reflection_fails)
{
    /* A connector's own words come back to it. */
    begin();
    uint8_t data[WIRE_MESSAGE_MAX];
    size_t size = take(&a, data);
    feed(&a, data, size, SIZE_MAX);
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);

    /* The answer's MAC is no proof. */
    begin();
    size = take(&a, data);
    feed(&b, data, size, SIZE_MAX);
    take(&b, data);
    uint8_t proof[48];
    memcpy(proof, "KEEL-OOB\x02\x03\x30\x00\x00\x00\x00\x00", 16);
    memcpy(proof + 16, data + WIRE_AT_ANSWER_MAC, MAC_BYTES);
    feed(&b, proof, sizeof proof, SIZE_MAX);
    ck_assert_int_eq(b.state, HANDSHAKE_FAILED);

    /* Nor is the proof's MAC a verdict. */
    begin();
    feed(&b, data, take(&a, data), SIZE_MAX);
    feed(&a, data, take(&b, data), SIZE_MAX);
    ck_assert_uint_eq(take(&a, data), 48);
    data[WIRE_AT_TYPE] = WIRE_VERDICT;
    feed(&a, data, 48, SIZE_MAX);
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);

    /* An acceptor's hello of its own, played against it by a connection to itself. */
    struct handshake_random random = randomness(30);
    handshake_connect(&a, &self_b, &random, &name_b, OOB_KEY_APP);
    handshake_accept(&b, &self_b, &random);
    run();
    ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
}
END_TEST

START_TEST(replay_fails)
{
    begin();
    run();
    uint8_t old[MESSAGES][WIRE_MESSAGE_MAX];
    memcpy(old, said, sizeof old);
    /* An old connector's words, to an acceptor with new randomness. */
    struct handshake_random fresh = randomness(40);
    handshake_accept(&b, &self_b, &fresh);
    feed(&b, old[HELLO], sizes[HELLO], SIZE_MAX);
    ck_assert_int_eq(b.state, HANDSHAKE_PROOF);
    feed(&b, old[PROOF], sizes[PROOF], SIZE_MAX);
    ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
    /* An old acceptor's words, to a connector with new randomness. */
    handshake_connect(&a, &self_a, &fresh, &name_b, OOB_KEY_APP);
    feed(&a, old[ANSWER], sizes[ANSWER], SIZE_MAX);
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
    /* An old verdict, to a connection that has got as far. */
    handshake_connect(&a, &self_a, &fresh, &name_b, OOB_KEY_APP);
    handshake_accept(&b, &self_b, &fresh);
    uint8_t data[WIRE_MESSAGE_MAX];
    feed(&b, data, take(&a, data), SIZE_MAX);
    feed(&a, data, take(&b, data), SIZE_MAX);
    ck_assert_int_eq(a.state, HANDSHAKE_VERDICT);
    feed(&a, old[VERDICT], sizes[VERDICT], SIZE_MAX);
    ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
}
END_TEST

START_TEST(cut_at_every_byte_it_waits)
{
    for (int message = 0; message < MESSAGES; message++) {
        for (size_t cut = 0; cut < sizes[message]; cut++) {
            begin();
            for (int i = 0; i <= message; i++) {
                struct handshake *from = i % 2 == 0 ? &a : &b, *to = i % 2 == 0 ? &b : &a;
                if (i == VERDICT) {
                    handshake_verdict(&b, WIRE_WELCOME, ORTE_SUCCESS);
                }
                size_t size = take(from, said[i]);
                enum handshake_state before = to->state;
                feed(to, said[i], i == message ? cut : size, SIZE_MAX);
                if (i == message) {
                    ck_assert_int_eq(to->state, before);
                    ck_assert_uint_gt(handshake_wants(to), 0);
                    ck_assert_uint_eq(to->out_size, 0);
                }
            }
        }
    }
}
END_TEST

START_TEST(strangers_are_known_by_their_first_bytes)
{
    static const char *const greetings[] = {"G", "GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n",
                                            "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                                            "KEEL-OOX"};
    for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++) {
        begin();
        feed(&b, (const uint8_t *) greetings[i], strlen(greetings[i]), SIZE_MAX);
        ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
        ck_assert_uint_eq(b.out_size, 0); /* nothing is said to them */
        ck_assert_uint_eq(handshake_wants(&b), 0);
    }
    /* Random bytes behind a good head, to both ends, never get through. */
    for (int round = 0; round < 20000; round++) {
        begin();
        uint8_t data[WIRE_HELLO_SIZE];
        memcpy(data, a.out, sizeof data);
        crypto_random(data + WIRE_HEAD_SIZE, sizeof data - WIRE_HEAD_SIZE);
        if (round % 2) {
            crypto_random(data + WIRE_AT_VERSION, 1 + (size_t) round % 8);
        }
        feed(&b, data, sizeof data, SIZE_MAX);
        ck_assert(b.state == HANDSHAKE_FAILED || b.state == HANDSHAKE_HELLO ||
                  b.state == HANDSHAKE_PROOF);
    }
}
END_TEST

START_TEST(another_version_is_told_ours)
{
    begin();
    uint8_t data[WIRE_MESSAGE_MAX];
    size_t size = take(&a, data);
    data[WIRE_AT_VERSION] = 9;
    feed(&b, data, size, SIZE_MAX);
    ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
    ck_assert_int_eq(b.reason, WIRE_BAD_VERSION);
    /* A connector of version 2 hears the same from a listener of version 9. */
    size = take(&b, data);
    ck_assert_uint_eq(size, WIRE_VERDICT_SIZE);
    ck_assert_uint_eq(data[WIRE_AT_VERSION], WIRE_VERSION);
    data[WIRE_AT_VERSION] = 9;
    feed(&a, data, size, SIZE_MAX);
    ck_assert_int_eq(a.status, ORTE_ERR_NOT_SUPPORTED);
    ck_assert_str_eq(a.text, "refused: it speaks another version of the protocol: 9 there, 2 here");
}
END_TEST

START_TEST(a_verdict_is_the_peers_own_word)
{
    uint8_t data[WIRE_MESSAGE_MAX];
    for (int forged = 0; forged < 2; forged++) {
        begin();
        feed(&b, data, take(&a, data), SIZE_MAX);
        feed(&a, data, take(&b, data), SIZE_MAX);
        feed(&b, data, take(&a, data), SIZE_MAX);
        ck_assert_int_eq(b.state, HANDSHAKE_PROVED);
        handshake_verdict(&b, WIRE_DENIED, ORTE_ERR_NODE_FULLY_USED);
        ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
        size_t size = take(&b, data);
        data[size - 1] ^= (uint8_t) forged;
        feed(&a, data, size, SIZE_MAX);
        ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
        ck_assert_int_eq(a.refused_by_peer, !forged);
        ck_assert_int_eq(a.status, forged ? ORTE_ERR_PERM : ORTE_ERR_NODE_FULLY_USED);
    }
}
END_TEST

/* Before the answer, and after the proof: an attempt ends, and nothing more. */
START_TEST(a_busy_acceptor_asks_to_come_again)
{
    uint8_t data[WIRE_MESSAGE_MAX], busy[WIRE_VERDICT_SIZE];
    for (int late = 0; late < 2; late++) {
        begin();
        feed(&b, data, take(&a, data), SIZE_MAX);
        if (late) {
            feed(&a, data, take(&b, data), SIZE_MAX);
        }
        handshake_busy(busy);
        feed(&a, busy, sizeof busy, SIZE_MAX);
        ck_assert_int_eq(a.state, HANDSHAKE_FAILED);
        ck_assert_int_eq(a.reason, WIRE_BUSY);
        ck_assert(!a.refused_by_peer);
        ck_assert_int_eq(a.status, ORTE_ERR_TEMP_OUT_OF_RESOURCE);
    }
}
END_TEST

START_TEST(a_weak_public_key_fails)
{
    begin();
    uint8_t data[WIRE_MESSAGE_MAX];
    size_t size = take(&a, data);
    memset(data + WIRE_AT_PUBLIC, 0, 32);
    feed(&b, data, size, SIZE_MAX);
    ck_assert_int_eq(b.state, HANDSHAKE_FAILED);
}
END_TEST

UNIT_MAIN("handshake")
