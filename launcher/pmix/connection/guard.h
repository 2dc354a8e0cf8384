/* The guard before libpmix's listener. libpmix gets its connections through accept(): this file
 * defines accept, bind, listen, getsockname, close, read, send and writev for the whole program,
 * which a shared library loaded later uses too. While libpmix opens its listener, its socket is
 * replaced by an event descriptor, and accept() on it hands out the connections that were vetted
 * and pushed here.
 *
 * None of them is a cancellation point: a thread that waits in one cannot be cancelled.
 *
 * A process has one guard, as libpmix has one listener: the functions it stands in for have no
 * place for a context. */
#ifndef LAUNCHER_PMIX_CONNECTION_GUARD_H
#define LAUNCHER_PMIX_CONNECTION_GUARD_H

#include <keel/types.h>
#include <launcher/pmix/connection/asked.h>

/* The listener's address is what libpmix will believe to have bound. 0 or -errno. */
int guard_open(int listener) KEEL_MUST_CHECK;
/* The first bind that this thread makes from now on is libpmix's. Says whether it came when
 * disarmed: PMIx must not be offered without it. */
void guard_arm(void);
bool guard_disarm(void) KEEL_MUST_CHECK;
/* Hands libpmix a connection, which becomes its own. 0 or -errno (the caller keeps it). Any thread.
 */
int guard_push(int connection) KEEL_MUST_CHECK;
/* How many connections of this descriptor have ended so far: one more, and libpmix has read all of
 * the one that was pushed, and has made the upcalls for it. Any thread. */
unsigned guard_ends(int connection);
/* What the client of this connection waits for, since it was handed over. Any thread. */
struct asked_view guard_asked(int connection);
/* After libpmix has ended: closes what it did not take. */
void guard_close(void);

#endif
