/* What the files of this back end share. */
#ifndef BOOTSTRAP_PMIX_INTERNAL_H
#define BOOTSTRAP_PMIX_INTERNAL_H

#include <bootstrap/pmix/pmix.h>
#include <bootstrap/pmix/request.h>
#include <rml/interface/completion.h>

/* What is where in the modex, for each rank:
 *
 *   keel.key       rank 0's alone: a version byte and the application key
 *   keel.cpus      for ranks of the node alone: the processors that the rank may use, as a mask
 *   keel.contact   the contact string
 *   keel.cards.N   N = 0, 1, ...: u32, little-endian, the number of the fence that published it; a
 *                  set of cards
 *
 * A key that is there is never put again: servers and libraries keep old values. Number 0 is put
 * with every rank's first fence, a later one only where there are new cards. Whoever has read the
 * one that the last fence published knows that there is no other. Else the next one is asked for:
 * what is not there makes the server wait, so that it is asked for with a short time limit. It was
 * committed before the last fence, or never. */
#define KEY_KEY "keel.key"
#define CPUS_KEY "keel.cpus"
#define CONTACT_KEY "keel.contact"
#define CARDS_KEY "keel.cards.%u"

/* What is known of a rank's publications. */
struct known {
    uint32_t read;       /* how many */
    uint32_t complete;   /* all those of so many fences, and perhaps more */
    struct fetch *fetch; /* owned; NULL: none */
};

/* Something that libpmix's thread tells the application's. */
struct note {
    struct rml_completion completion;
    bool posted; /* written with the module's lock held */
    bool read;
    int status;
    const char *text;
};

struct pmix {
    struct backend backend;
    const struct pmix_client *client;
    const struct pmix_calls *calls;
    struct loop *loop;
    struct request_desk desk;
    bool may_collect;  /* the cards of all ranks are wanted at once */
    bool must_collect; /* else a fence of this server holds nobody back */
    bool broken;       /* a fence failed, or the server is gone: no other will pass */
    uint32_t fences;   /* that may have published cards, and passed */
    uint32_t published;
    struct known *known; /* owned, by rank */
    uint32_t fetches;    /* under way */
    bool all_read;       /* written when fetches becomes 0 */
    bool leaving;
    struct note fence, lost;
    bool fence_over;     /* the fence under way was answered, or never will be */
    struct list lookups; /* the loop's own */
};

/* How long the server may take for what is there. */
static inline unsigned patience_s(void)
{
    return (unsigned) (backend_timeout_us() / 1000000u);
}

/* --- pmix.c --- */

/* Asks for what rank has put, and waits for it; *data is malloc'd. */
int pmix_ask(struct pmix *pmix, uint32_t rank, const char *key, uint8_t **data,
             size_t *size) KEEL_MUST_CHECK;

/* --- cpus.c --- */

int cpus_publish(struct pmix *pmix) KEEL_MUST_CHECK;
/* After the fence that has published them; before btl_yield is read. */
void cpus_look(struct pmix *pmix);

/* --- modex.c --- */

void modex_fetch(struct backend *backend, uint32_t rank, const char *key, keel_card_fn done,
                 void *arg);
/* Reads the first cards of all ranks, after a fence that has brought them to this server. */
int modex_read_all(struct pmix *pmix, uint64_t deadline_us, int (*poll)(void *arg),
                   void *arg) KEEL_MUST_CHECK;
/* Ends all questions about cards; nobody asks any more. */
void modex_end(struct pmix *pmix);

/* --- contacts.c --- */

/* The RML's resolver; on the loop. */
void contacts_resolve(void *arg, const orte_process_name_t *name);
/* Ends all questions about contacts. Not on the loop. */
void contacts_end(struct pmix *pmix);

#endif
