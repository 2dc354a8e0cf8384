/* A wait outside of a loop, which whoever wants to end the process can end. */
#ifndef BASE_AWAIT_H
#define BASE_AWAIT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits for one of the descriptor's events, at most until until_us by clock_us(). SIGINT, SIGTERM,
 * SIGHUP and SIGQUIT are delivered meanwhile, even where they are blocked. False: it is too late.
 */
bool await_ready(struct pollfd *waits, uint64_t until_us);

#endif
