/* What libfabric offers on this machine, as a transport over it shows it (keel/info.h). */
#ifndef BTL_FABRIC_DEVICE_H
#define BTL_FABRIC_DEVICE_H

#include <btl/fabric/fabric.h>
#include <keel/info.h>

/* Visits every domain of every provider with such endpoints, once for each address. Those of other
 * providers than this one are unused, and of its domains those other than this one; "": than the
 * first, NULL: none. Where libfabric cannot be loaded, one device says so. */
void fabric_devices_each(enum fi_ep_type endpoint, const char *provider, const char *domain,
                         keel_device_fn visit, void *arg);

#endif
