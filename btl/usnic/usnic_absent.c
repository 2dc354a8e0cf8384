/* usnic in a build without libfabric: its name is known. */
#include <config.h>

#include <btl/interface/base.h>

extern struct btl_component btl_usnic_component;

struct btl_component btl_usnic_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("usnic")}},
    .named_only = true,
    .lacks = "libfabric",
};
