#include <config.h>

#include <btl/interface/base.h>

extern struct btl_component btl_self_component, btl_sm_component, btl_tcp_component,
    btl_ofi_component, btl_usnic_component;

const struct btl_component *const btl_components[] = {
    &btl_self_component, &btl_sm_component,    &btl_tcp_component,
    &btl_ofi_component,  &btl_usnic_component, NULL,
};
