/* keel_jobs_each: jobs by their session folders. */
#include <config.h>

#include <base/host/leftovers.h>
#include <base/host/session.h>
#include <keel/tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <wireup/job_map.h>
#include <wireup/proto.h>

struct visit {
    keel_job_fn fn;
    void *arg;
};

/* keelrun's, malloc'd; NULL: it cannot be known, or no memory. */
static char *find_contact(const char *job)
{
    char *folder, *contact, reason[256];
    uint8_t bits[(JOB_UUID_TEXT - 1) / 2];
    if (crypto_from_hex(bits, sizeof(bits), job) != ORTE_SUCCESS ||
        session_path(&folder, job, 0, reason, sizeof(reason)) != ORTE_SUCCESS) {
        return NULL;
    }
    if (asprintf(&contact, "%u.0;unix://%s/" DAEMON_SOCKET, job_family_of(bits), folder) < 0) {
        contact = NULL;
    }
    free(folder);
    return contact;
}

static void visit_job(void *arg, const char *name, enum hold head, enum hold others)
{
    const struct visit *visit = arg;
    struct keel_job job = {.id = name, .place = KEEL_JOB_LEFT};
    char *contact = head == HOLD_LIVES ? find_contact(name) : NULL;
    if (contact) {
        job.place = KEEL_JOB_HERE;
    } else if (head == HOLD_NONE && others == HOLD_LIVES) {
        job.place = KEEL_JOB_ELSEWHERE;
    }
    job.contact = contact;
    visit->fn(visit->arg, &job);
    free(contact);
}

void keel_jobs_each(keel_job_fn visit, void *arg)
{
    leftovers_each(visit_job, &(struct visit){visit, arg});
}
