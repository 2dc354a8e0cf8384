/* The shepherd's own process. */
#ifndef LAUNCHER_SHEPHERD_SHEPHERD_MAIN_H
#define LAUNCHER_SHEPHERD_SHEPHERD_MAIN_H

#include <stdint.h>

/* Serves the daemon at the other end of this stream socket (shepherd_wire.h) until that is gone or
 * has commanded the end, then ends all descendants and removes the guarded folders. Runs in a
 * freshly forked process without threads; does not return. cancelled is in memory that the daemon
 * shares: so many of its commands to start are void. entry: what processes without a program call;
 * NULL: there are none. */
void shepherd_main(int sock, const _Atomic uint64_t *cancelled, int (*entry)(void))
    __attribute__((noreturn));

#endif
