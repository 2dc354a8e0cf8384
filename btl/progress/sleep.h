/* What a thread sleeps on until any module has something to do. */
#ifndef BTL_SLEEP_H
#define BTL_SLEEP_H

#include <keel/types.h>

struct pollfd;

/* Open modules. */
size_t btl_sleep_count(void);
/* Whether whatever comes to any module from now on makes its descriptor readable; these are written
 * to watch, which has room for btl_sleep_count of them. False: progress has something to do, or a
 * module has to be polled. With the lock, where it is used. */
bool btl_sleep_arm(struct pollfd *watch) KEEL_MUST_CHECK;

#endif
