/* Contact strings: this process's own, and those of peers that were recorded. */
#include <config.h>

#include <base/settings/log.h>
#include <base/types/name.h>
#include <oob/contact.h>
#include <rml/calls/calls.h>
#include <rml/state/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On the loop. Listeners are opened when somebody asks how to reach them. */
static char *find_contact(struct rml *rml)
{
    char reason[256] = "";
    char path[4096];
    char *text = oob_contact(rml->oob);
    if (text || rml->listening) {
        return text;
    }
    if (rml->unix_dir) {
        snprintf(path, sizeof(path), "%s/rml.%u.%u", rml->unix_dir, rml->config.name.jobid,
                 rml->config.name.vpid);
        if (oob_listen_unix(rml->oob, path, reason, sizeof(reason)) != ORTE_SUCCESS) {
            log_warn(LOG_RML, "cannot listen at %s: %s", path, reason);
        }
    }
    if (oob_listen_tcp(rml->oob, reason, sizeof(reason)) != ORTE_SUCCESS) {
        log_warn(LOG_RML, "cannot listen on TCP: %s", reason);
    }
    rml->listening = true;
    return oob_contact(rml->oob);
}

char *rml_contact(struct rml *rml)
{
    return rml_ask_loop(rml, find_contact);
}

/* Messages may go another way from now on only to peers that no daemon of this job reaches, or that
 * none were sent to. */
static void record_contact_locked(struct rml *rml, struct rml_peer *peer, char *text)
{
    free(peer->contact);
    peer->contact = text;
    if (peer->state == RML_PEER_DOWN) {
        peer->state = RML_PEER_NEW;
    }
    bool used = peer->session && peer->session->used;
    if (!used || peer->name.jobid >> 16 != rml->config.name.jobid >> 16) {
        peer->path = RML_PATH_NONE;
    }
}

int rml_call_set_contact_info(struct rml *rml, const char *text)
{
    struct contact contact;
    char reason[256] = "";
    if (!text || contact_parse(&contact, text, reason, sizeof(reason)) != ORTE_SUCCESS) {
        log_debug(LOG_RML, "no contact string: %s", reason);
        return ORTE_ERR_BAD_PARAM;
    }
    if (name_equal(&contact.name, &rml->config.name)) {
        return ORTE_SUCCESS;
    }
    char *copy = strdup(text);
    if (!copy) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, &contact.name);
    if (peer) {
        record_contact_locked(rml, peer, copy);
    }
    pthread_mutex_unlock(&rml->lock);
    if (!peer) {
        free(copy);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return ORTE_SUCCESS;
}

/* Those of a job, collected under the lock. */
struct contacts {
    orte_jobid_t job;
    char **texts; /* as many as there are peers, and a NULL */
    size_t count;
    bool failed;
};

static void collect_contact(struct rml_peer *peer, void *arg)
{
    struct contacts *contacts = arg;
    bool chosen = contacts->job == ORTE_JOBID_WILDCARD || contacts->job == peer->name.jobid;
    if (!chosen || !peer->contact || contacts->failed) {
        return;
    }
    char *text = strdup(peer->contact);
    contacts->failed = !text;
    contacts->texts[contacts->count++] = text;
}

char **rml_contacts(struct rml *rml, orte_jobid_t job)
{
    struct contacts contacts = {.job = job};
    pthread_mutex_lock(&rml->lock);
    contacts.texts = calloc(rml->peers.table.count + 1, sizeof(*contacts.texts));
    if (contacts.texts) {
        rml_peers_each(&rml->peers, collect_contact, &contacts);
    }
    pthread_mutex_unlock(&rml->lock);
    if (contacts.failed) {
        for (size_t i = 0; i < contacts.count; i++) {
            free(contacts.texts[i]);
        }
        free(contacts.texts);
        return NULL;
    }
    return contacts.texts;
}
