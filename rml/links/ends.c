/* Ends of processes that are reached over daemons. A daemon notes who has had to do with each
 * process that it links: sent it something, got something from it, or asked for it. When that one
 * ends, they are told, by messages that come behind what it said last; when a daemon is lost, each
 * of the others tells its own. A rank or tool asks for a process when it waits for its messages and
 * knows nothing of it: the question tells the daemon that it cares. */
#include <config.h>

#include <base/data/bytes.h>
#include <base/data/clock.h>
#include <base/data/le.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <rml/state/state.h>
#include <stdlib.h>

/* What daemons say on RML_TAG_ENDED: u32 jobid, u32 vpid, u64 the incarnation that ended (0: which
 * ever there was), little-endian; any number of these. */
enum { END_SIZE = 16 };

/* A process that ended leaves the rest of what it wrote in its socket; who has inherited the
 * socket may keep it open for ever. */
enum { LAST_WORDS_US = 250000 };

/* Somebody who is to be told. */
struct farewell {
    struct list link; /* in rml->farewells */
    orte_process_name_t to;
    struct blob ends;
};

/* --- telling: daemons --- */

static void farewell_destroy(struct farewell *farewell)
{
    if (farewell) {
        blob_fini(&farewell->ends);
        free(farewell);
    }
}

static struct farewell *farewell_create(const orte_process_name_t *to)
{
    struct farewell *farewell = calloc(1, sizeof(*farewell));
    if (!farewell) {
        log_error(LOG_RML, "no memory to tell %s of an end", ORTE_NAME_PRINT(to));
        return NULL;
    }
    farewell->to = *to;
    return farewell;
}

static void add_end(struct farewell *farewell, const orte_process_name_t *ended, uint64_t epoch)
{
    uint8_t end[END_SIZE];
    name_put(end, ended);
    put_le64(end + 8, epoch);
    if (blob_append(&farewell->ends, end, sizeof(end)) != ORTE_SUCCESS) {
        log_error(LOG_RML, "no memory to tell %s of an end", ORTE_NAME_PRINT(&farewell->to));
    }
}

static void queue_locked(struct rml *rml, struct farewell *farewell)
{
    list_append(&rml->farewells, &farewell->link);
    loop_post(rml->config.loop, &rml->farewell_task);
}

/* Takes the bytes. NULL: no memory. */
static opal_buffer_t *make_buffer(struct farewell *farewell)
{
    uint8_t *bytes = farewell->ends.data;
    farewell->ends.data = NULL;
    return rml_buffer_take(bytes, farewell->ends.size);
}

static void on_farewell(struct loop_task *task)
{
    struct rml *rml = container_of(task, struct rml, farewell_task);
    for (;;) {
        pthread_mutex_lock(&rml->lock);
        struct list *link = list_pop(&rml->farewells);
        pthread_mutex_unlock(&rml->lock);
        if (!link) {
            return;
        }
        struct farewell *farewell = container_of(link, struct farewell, link);
        int status = rml_give(rml, &farewell->to, OOB_APP, RML_TAG_ENDED, make_buffer(farewell));
        if (status != ORTE_SUCCESS) { /* it has left, too */
            log_debug(LOG_RML, "%s is not told of an end: %s", ORTE_NAME_PRINT(&farewell->to),
                      opal_strerror(status));
        }
        farewell_destroy(farewell);
    }
}

/* One that ended, while those who had to do with it are told. */
struct ending {
    struct rml *rml;
    const struct rml_peer *peer;
    uint64_t epoch;
};

static void tell_of_end(void *arg, const orte_process_name_t *to)
{
    const struct ending *ending = arg;
    const struct rml_peer *peer = rml_peer_find(&ending->rml->peers, to);
    bool left =
        (peer && peer->gone) || (ending->peer->parting && to->jobid == ending->peer->name.jobid);
    struct farewell *farewell = left ? NULL : farewell_create(to);
    if (farewell) {
        add_end(farewell, &ending->peer->name, ending->epoch);
        queue_locked(ending->rml, farewell);
    }
}

void rml_tell_end_locked(struct rml *rml, struct rml_peer *peer)
{
    struct ending ending = {rml, peer, peer->session ? peer->session->peer : 0};
    if (!rml->ending) {
        rml_circle_each(&peer->circle, tell_of_end, &ending);
    }
    rml_circle_fini(&peer->circle);
}

/* A process that this daemon links, while it is told who was behind a lost daemon. */
struct losing {
    struct rml *rml;
    uint32_t daemon;
    const struct rml_peer *peer;
    struct farewell *farewell; /* NULL: nobody was */
};

static void add_lost(void *arg, const orte_process_name_t *name)
{
    struct losing *losing = arg;
    if (rml_route_daemon_of(&losing->rml->route, name) != losing->daemon) {
        return;
    }
    if (!losing->farewell) {
        losing->farewell = farewell_create(&losing->peer->name);
    }
    if (losing->farewell) {
        add_end(losing->farewell, name, 0);
    }
}

static void tell_of_lost(struct rml_peer *peer, void *arg)
{
    struct losing *losing = arg;
    losing->peer = peer;
    losing->farewell = NULL;
    if (!peer->gone) {
        rml_circle_each(&peer->circle, add_lost, losing);
    }
    if (losing->farewell) {
        queue_locked(losing->rml, losing->farewell);
    }
}

void rml_tell_lost_locked(struct rml *rml, uint32_t daemon)
{
    struct losing losing = {.rml = rml, .daemon = daemon};
    rml_peers_each(&rml->peers, tell_of_lost, &losing);
}

/* Daemons come and go with the job: only an application's own messages with them count. */
static bool counts(const struct rml *rml, const struct rml_header *header,
                   const orte_process_name_t *other)
{
    bool data = header->stamp.kind == RML_DATA;
    return other->jobid == rml_daemon_job(rml->config.name.jobid)
               ? data && header->tag > ORTE_RML_TAG_MAX
               : data || header->stamp.kind == RML_PROBE;
}

static bool note_locked(struct rml *rml, const struct rml_header *header, struct rml_peer *peer,
                        const orte_process_name_t *other)
{
    unsigned held = 0;
    if (!counts(rml, header, other)) {
        return false;
    }
    enum rml_circle_added added = rml_circle_add(&peer->circle, other);
    if (added == RML_CIRCLE_FULL && log_rate_ok("rml circle", &held)) {
        log_warn(LOG_RML, "too many processes have to do with %s: not all will be told of its end",
                 ORTE_NAME_PRINT(&peer->name));
    }
    return added == RML_CIRCLE_NEW;
}

bool rml_note_locked(struct rml *rml, const struct rml_header *header, struct rml_peer *came,
                     struct rml_peer *hop)
{
    orte_jobid_t daemons = rml_daemon_job(rml->config.name.jobid);
    if (came->name.jobid != daemons && name_equal(&came->name, &header->origin)) {
        (void) note_locked(rml, header, came, &header->dest);
    }
    return hop->name.jobid != daemons && name_equal(&hop->name, &header->dest) &&
           note_locked(rml, header, hop, &header->origin);
}

/* --- processes of this daemon that ended --- */

static void find_ended(struct rml_peer *peer, void *arg)
{
    struct rml_peer **found = arg;
    *found = peer->ended && peer->link ? peer : *found;
}

static void on_last_words(struct loop_timer *timer)
{
    struct rml *rml = container_of(timer, struct rml, last_words_timer);
    for (;;) {
        struct rml_peer *peer = NULL;
        pthread_mutex_lock(&rml->lock);
        rml_peers_each(&rml->peers, find_ended, &peer);
        struct oob_link *link = peer ? oob_link_ref(peer->link) : NULL;
        pthread_mutex_unlock(&rml->lock);
        if (!link) {
            return;
        }
        log_info(LOG_RML, "%s has ended, but its link is open: it is closed",
                 ORTE_NAME_PRINT(&peer->name));
        oob_link_break(link);
        oob_link_unref(link);
    }
}

void rml_peer_ended(struct rml *rml, const orte_process_name_t *name)
{
    struct list frames = LIST_INIT(frames);
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, name);
    if (peer) {
        peer->ended = true;
    }
    if (peer && peer->state == RML_PEER_UP) {
        loop_timer_start(&rml->last_words_timer, LAST_WORDS_US);
    } else if (peer && peer->broken) {
        rml_mend_give_up_locked(rml, peer);
    } else if (peer && !peer->gone) {
        rml_unpend_locked(peer, &frames);
        peer->state = RML_PEER_DOWN;
        rml_gone_locked(rml, peer);
    }
    pthread_mutex_unlock(&rml->lock);
    rml_fail_frames(&frames, ORTE_ERR_COMM_FAILURE);
    rml_wake(rml);
}

void rml_peer_parts(struct rml *rml, const orte_process_name_t *name)
{
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, name);
    if (peer) {
        peer->parting = true;
    }
    pthread_mutex_unlock(&rml->lock);
}

/* --- hearing: ranks and tools --- */

static bool is_one_process(const orte_process_name_t *name)
{
    return name->jobid < ORTE_JOBID_WILDCARD && name->vpid < ORTE_VPID_WILDCARD;
}

/* A link of its own tells by itself; the end of an incarnation is no news to its successor. */
static void hear_end_locked(struct rml *rml, const orte_process_name_t *name, uint64_t epoch)
{
    struct rml_peer *peer = rml_peer_find(&rml->peers, name);
    if (!peer || peer->gone || peer->state == RML_PEER_UP) {
        return;
    }
    if (epoch != 0 && peer->session && peer->session->peer != 0 && peer->session->peer != epoch) {
        return;
    }
    log_debug(LOG_RML, "%s has ended", ORTE_NAME_PRINT(name));
    rml_gone_locked(rml, peer);
}

static void on_ended(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct rml *rml = arg;
    const uint8_t *bytes = (const uint8_t *) (*buffer)->base_ptr;
    size_t size = (*buffer)->bytes_used;
    if (info->role != OOB_KEY_CONTROL || size % END_SIZE != 0) {
        log_warn(LOG_RML, "news of ends from %s are refused", ORTE_NAME_PRINT(&info->origin));
        return;
    }
    pthread_mutex_lock(&rml->lock);
    for (size_t at = 0; at < size; at += END_SIZE) {
        orte_process_name_t name = name_get(bytes + at);
        if (is_one_process(&name)) {
            hear_end_locked(rml, &name, get_le64(bytes + at + 8));
        }
    }
    pthread_mutex_unlock(&rml->lock);
    rml_wake(rml);
}

/* --- caring: ranks and tools --- */

void rml_care_locked(struct rml *rml, const orte_process_name_t *name)
{
    struct rml_peer *hop = NULL;
    if (rml_is_daemon(rml) || !rml->route.has_upstream || rml->phase == RML_FINALIZED ||
        !is_one_process(name) || name_equal(name, &rml->config.name)) {
        return;
    }
    struct rml_peer *peer = rml_peer_get(&rml->peers, name);
    if (!peer || peer->state == RML_PEER_UP || (peer->session && peer->session->peer != 0) ||
        rml_next_hop_locked(rml, name, &hop) != ORTE_SUCCESS || hop == peer) {
        return;
    }
    struct rml_session *session = rml_session_locked(rml, peer);
    if (session) {
        rml_session_open(session, clock_us());
        rml_schedule_locked(rml, peer);
    }
}

/* --- life --- */

void rml_ends_init(struct rml *rml)
{
    list_init(&rml->farewells);
    rml->farewell_task.run = on_farewell;
    loop_timer_init(&rml->last_words_timer, rml->config.loop, on_last_words);
    if (!rml_is_daemon(rml)) {
        rml_handle(rml, RML_TAG_ENDED, on_ended, rml);
    }
}

void rml_ends_fini(struct rml *rml)
{
    loop_timer_stop(&rml->last_words_timer);
    (void) loop_cancel(rml->config.loop, &rml->farewell_task);
    for (struct list *link; (link = list_pop(&rml->farewells));) {
        farewell_destroy(container_of(link, struct farewell, link));
    }
}
