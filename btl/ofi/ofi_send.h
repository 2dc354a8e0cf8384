/* Messages and control frames on their way out. */
#ifndef BTL_OFI_SEND_H
#define BTL_OFI_SEND_H

#include <btl/ofi/ofi_peer.h>

int ofi_channel_send(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                     mca_btl_base_tag_t tag);
int ofi_channel_sendi(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                      opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                      mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);
/* The header of the next frame in the peer's session. */
void ofi_frame_encode(const ofi_endpoint *peer, uint8_t *out, enum ofi_kind kind, uint8_t channel,
                      uint8_t tag);
/* BYE or BYE_ACK. */
int ofi_send_control(struct ofi_module *ofi, ofi_endpoint *peer, enum ofi_kind kind);
/* Raw bytes of a hello. */
int ofi_send_bytes(struct ofi_module *ofi, ofi_endpoint *peer, const uint8_t *bytes, size_t size);

/* A message of so many bytes is within the peer's window. */
bool ofi_send_fits(const struct ofi_module *ofi, const ofi_endpoint *peer, size_t total);
/* The provider is done with a message. */
void ofi_send_completed(struct ofi_module *ofi, struct ofi_tx *tx, int status);
/* Calls back for a transmission that will not be waited for any longer; its memory stays until the
 * provider is done. */
void ofi_send_abandon(struct ofi_module *ofi, struct ofi_tx *tx, int status);

#endif
