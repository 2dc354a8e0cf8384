/* Frames without payload, that the delivery protocol sends by itself: acknowledgements, questions,
 * a link's credit, bad news. */
#include <config.h>

#include <rml/state/state.h>
#include <stdlib.h>

struct word {
    struct oob_tx tx;
    struct list link; /* while it is collected */
    struct oob_link *on;
};

static void word_done(struct oob_tx *tx, int status)
{
    (void) status; /* whoever misses it asks again */
    free(container_of(tx, struct word, tx));
}

static struct word *word_create(const struct rml_header *header)
{
    struct word *word = calloc(1, sizeof(*word));
    if (!word) {
        return NULL;
    }
    list_init(&word->link);
    list_init(&word->tx.link);
    word->tx.class = rml_header_carrier(header);
    word->tx.header_size = RML_WIRE_SIZE;
    word->tx.done = word_done;
    rml_header_encode(word->tx.header, header);
    return word;
}

void rml_say_locked(struct rml *rml, const orte_process_name_t *dest, const struct rml_stamp *stamp,
                    struct list *words)
{
    struct rml_peer *hop = NULL;
    struct rml_header header = {
        .stamp = *stamp, .role = rml->config.role, .origin = rml->config.name, .dest = *dest};
    if (rml_next_hop_locked(rml, dest, &hop) != ORTE_SUCCESS || hop->state != RML_PEER_UP) {
        return;
    }
    struct word *word = word_create(&header);
    if (word && rml_way_open_locked(hop, &word->tx, &word->on)) {
        list_append(words, &word->link);
    }
}

void rml_send_words(struct list *words)
{
    for (struct list *link; (link = list_pop(words));) {
        struct word *word = container_of(link, struct word, link);
        struct oob_link *on = word->on;
        oob_send(on, &word->tx);
        oob_link_unref(on);
    }
}

void rml_speak_locked(struct rml *rml, struct rml_peer *peer, uint64_t now, struct list *words)
{
    struct rml_stamp stamp;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        while (rml_session_word(peer->session, class, now, &stamp)) {
            rml_say_locked(rml, &peer->name, &stamp, words);
        }
    }
}

void rml_left(struct rml *rml, struct rml_peer *came, uint32_t number, enum oob_class class,
              uint64_t cost)
{
    struct oob_link *link = NULL;
    struct rml_header header = {.stamp = {.kind = RML_CREDIT, .class = class},
                                .role = rml->config.role,
                                .origin = rml->config.name};
    pthread_mutex_lock(&rml->lock);
    header.dest = came->name;
    header.stamp.epoch = rml->config.epoch;
    if (came->state == RML_PEER_UP && came->link_number == number &&
        rml_grant_left(&came->grant[class], cost)) {
        header.stamp.sequence = rml_grant_tell(&came->grant[class]);
        link = oob_link_ref(came->link);
    }
    pthread_mutex_unlock(&rml->lock);
    struct word *word = link ? word_create(&header) : NULL;
    if (word) {
        oob_send(link, &word->tx);
    }
    oob_link_unref(link);
}

void rml_say_unreachable(struct rml *rml, const struct rml_header *about, int status)
{
    struct list words = LIST_INIT(words);
    struct rml_stamp stamp = {
        .kind = RML_UNREACH,
        .class = about->stamp.class,
        .sequence = (uint64_t) about->dest.jobid << 32 | about->dest.vpid,
        .window = (uint32_t) -status,
        .ack_stream = about->stamp.stream,
        .epoch = rml->config.epoch,
        .dest_epoch = about->stamp.epoch,
    };
    pthread_mutex_lock(&rml->lock);
    rml_say_locked(rml, &about->origin, &stamp, &words);
    pthread_mutex_unlock(&rml->lock);
    rml_send_words(&words);
}
