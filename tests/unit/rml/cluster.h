/* Several RMLs in one process, each with its own loop thread: daemons and ranks of one job family.
 * Everything here fails the test instead of returning an error, and waits for at most WAIT_S. */
#ifndef TESTS_UNIT_RML_CLUSTER_H
#define TESTS_UNIT_RML_CLUSTER_H

#include <rml/calls/calls.h>
#include <rml/state/state.h>
#include <semaphore.h>

enum { WAIT_S = 9, NODES_MAX = 8 };

#define DAEMON(vpid) ((orte_process_name_t){0x50000, (vpid)})
#define RANK(vpid) ((orte_process_name_t){0x50001, (vpid)})

struct node {
    struct loop *loop;
    struct rml *rml;
    orte_process_name_t name;
    char *contact; /* of its listener; NULL: none */
    sem_t ups;     /* posted for each link that comes up */
    sem_t downs;
    int link_status; /* of the last one that came up or went down */
};

enum node_kind { NODE_DAEMON, NODE_DAEMON_TCP, NODE_RANK };

void cluster_begin(void);
void cluster_end(void); /* removes what cluster_begin made; the nodes are closed before */

void node_open(struct node *node, enum node_kind kind, orte_process_name_t name, uint32_t radix);
void node_close(struct node *node);
/* Makes a link: of a rank to its daemon, which becomes its default route, or between daemons. Both
 * ends have it when it returns. */
void node_link(struct node *from, struct node *to);
/* Ranks 0 (a) and 1 (b) at one daemon. */
void star_open(struct node *daemon, struct node *a, struct node *b);
void star_close(struct node *daemon, struct node *a, struct node *b);
/* rank 0 (a) - daemon 0 - daemon 1 - daemon 2 - rank 1 (b), TCP between the daemons. */
void chain_open(struct node daemons[3], struct node *a, struct node *b);
/* Also for fewer daemons: those that were not opened are passed over. */
void chain_close(struct node daemons[3], struct node *a, struct node *b);
/* Runs work on a node's loop and waits for it. */
void node_on_loop(struct node *node, void (*work)(struct node *node, void *arg), void *arg);
void wait_sem(sem_t *sem);
/* Runs a rank's callbacks until *done; fails the test after WAIT_S. */
void wait_done(struct node *node, const bool *done);
uint64_t count_of(struct node *node, const uint64_t *counter);
/* Bytes that a node sent to another as messages and that have not arrived. */
uint64_t bytes_to(struct node *node, const struct node *peer);
/* Polls a counter of a node until it has a value. */
void wait_count(struct node *node, const uint64_t *counter, uint64_t value);

/* A pattern that depends on a seed, for bytes that can be checked without a copy. */
void fill(void *data, size_t size, uint32_t seed);
bool filled(const void *data, size_t size, uint32_t seed);
/* A message of such bytes, sent or received by the calling thread. */
void send_filled(struct node *from, const struct node *to, orte_rml_tag_t tag, size_t size,
                 uint32_t seed);
void receive_filled(struct node *at, const orte_process_name_t *from, orte_rml_tag_t tag,
                    size_t size, uint32_t seed);

#endif
