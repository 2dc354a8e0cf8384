/* What sessions hear, and what follows: messages taken, frames acknowledged, another incarnation,
 * an end; and the credit of what was delivered. What is decided is decided in
 * rml/delivery/session.c. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <rml/state/state.h>
#include <rml/traffic/outgoing.h>

/* An incarnation ended with which messages were exchanged (used), or to which some were pending. */
static void raise_end_locked(struct rml *rml, const struct rml_peer *peer, bool used, bool failed)
{
    if (used || failed) {
        rml_raise_locked(rml, &peer->name,
                         used ? ORTE_RML_PEER_DISCONNECTED : ORTE_RML_PEER_UNREACH);
    }
}

/* The origin may be another incarnation than before. On the loop. */
static void apply_renewal_locked(struct rml *rml, struct rml_peer *peer, struct rml_heard *heard)
{
    bool failed = !list_empty(&heard->ended);
    rml_send_ended_locked(rml, &heard->ended, ORTE_ERR_COMM_FAILURE);
    if (!heard->renewed) {
        return;
    }
    log_info(LOG_RML, "%s is another incarnation now", ORTE_NAME_PRINT(&peer->name));
    peer->path = RML_PATH_NONE;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_assembly_abandon(&peer->assembly[class]);
    }
    if (heard->was_used) {
        rml_fail_receives_from_locked(rml, peer);
    }
    raise_end_locked(rml, peer, heard->was_used, failed);
}

void rml_know_locked(struct rml *rml, struct rml_peer *peer, uint64_t epoch)
{
    struct rml_heard heard = {.take = false};
    list_init(&heard.done);
    list_init(&heard.ended);
    if (!rml_session_locked(rml, peer)) {
        return;
    }
    rml_session_know(peer->session, epoch, &heard);
    apply_renewal_locked(rml, peer, &heard);
}

void rml_gone_locked(struct rml *rml, struct rml_peer *peer)
{
    bool failed = false, used = false;
    int status = peer->gone ? ORTE_ERR_ADDRESSEE_UNKNOWN : ORTE_ERR_COMM_FAILURE;
    peer->gone = true;
    rml_tell_end_locked(rml, peer);
    if (peer->session) {
        failed = rml_end_session_locked(rml, peer, status);
        used = rml_session_forget(peer->session);
    }
    rml_fail_receives_from_locked(rml, peer);
    raise_end_locked(rml, peer, used, failed);
}

static void consider_locked(struct rml *rml, struct rml_peer *peer, const struct rml_stamp *stamp,
                            uint64_t now, struct rml_heard *heard)
{
    rml_session_receive(peer->session, stamp, now, heard);
    peer->gone = false;
    apply_renewal_locked(rml, peer, heard);
    rml_send_ended_locked(rml, &heard->done, ORTE_SUCCESS);
    if (heard->refused) {
        rml->counters.out_of_order++;
    }
}

static void answer_locked(struct rml *rml, struct rml_peer *peer, enum oob_class class,
                          const struct rml_heard *heard, uint64_t now, struct list *words)
{
    struct rml_stamp stamp;
    if (heard->reply) {
        rml_session_reply(peer->session, class, heard, &stamp);
        rml_say_locked(rml, &peer->name, &stamp, words);
    }
    rml_speak_locked(rml, peer, now, words);
    rml_schedule_locked(rml, peer);
}

void rml_hear(struct rml *rml, const struct oob_peer *from, const struct rml_header *header,
              const uint8_t *payload)
{
    struct rml_heard heard = {.take = false};
    struct list words = LIST_INIT(words);
    uint64_t now = clock_us();
    list_init(&heard.done);
    list_init(&heard.ended);
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, &header->origin);
    bool known = peer && rml_session_locked(rml, peer);
    if (known) {
        consider_locked(rml, peer, &header->stamp, now, &heard);
    }
    pthread_mutex_unlock(&rml->lock);
    if (!known) {
        log_error(LOG_RML, "no memory to hear %s", ORTE_NAME_PRINT(&header->origin));
        return;
    }
    if (heard.restarted) {
        rml_assembly_abandon(&peer->assembly[header->stamp.class]);
    }
    if (heard.take) {
        rml_take(rml, from, peer, header, payload);
    }
    pthread_mutex_lock(&rml->lock);
    answer_locked(rml, peer, header->stamp.class, &heard, now, &words);
    pthread_mutex_unlock(&rml->lock);
    rml_send_words(&words);
    if (heard.send) {
        rml_pump(rml, peer);
    }
}

void rml_hear_unreachable(struct rml *rml, const struct rml_header *header)
{
    const struct rml_stamp *stamp = &header->stamp;
    orte_process_name_t name = {(orte_jobid_t) (stamp->sequence >> 32),
                                (orte_vpid_t) stamp->sequence};
    int status = stamp->window == (uint32_t) -ORTE_ERR_COMM_FAILURE ? ORTE_ERR_COMM_FAILURE
                                                                    : ORTE_ERR_ADDRESSEE_UNKNOWN;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &name);
    if (peer && peer->session && stamp->dest_epoch == rml->config.epoch &&
        stamp->ack_stream == peer->session->out[stamp->class].stream) {
        log_debug(LOG_RML, "%s cannot be reached: %s", ORTE_NAME_PRINT(&name),
                  opal_strerror(status));
        if (status == ORTE_ERR_COMM_FAILURE) {
            rml_gone_locked(rml, peer);
        } else {
            rml_fail_session_locked(rml, peer, status);
        }
    }
    pthread_mutex_unlock(&rml->lock);
}

/* --- credit of what was delivered --- */

void rml_hold_locked(struct rml *rml, struct rml_peer *peer, struct rml_message *message)
{
    message->origin = peer;
    struct rml_receiver *in = &peer->session->in[message->info.class];
    rml_receiver_hold(in, message->size + RML_FRAME_COST);
    if (rml_receiver_full(in)) {
        rml_note_full_locked(rml, peer);
    }
}

void rml_consumed_locked(struct rml *rml, struct rml_message *message)
{
    struct rml_peer *peer = message->origin;
    if (!peer) {
        return;
    }
    message->origin = NULL;
    struct rml_receiver *in = &peer->session->in[message->info.class];
    rml_receiver_release(in, message->size + RML_FRAME_COST);
    if (!list_empty(&peer->full)) {
        rml_note_full_locked(rml, peer);
    }
    if (rml_receiver_must_tell(in, 1)) {
        rml_poke_locked(rml, peer);
    }
}
