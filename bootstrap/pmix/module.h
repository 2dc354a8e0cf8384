/* Between libkeel and the loadable module keel-bootstrap-pmix.so, which is all that touches libpmix
 * in a rank.
 *
 * libpmix answers on a thread of its own: answers and lost come there, with the module's lock held,
 * and may post but not call the module. Everything else may be called by any thread; what says that
 * it blocks waits for the server, for as long as that takes. Statuses are ORTE's;
 * ORTE_ERR_UNREACH: the server is gone. */
#ifndef BOOTSTRAP_PMIX_MODULE_H
#define BOOTSTRAP_PMIX_MODULE_H

#include <keel/types.h>

#define PMIX_CLIENT_FILE "keel-bootstrap-pmix.so"
#define PMIX_CLIENT_ENTRY "keel_bootstrap_pmix"
#define PMIX_NSPACE_TEXT 256
#define PMIX_RANKS_MAX (1u << 20)

/* What the server says of this process and its job. */
struct pmix_view {
    char nspace[PMIX_NSPACE_TEXT];
    uint32_t rank, size; /* rank < size <= PMIX_RANKS_MAX */
    char **hosts;        /* owned, by rank: the node's name; NULL: the server does not say */
};
void pmix_view_fini(struct pmix_view *view);

struct pmix_answer {
    int status;
    const char *text; /* libpmix's word for it, static */
    const void *data; /* borrowed for the call */
    size_t size;
};
typedef void pmix_answer_fn(void *arg, const struct pmix_answer *answer);

/* A question that is open. Whoever asked drops it, once. */
struct pmix_ticket;

struct pmix_calls {
    /* Joins the job; blocks. Once in the life of a process: ORTE_ERR_PERM after that, and in the
     * children of one that has joined. On an error nothing is to be left. */
    int (*join)(struct pmix_view *view, char *reason, size_t reason_size);
    /* Puts bytes under a key of mine, for all processes of the job or only those of my node; others
     * see them after commit and a fence. */
    int (*put)(const char *key, const void *data, size_t size, bool local_only);
    int (*commit)(void);
    /* Asks to be told when all processes of the job have come; collect: what they committed is then
     * at every server. *ticket is written before the answer can come. */
    int (*fence)(bool collect, pmix_answer_fn *answer, void *arg, struct pmix_ticket **ticket);
    /* Asks for what rank has put, or will put. The server is told to wait no longer than timeout_s,
     * and may not care. (Asking it not to wait at all makes it miss what is there.) */
    int (*get)(uint32_t rank, const char *key, unsigned timeout_s, pmix_answer_fn *answer,
               void *arg, struct pmix_ticket **ticket);
    /* True: no answer has come, and none will. */
    bool (*drop)(struct pmix_ticket *ticket);
    /* lost is called when the server is gone; NULL: no more, and none under way. */
    void (*watch)(void (*lost)(void *arg), void *arg);
    /* Asks the server to remove a folder with all in it when the job has ended. */
    void (*clean)(const char *folder);
    /* Has the server end the job with this status; blocks, and may return. */
    void (*abort)(int status, const char *reason);
    /* Leaves the job; blocks. */
    void (*leave)(void);
};

typedef const struct pmix_calls *pmix_calls_entry(void);

#endif
