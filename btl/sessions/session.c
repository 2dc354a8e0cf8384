#include <config.h>

#include <btl/sessions/session.h>
#include <time.h>

uint64_t btl_epoch_next(uint64_t *last, uint64_t now_us)
{
    *last = now_us > *last ? now_us : *last + 1;
    return *last;
}

void btl_session_open(struct btl_session *session, uint64_t *last)
{
    struct timespec now;

    if (session->epoch == 0) {
        clock_gettime(CLOCK_REALTIME, &now);
        session->epoch =
            btl_epoch_next(last, (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u);
    }
}

void btl_session_clear(struct btl_session *session)
{
    uint64_t floor = session->theirs > session->floor ? session->theirs : session->floor;

    *session = (struct btl_session){.floor = floor};
}

enum btl_session_verdict btl_session_judge(const struct btl_session *session, uint64_t epoch)
{
    if (epoch < session->theirs || epoch <= session->floor) {
        return SESSION_OVER;
    }
    return epoch == session->theirs ? SESSION_SAME : SESSION_ANOTHER;
}

uint64_t btl_session_keeps(const struct btl_session *session, uint64_t echo)
{
    return echo == session->epoch ? echo : 0;
}

bool btl_session_hear(struct btl_session *session, uint64_t epoch, uint64_t echo, bool *agreed)
{
    session->theirs = epoch;
    *agreed = echo == session->epoch;
    session->proven = session->proven || *agreed;
    return session->told != session->theirs || !session->proven;
}
