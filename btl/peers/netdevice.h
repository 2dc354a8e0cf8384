/* This machine's network interfaces, as a transport over them shows them (keel/info.h). */
#ifndef BTL_NETDEVICE_H
#define BTL_NETDEVICE_H

#include <keel/info.h>

/* Visits every interface that is up; those that include and exclude, as for netif_list, do not
 * choose are unused. */
void netdevices_each(const char *include, const char *exclude, keel_device_fn visit, void *arg);

#endif
