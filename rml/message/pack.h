/* Large control messages, packed by zlib where that makes them smaller: the size they had, 32 bits
 * little-endian, and a zlib stream. Pure. */
#ifndef RML_PACK_H
#define RML_PACK_H

#include <rml/message/message.h>

#define RML_PACK_HEAD 4u

/* malloc'd; NULL: they would not get smaller by an eighth, or there is no memory. */
uint8_t *rml_pack(const void *data, size_t size, size_t *packed_size);
/* What was packed, malloc'd. Nothing is allocated for a size that is above max
 * (ORTE_ERR_VALUE_OUT_OF_BOUNDS), or that no stream of these bytes can have. ORTE_ERR_BAD_PARAM:
 * not what rml_pack makes; ORTE_ERR_OUT_OF_RESOURCE. */
int rml_unpack(const void *data, size_t size, size_t max, uint8_t **unpacked,
               size_t *unpacked_size) KEEL_MUST_CHECK;

bool rml_format_is_packed(enum rml_format format);
/* The format of a buffer's packed bytes. */
enum rml_format rml_format_packed(enum rml_format format);
/* A message gets the bytes that its packed ones stand for; any other stays as it is. */
int rml_message_unpack(struct rml_message *message, size_t max) KEEL_MUST_CHECK;

#endif
