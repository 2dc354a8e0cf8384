/* CRC-32C (Castagnoli), the checksum of iSCSI and SCTP: by the processor's instruction where it has
 * one. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of data that follows what crc is of; 0 begins. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
/* The same without that instruction. */
uint32_t crc32c_table(uint32_t crc, const void *data, size_t size);

#endif
