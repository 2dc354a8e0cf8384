/* What is known about providers, of libfabric 1.17. */
#ifndef BTL_OFI_TRAITS_H
#define BTL_OFI_TRAITS_H

#include <keel/types.h>

struct ofi_traits {
    const char *provider; /* its exact name, or the last of its layers */
    /* The device accesses remote memory, without the target's progress, and memory that it was
     * given to send stays mapped for it. Without hardware neither is so, and a provider may read
     * what it was given after the peer has failed. */
    bool is_hardware;
    /* Why its own put and get, and atomics, are not to be used; NULL: they may. */
    const char *no_rma, *no_atomics;
    size_t window; /* bytes in flight to a peer that it can bear; 0: any */
    bool stays;    /* closing its endpoint ends the process, where a peer did not take all */
};

/* Never NULL: a provider that is not known is taken for software. */
const struct ofi_traits *ofi_traits_of(const char *provider);

#endif
