#include <config.h>

#include <base/text/await.h>

#include <base/data/clock.h>
#include <signal.h>
#include <time.h>

bool await_ready(struct pollfd *waits, uint64_t until_us)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t blocked;
    uint64_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        sigdelset(&blocked, ends[i]);
    }
    while ((now = clock_us()) < until_us) {
        uint64_t left_us = until_us - now;
        struct timespec left = {(time_t) (left_us / 1000000u), (long) (left_us % 1000000u) * 1000};
        if (ppoll(waits, 1, &left, &blocked) > 0) {
            return true;
        }
    }
    return false;
}
