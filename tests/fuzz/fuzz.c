#include <config.h>

#include <base/data/crypto.h>
#include <base/data/le.h>
#include <base/settings/log.h>
#include <keel/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static void ignore(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    (void) level;
    (void) line;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;
    log_set_sink(ignore, NULL);
    fuzz_check(crypto_open() == ORTE_SUCCESS, "libsodium starts");
    fuzz_check(opal_dss_open() == OPAL_SUCCESS, "opal_dss opens");
    return 0;
}

void fuzz_check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

const uint8_t *feed_bytes(struct feed *feed, size_t wish, size_t *size)
{
    const uint8_t *at = feed->at;
    *size = wish < feed->left ? wish : feed->left;
    if (*size > 0) {
        feed->at += *size;
        feed->left -= *size;
    }
    return at;
}

uint64_t feed_u64(struct feed *feed)
{
    uint8_t number[8] = {0};
    size_t size;
    const uint8_t *bytes = feed_bytes(feed, sizeof(number), &size);
    if (size > 0) {
        memcpy(number, bytes, size);
    }
    return get_le64(number);
}

uint32_t feed_u32(struct feed *feed)
{
    uint8_t number[4] = {0};
    size_t size;
    const uint8_t *bytes = feed_bytes(feed, sizeof(number), &size);
    if (size > 0) {
        memcpy(number, bytes, size);
    }
    return get_le32(number);
}

uint8_t feed_byte(struct feed *feed)
{
    size_t size;
    const uint8_t *byte = feed_bytes(feed, 1, &size);
    return size > 0 ? *byte : 0;
}

static uint8_t *copy_of(const uint8_t *bytes, size_t size, size_t more)
{
    uint8_t *copy = malloc(size + more);
    fuzz_check(copy || size + more == 0, "there is memory");
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

uint8_t *feed_copy(struct feed *feed, size_t wish, size_t *size)
{
    const uint8_t *bytes = feed_bytes(feed, wish, size);
    return copy_of(bytes, *size, 0);
}

char *feed_text(struct feed *feed)
{
    size_t size;
    const uint8_t *bytes = feed_bytes(feed, feed->left, &size);
    char *text = (char *) copy_of(bytes, size, 1);
    text[size] = '\0';
    return text;
}
