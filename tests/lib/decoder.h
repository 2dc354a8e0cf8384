/* For tests of what reads a struct from a buffer: what each of them must withstand. */
#ifndef TESTS_DECODER_H
#define TESTS_DECODER_H

#include <keel/buffer.h>

struct decoder {
    int (*unpack)(opal_buffer_t *buffer, void *out);
    void (*fini)(void *read);
    /* Fails the test if what was read makes no sense. */
    void (*check)(const void *read);
    size_t size; /* of the struct */
};

/* A buffer with a copy of these bytes. */
opal_buffer_t *decoder_load(const void *data, size_t size);
/* All beginnings of the message are refused, and nothing is written then. Takes the message. */
void decoder_refuses_beginnings(const struct decoder *decoder, opal_buffer_t *whole);
/* Whatever bytes of the message are changed: it is refused, or makes sense. Takes the message. */
void decoder_survives_noise(const struct decoder *decoder, opal_buffer_t *whole);

#endif
