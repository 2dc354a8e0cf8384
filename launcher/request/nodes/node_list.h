/* The nodes that somebody names, with their slots: by --host, in a hostfile. */
#ifndef LAUNCHER_REQUEST_NODES_NODE_LIST_H
#define LAUNCHER_REQUEST_NODES_NODE_LIST_H

#include <base/data/hash.h>
#include <keel/types.h>

struct node_request {
    char *name;         /* owned */
    char *user;         /* owned: whom the agent is to log in as; NULL: its choice */
    uint32_t slots;     /* 0: not given */
    uint32_t slots_max; /* no more ranks than that, ever; 0: not given */
};

/* All zero: an empty one. */
struct node_list {
    struct node_request *nodes; /* owned */
    size_t count, capacity;
    bool repeats;            /* a host that comes again is another node: set before the first */
    bool relative;           /* "+n3", "+e" and "+e:2" are names */
    struct hash_table names; /* owned, as are its elements */
};

enum { NODE_SLOTS_MAX = 1 << 20, NODES_MAX = 1 << 16 };

/* A whole number from 1 to max, and nothing else. */
bool node_number(const char *text, size_t size, uint32_t max, uint32_t *number);
/* Pure. Adds what words say: HOST or HOST:SLOTS, with commas between them. HOST is a name, has
 * ranges ("n[01-16,20]", hostlist.h), or is an IPv6 address, which stands in brackets where slots
 * follow; "USER@" may stand before it. slots and slots_max are given beside the words, 0: not; a
 * number that differs from slots is an error, and slots_max alone are as many slots. A host that is
 * there brings its slots along; without a number, one. ORTE_ERR_BAD_PARAM: reason says which word,
 * and what is wrong; the words before it were added. */
int node_list_parse(struct node_list *list, const char *words, size_t size, uint32_t slots,
                    uint32_t slots_max, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Adds one as it is, perhaps a second time; the words that are parsed do not find it. Takes the
 * name; NULL stands for one that there was no memory for. */
int node_list_add(struct node_list *list, char *name, uint32_t slots,
                  uint32_t slots_max) KEEL_MUST_CHECK;
/* The nodes, malloc'd, as they are; the list is empty then. */
struct node_request *node_list_take(struct node_list *list) KEEL_MUST_CHECK;
void node_list_fini(struct node_list *list);

/* A host's name or address, or a relative node: "+n3", "+e", "+e:2". */
bool node_name_ok(const char *name);
/* Is it "+e" or "+e:K": all nodes, or K of them, that have no rank yet? wanted: K; UINT32_MAX: all.
 */
bool node_is_empty(const char *name, uint32_t *wanted);
bool node_user_ok(const char *user);

#endif
