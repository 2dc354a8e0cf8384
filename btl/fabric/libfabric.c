/* The loadable module keel-libfabric.so. */
#include <config.h>

#include <btl/fabric/libfabric.h>

const struct libfabric keel_libfabric = {
    .getinfo = fi_getinfo,
    .freeinfo = fi_freeinfo,
    .dupinfo = fi_dupinfo,
    .fabric = fi_fabric,
    .strerror = fi_strerror,
    .version = fi_version,
};
