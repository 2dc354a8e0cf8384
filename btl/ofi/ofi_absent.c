/* ofi in a build without libfabric: its name is known. */
#include <config.h>

#include <btl/interface/base.h>

extern struct btl_component btl_ofi_component;

struct btl_component btl_ofi_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("ofi")}},
    .named_only = true,
    .lacks = "libfabric",
};
