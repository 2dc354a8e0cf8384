/* The objects that keel/btl2.h declares. */
#include <config.h>

#include <keel/btl2.h>

mca_btl2_active_message_callback_t mca_btl2_base_active_message_trigger[MCA_BTL2_TAG_MAX + 1];

const opal_class_t mca_btl2_base_descriptor_t_class = {
    .cls_name = "mca_btl_base_descriptor_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_sizeof = sizeof(mca_btl2_base_descriptor_t),
};
