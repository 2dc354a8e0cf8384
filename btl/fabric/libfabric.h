/* What of libfabric is a symbol of its library. The rest of its interface is inline functions over
 * tables in its objects, so that libkeel needs the library only where a provider is opened. The
 * loadable module keel-libfabric.so is linked with it and exports this table. */
#ifndef BTL_LIBFABRIC_H
#define BTL_LIBFABRIC_H

#include <base/data/list.h> /* before libfabric, which has a container_of for those who lack one */
#include <keel/types.h>
#include <rdma/fabric.h>

#define LIBFABRIC_MODULE "keel-libfabric.so"
#define LIBFABRIC_TABLE "keel_libfabric"

struct libfabric {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info); /* NULL: a new one */
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int error);
    uint32_t (*version)(void);
};

KEEL_EXPORT extern const struct libfabric keel_libfabric;

#endif
