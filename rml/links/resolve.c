/* How to reach ranks of my job where no daemon relays: their contact strings are asked for when the
 * first message goes to them, which waits like one whose link is being made. */
#include <config.h>

#include <base/settings/log.h>
#include <base/types/name.h>
#include <oob/contact.h>
#include <rml/state/state.h>
#include <stdlib.h>
#include <string.h>

static void ask_on_loop(struct loop_task *task);

void rml_resolve_init(struct rml *rml)
{
    list_init(&rml->unresolved);
    rml->ask.run = ask_on_loop;
}

void rml_resolve_fini(struct rml *rml)
{
    (void) loop_cancel(rml->config.loop, &rml->ask);
}

bool rml_can_resolve_locked(const struct rml *rml, const orte_process_name_t *name)
{
    return rml->resolve && !rml->route.has_upstream && name->jobid == rml->config.name.jobid &&
           name->vpid < rml->config.job_size;
}

void rml_resolve_locked(struct rml *rml, struct rml_peer *peer)
{
    if (!peer->resolving) {
        peer->resolving = true;
        list_append(&rml->unresolved, &peer->asked);
        loop_post(rml->config.loop, &rml->ask);
    }
}

static void ask_on_loop(struct loop_task *task)
{
    struct rml *rml = container_of(task, struct rml, ask);
    pthread_mutex_lock(&rml->lock);
    for (struct list *link; rml->resolve && (link = list_pop(&rml->unresolved));) {
        orte_process_name_t name = container_of(link, struct rml_peer, asked)->name;
        void (*resolve)(void *, const orte_process_name_t *) = rml->resolve;
        void *arg = rml->resolve_arg;
        pthread_mutex_unlock(&rml->lock);
        resolve(arg, &name);
        pthread_mutex_lock(&rml->lock);
    }
    pthread_mutex_unlock(&rml->lock);
}

/* The string that reaches name, as a copy; NULL: it does not. */
static char *copy_contact(const orte_process_name_t *name, const char *text)
{
    struct contact contact;
    char reason[256] = "it is another process's";
    if (!text) {
        return NULL;
    }
    if (contact_parse(&contact, text, reason, sizeof(reason)) != ORTE_SUCCESS ||
        !name_equal(&contact.name, name)) {
        log_error(LOG_RML, "the contact string of %s is wrong: %s", ORTE_NAME_PRINT(name), reason);
        return NULL;
    }
    return strdup(text);
}

/* Ends the question for a peer; frames get what cannot be sent. */
static void settle_locked(struct rml *rml, struct rml_peer *peer, char *contact,
                          struct list *frames)
{
    peer->resolving = false;
    list_remove(&peer->asked);
    if (contact) {
        free(peer->contact);
        peer->contact = contact;
    }
    bool waits = peer->session && rml_session_pending(peer->session);
    if (peer->state == RML_PEER_UP || peer->dialing || !waits) {
        return;
    }
    if (!contact || rml_dial_locked(rml, peer) != ORTE_SUCCESS) {
        rml_unreachable_locked(rml, peer, frames);
    }
}

void rml_resolved(struct rml *rml, const orte_process_name_t *name, const char *contact)
{
    struct list frames = LIST_INIT(frames);
    char *copy = copy_contact(name, contact);
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, name);
    if (peer && peer->resolving) {
        settle_locked(rml, peer, copy, &frames);
        copy = NULL;
    }
    pthread_mutex_unlock(&rml->lock);
    free(copy);
    rml_fail_frames(&frames, ORTE_ERR_UNREACH);
}

struct giving_up {
    struct rml *rml;
    struct list frames;
};

static void give_up_locked(struct rml_peer *peer, void *arg)
{
    struct giving_up *giving_up = arg;
    if (peer->resolving) {
        settle_locked(giving_up->rml, peer, NULL, &giving_up->frames);
    }
}

void rml_set_resolver(struct rml *rml, void (*resolve)(void *arg, const orte_process_name_t *name),
                      void *arg)
{
    struct giving_up giving_up = {.rml = rml};
    list_init(&giving_up.frames);
    pthread_mutex_lock(&rml->lock);
    rml->resolve = resolve;
    rml->resolve_arg = arg;
    if (!resolve) {
        rml_peers_each(&rml->peers, give_up_locked, &giving_up);
    }
    pthread_mutex_unlock(&rml->lock);
    rml_fail_frames(&giving_up.frames, ORTE_ERR_UNREACH);
}
