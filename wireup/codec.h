/* A struct's members as bytes, described once for both directions: the same calls pack them, or
 * unpack and check them. What fails first is kept in status, and nothing happens after it. The
 * letters are those of proto.h. */
#ifndef WIREUP_CODEC_H
#define WIREUP_CODEC_H

#include <base/host/pty.h>
#include <keel/buffer.h>
#include <keel/types.h>

struct codec {
    opal_buffer_t *buffer; /* borrowed */
    bool unpacks;          /* else packs, and writes to no member */
    int status;            /* ORTE_SUCCESS so far */
};

bool codec_goes_on(const struct codec *codec);
/* Where it unpacks: ORTE_ERR_VALUE_OUT_OF_BOUNDS unless right. */
void codec_check(struct codec *codec, bool right);
void codec_fail(struct codec *codec, int status); /* unless something has failed before */

/* u; no more than max is unpacked. */
void codec_u32(struct codec *codec, uint32_t *number, uint32_t max);
/* c: a small number, as an enum's; no more than max is unpacked. */
void codec_u8(struct codec *codec, unsigned *number, uint8_t max);
void codec_flag(struct codec *codec, bool *flag); /* c */
/* s: malloc'd; NULL is packed as "", and unpacked as "" or, if it is optional, as NULL. */
void codec_text(struct codec *codec, char **text);
void codec_optional_text(struct codec *codec, char **text);
/* As proto_pack_strings; malloc'd. */
void codec_strings(struct codec *codec, char ***strings);
void codec_window(struct codec *codec, struct window *window); /* u rows, u columns */
/* An array of so many numbers, packed as one value; malloc'd. */
void codec_u32s(struct codec *codec, uint32_t **numbers, uint32_t count);
/* Room for an array of so many elements, each of which is a value or more; array: the address of
 * the pointer to it. Where it unpacks: calloc'd, with count set once it is there. */
void codec_array(struct codec *codec, void *array, uint32_t *count, uint32_t read, size_t size);

#endif
