#include <config.h>

#include <base/types/name.h>
#include <btl/tcp/wire/wire.h>

/* The halves of a frame's first byte. */
enum { TYPE_MASK = 0x0f, CHANNEL_SHIFT = 4 };

/* Bytes behind the prefix that are not data. */
static size_t fixed_bytes(enum tcp_frame_type type)
{
    switch (type) {
    case TCP_FRAME_PUT:
        return 40;
    case TCP_FRAME_GET:
        return 48;
    case TCP_FRAME_DATA:
        return 8;
    case TCP_FRAME_DONE:
        return 16;
    case TCP_FRAME_AM:
    case TCP_FRAME_BYE:
        break;
    }
    return 0;
}

static void access_encode(uint8_t *out, const struct tcp_frame *frame)
{
    put_le32(out, frame->handle.index);
    put_le32(out + 4, frame->handle.generation);
    put_le64(out + 8, frame->handle.base);
    put_le64(out + 16, frame->handle.size);
    put_le64(out + 24, frame->address);
}

static void access_decode(struct tcp_frame *frame, const uint8_t *in)
{
    frame->handle.index = get_le32(in);
    frame->handle.generation = get_le32(in + 4);
    frame->handle.base = get_le64(in + 8);
    frame->handle.size = get_le64(in + 16);
    frame->address = get_le64(in + 24);
}

size_t tcp_frame_encode(uint8_t out[TCP_HEADER_MAX], const struct tcp_frame *frame)
{
    size_t fixed = fixed_bytes(frame->type);
    bool data = frame->type == TCP_FRAME_AM || frame->type == TCP_FRAME_PUT ||
                frame->type == TCP_FRAME_DATA;
    uint8_t *body = out + TCP_PREFIX_BYTES;

    out[0] = (uint8_t) (frame->type | frame->channel << CHANNEL_SHIFT);
    out[1] = frame->type == TCP_FRAME_AM ? frame->tag : 0;
    put_le16(out + 2, frame->sequence);
    put_le32(out + 4, (uint32_t) fixed + (data ? frame->size : 0));
    if (fixed) {
        put_le64(body, frame->id);
    }
    if (frame->type == TCP_FRAME_PUT || frame->type == TCP_FRAME_GET) {
        access_encode(body + 8, frame);
    }
    if (frame->type == TCP_FRAME_GET) {
        put_le64(body + 40, frame->size);
    } else if (frame->type == TCP_FRAME_DONE) {
        put_le32(body + 8, (uint32_t) frame->status);
        put_le32(body + 12, 0);
    }
    return TCP_PREFIX_BYTES + fixed;
}

void tcp_frame_number(uint8_t *header, uint16_t sequence)
{
    put_le16(header + 2, sequence);
}

/* Checks the prefix and says how much data its frame carries. */
static int prefix_decode(struct tcp_frame *frame, const uint8_t *in)
{
    uint32_t length = get_le32(in + 4);
    uint32_t most = 0, least = 0;

    uint8_t type = in[0] & TYPE_MASK;
    if (type < TCP_FRAME_AM || type > TCP_FRAME_BYE) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    frame->type = type;
    frame->channel = in[0] >> CHANNEL_SHIFT;
    frame->tag = in[1];
    frame->sequence = get_le16(in + 2);
    if (frame->type == TCP_FRAME_AM) {
        most = TCP_AM_MAX;
    } else if (frame->type == TCP_FRAME_PUT || frame->type == TCP_FRAME_DATA) {
        least = 1;
        most = TCP_PIECE_MAX;
    }
    size_t fixed = fixed_bytes(frame->type);
    if (length < fixed || length - fixed < least || length - fixed > most ||
        (frame->type != TCP_FRAME_AM && (frame->tag != 0 || frame->channel != 0))) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    frame->size = length - (uint32_t) fixed;
    return OPAL_SUCCESS;
}

/* Errors travel as they are; what is no error of ours becomes OPAL_ERROR. */
static int done_decode(struct tcp_frame *frame, const uint8_t *in)
{
    int32_t status = (int32_t) get_le32(in);

    if (status > 0 || get_le32(in + 4) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    frame->status = status < OPAL_ERR_DATA_OVERWRITE_ATTEMPT ? OPAL_ERROR : status;
    return OPAL_SUCCESS;
}

int tcp_frame_decode(struct tcp_frame *frame, const uint8_t *data, size_t available)
{
    struct tcp_frame out = {0};
    const uint8_t *body = data + TCP_PREFIX_BYTES;

    if (available < TCP_PREFIX_BYTES) {
        return 0;
    }
    if (prefix_decode(&out, data) != OPAL_SUCCESS) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    size_t fixed = fixed_bytes(out.type);
    if (available - TCP_PREFIX_BYTES < fixed) {
        return 0;
    }
    if (fixed) {
        out.id = get_le64(body);
    }
    if (out.type == TCP_FRAME_PUT || out.type == TCP_FRAME_GET) {
        access_decode(&out, body + 8);
    }
    if (out.type == TCP_FRAME_GET) {
        uint64_t size = get_le64(body + 40);
        if (size == 0 || size > TCP_PIECE_MAX) {
            return OPAL_ERR_UNPACK_FAILURE;
        }
        out.size = (uint32_t) size;
    } else if (out.type == TCP_FRAME_DONE && done_decode(&out, body + 8) != OPAL_SUCCESS) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    *frame = out;
    return (int) (TCP_PREFIX_BYTES + fixed);
}

/* The three messages of the set-up. */

enum { KIND_CHALLENGE = 1, KIND_HELLO = 2, KIND_WELCOME = 3 };
enum { LANE_AT = 6 };       /* in a hello */
enum { LOST_LANE_0 = 128 }; /* in the lane's place */
enum { HELLO_SIGNED = TCP_HELLO_BYTES - MAC_BYTES, WELCOME_SIGNED = TCP_WELCOME_BYTES - MAC_BYTES };

static const uint8_t magic[4] = {'K', 'L', 't', 'c'};

static void start_encode(uint8_t *out, uint8_t kind, uint16_t word)
{
    memcpy(out, magic, sizeof(magic));
    out[4] = TCP_WIRE_VERSION;
    out[5] = kind;
    put_le16(out + 6, word);
}

static int start_check(const uint8_t *in, uint8_t kind)
{
    if (memcmp(in, magic, sizeof(magic)) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    if (in[4] != TCP_WIRE_VERSION) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return in[5] == kind ? OPAL_SUCCESS : OPAL_ERR_UNPACK_FAILURE;
}

static bool is_lane(uint8_t lane)
{
    return lane <= TCP_LANES || lane == LOST_LANE_0;
}

bool tcp_hello_plausible(const uint8_t *in, size_t size)
{
    uint8_t start[TCP_PREFIX_BYTES];

    start_encode(start, KIND_HELLO, 0);
    return memcmp(in, start, size < LANE_AT ? size : LANE_AT) == 0 &&
           (size <= LANE_AT || is_lane(in[LANE_AT]));
}

void tcp_challenge_encode(uint8_t out[TCP_CHALLENGE_BYTES], const uint8_t nonce[TCP_NONCE_BYTES])
{
    start_encode(out, KIND_CHALLENGE, 0);
    memcpy(out + 8, nonce, TCP_NONCE_BYTES);
}

int tcp_challenge_check(const uint8_t in[TCP_CHALLENGE_BYTES])
{
    int status = start_check(in, KIND_CHALLENGE);

    return status == OPAL_SUCCESS && get_le16(in + 6) != 0 ? OPAL_ERR_UNPACK_FAILURE : status;
}

static void hello_mac(uint8_t mac[MAC_BYTES], const uint8_t *hello, const uint8_t *challenge,
                      const uint8_t *key)
{
    const struct iovec parts[] = {
        {(void *) "hello", 5},
        {(void *) challenge, TCP_CHALLENGE_BYTES},
        {(void *) hello, HELLO_SIGNED},
    };
    crypto_mac(mac, key, parts, sizeof(parts) / sizeof(*parts));
}

void tcp_hello_encode(uint8_t out[TCP_HELLO_BYTES], const struct tcp_hello *hello,
                      const uint8_t challenge[TCP_CHALLENGE_BYTES], const uint8_t key[KEY_BYTES])
{
    const uint8_t lane = hello->lost ? LOST_LANE_0 : hello->lane;

    start_encode(out, KIND_HELLO, (uint16_t) (lane | hello->address << 8));
    name_put(out + 8, &hello->from);
    name_put(out + 16, &hello->to);
    put_le64(out + 24, hello->incarnation);
    memcpy(out + 32, hello->nonce, TCP_NONCE_BYTES);
    hello_mac(out + HELLO_SIGNED, out, challenge, key);
}

int tcp_hello_decode(struct tcp_hello *hello, const uint8_t in[TCP_HELLO_BYTES])
{
    int status = start_check(in, KIND_HELLO);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (!is_lane(in[LANE_AT])) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    hello->lost = in[LANE_AT] == LOST_LANE_0;
    hello->lane = hello->lost ? 0 : in[LANE_AT];
    hello->address = in[LANE_AT + 1];
    hello->from = name_get(in + 8);
    hello->to = name_get(in + 16);
    hello->incarnation = get_le64(in + 24);
    memcpy(hello->nonce, in + 32, TCP_NONCE_BYTES);
    return OPAL_SUCCESS;
}

int tcp_hello_check(const uint8_t in[TCP_HELLO_BYTES], const uint8_t challenge[TCP_CHALLENGE_BYTES],
                    const uint8_t key[KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    hello_mac(mac, in, challenge, key);
    return crypto_equal(mac, in + HELLO_SIGNED, MAC_BYTES) ? OPAL_SUCCESS : OPAL_ERR_PERM;
}

static void welcome_mac(uint8_t mac[MAC_BYTES], const uint8_t *welcome, const uint8_t *challenge,
                        const uint8_t *hello, const uint8_t *key)
{
    const struct iovec parts[] = {
        {(void *) "welcome", 7},
        {(void *) challenge, TCP_CHALLENGE_BYTES},
        {(void *) hello, TCP_HELLO_BYTES},
        {(void *) welcome, WELCOME_SIGNED},
    };
    crypto_mac(mac, key, parts, sizeof(parts) / sizeof(*parts));
}

void tcp_welcome_encode(uint8_t out[TCP_WELCOME_BYTES], const struct tcp_welcome *welcome,
                        const uint8_t challenge[TCP_CHALLENGE_BYTES],
                        const uint8_t hello[TCP_HELLO_BYTES], const uint8_t key[KEY_BYTES])
{
    start_encode(out, KIND_WELCOME, (uint16_t) welcome->verdict);
    put_le64(out + 8, welcome->incarnation);
    welcome_mac(out + WELCOME_SIGNED, out, challenge, hello, key);
}

int tcp_welcome_decode(struct tcp_welcome *welcome, const uint8_t in[TCP_WELCOME_BYTES],
                       const uint8_t challenge[TCP_CHALLENGE_BYTES],
                       const uint8_t hello[TCP_HELLO_BYTES], const uint8_t key[KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];
    int status = start_check(in, KIND_WELCOME);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    welcome_mac(mac, in, challenge, hello, key);
    if (!crypto_equal(mac, in + WELCOME_SIGNED, MAC_BYTES)) {
        return OPAL_ERR_PERM;
    }
    uint16_t verdict = get_le16(in + 6);
    if (verdict > TCP_VERDICT_REFUSE) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    welcome->verdict = verdict;
    welcome->incarnation = get_le64(in + 8);
    return OPAL_SUCCESS;
}
