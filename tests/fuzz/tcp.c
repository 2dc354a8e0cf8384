/* The data plane's tcp: frames, the messages that set a link up, and the card. What the decoders
 * take is what the encoders write. */
#include <config.h>

#include <btl/tcp/wire/card.h>
#include <btl/tcp/wire/wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static const uint8_t key[KEY_BYTES] = {1, 2, 3};

static void frames(struct feed *feed)
{
    while (feed->left > 0) {
        struct tcp_frame frame;
        size_t size;
        uint8_t *exact = feed_copy(feed, TCP_HEADER_MAX, &size), again[TCP_HEADER_MAX];
        int header = tcp_frame_decode(&frame, exact, size);
        if (header > 0) {
            /* a status that nobody knows becomes a known one */
            size_t same = frame.type == TCP_FRAME_DONE ? TCP_PREFIX_BYTES + 8 : (size_t) header;
            fuzz_check((size_t) header <= size, "a header lies in what is there");
            fuzz_check(tcp_frame_encode(again, &frame) == (size_t) header &&
                           memcmp(again, exact, same) == 0,
                       "a header is written as it was read");
            fuzz_check(frame.size <= TCP_AM_MAX, "data has its limit");
        }
        free(exact);
    }
}

static void hello(struct feed *feed)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], said[TCP_HELLO_BYTES] = {0};
    const uint8_t nonce[TCP_NONCE_BYTES] = {4};
    size_t size;
    tcp_challenge_encode(challenge, nonce);
    fuzz_check(tcp_challenge_check(challenge) == OPAL_SUCCESS, "a challenge is one");
    const uint8_t *bytes = feed_bytes(feed, sizeof(said), &size);
    if (size > 0) {
        memcpy(said, bytes, size);
    }
    (void) tcp_hello_plausible(bytes, size);
    struct tcp_hello hello;
    fuzz_check(tcp_hello_check(said, challenge, key) != OPAL_SUCCESS, "nobody guesses a MAC");
    if (tcp_hello_decode(&hello, said) == OPAL_SUCCESS) {
        uint8_t again[TCP_HELLO_BYTES];
        tcp_hello_encode(again, &hello, challenge, key);
        fuzz_check(memcmp(again, said, TCP_HELLO_BYTES - MAC_BYTES) == 0,
                   "a hello is written as it was read");
        fuzz_check(tcp_hello_check(again, challenge, key) == OPAL_SUCCESS, "its writer is proved");
        fuzz_check(tcp_hello_plausible(said, sizeof(said)), "it was plausible");
    }
    uint8_t welcome[TCP_WELCOME_BYTES] = {0};
    struct tcp_welcome read;
    bytes = feed_bytes(feed, sizeof(welcome), &size);
    if (size > 0) {
        memcpy(welcome, bytes, size);
    }
    fuzz_check(tcp_welcome_decode(&read, welcome, challenge, said, key) != OPAL_SUCCESS,
               "nobody guesses a welcome");
}

/* From a process of other addresses: half of these, and further ones in their subnets. */
static void ways(const struct netcard *peer)
{
    struct netcard mine = *peer;
    struct netcard_pair here[NETCARD_ADDRESSES], there[NETCARD_ADDRESSES];
    size_t order[NETCARD_ADDRESSES];
    mine.netstack++;
    for (size_t i = 0; i < mine.count; i += 2) {
        mine.addresses[i].bytes[3] ^= 1;
    }
    fuzz_check(netcard_order_of(order, &mine, peer, true, 1) <= netcard_order(order, &mine, peer),
               "no more than all");
    fuzz_check(netcard_order(order, &mine, peer) <= peer->count, "no more than there are");
    size_t count = netcard_pair(here, &mine, peer, NETCARD_OTHER_KIND, true);
    fuzz_check(netcard_pair(there, peer, &mine, NETCARD_OTHER_KIND, false) == count, "as many");
    for (size_t i = 0, found = 0; i < count; i++, found = 0) {
        for (size_t j = 0; j < count; j++) {
            found += here[i].mine == there[j].peer && here[i].peer == there[j].mine;
        }
        fuzz_check(found == 1, "both ends have the pair");
    }
}

static void card(struct feed *feed)
{
    size_t size;
    uint8_t *exact = feed_copy(feed, feed->left, &size), again[TCP_CARD_BYTES];
    struct tcp_card card;
    if (tcp_card_decode(&card, exact, size) == OPAL_SUCCESS) {
        fuzz_check(card.net.count <= NETCARD_ADDRESSES, "addresses have their limit");
        fuzz_check(tcp_card_encode(again, &card) == size && memcmp(again, exact, size) == 0,
                   "a card is written as it was read");
        ways(&card.net);
    }
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(struct feed *) = {frames, hello, card};
    struct feed feed = {data, size};
    readers[feed_byte(&feed) % 3](&feed);
    return 0;
}
