/* The endpoints of a module, by peer. The memory of an endpoint is zero and not touched before the
 * module does so, hence a peer that is never used costs its entry here: some 30 bytes. One thread
 * at a time. */
#ifndef BTL_ROSTER_H
#define BTL_ROSTER_H

#include <keel/types.h>

struct roster;

struct roster_entry {
    orte_process_name_t name;
    opal_proc_t *proc; /* borrowed; NULL: the peer came by itself */
    uint32_t next;     /* the roster's */
    uint32_t added;    /* how often it was added: btl/peers/procs.c's */
};

/* endpoint_bytes: of each endpoint, which begins at a cache line. */
struct roster *roster_create(size_t endpoint_bytes);
/* Frees all endpoints. */
void roster_destroy(struct roster *roster);
/* A new endpoint, all zero. NULL: no memory. */
void *roster_add(struct roster *roster, const orte_process_name_t *name, opal_proc_t *proc);
/* NULL: none, or it was forgotten. */
void *roster_find(const struct roster *roster, const orte_process_name_t *name);
/* What stands there of an endpoint of this roster. Valid until it is removed. */
struct roster_entry *roster_entry(const struct roster *roster, const void *endpoint);
/* Its count; NULL: it is no endpoint that can be found. It may be any pointer. */
uint32_t *roster_added(const struct roster *roster, const void *endpoint);
/* An endpoint's number, which stays the same until it is removed; UINT32_MAX of any other pointer.
 * roster_at returns the endpoint, or NULL if none that can be found has this number, which may come
 * from a wire. */
uint32_t roster_number(const struct roster *roster, const void *endpoint);
void *roster_at(const struct roster *roster, uint32_t number);
/* It is no longer found, and another one of the same name may be added; its memory stays. */
void roster_forget(struct roster *roster, void *endpoint);
/* Its memory may be used again. touched: something was written to it. */
void roster_remove(struct roster *roster, void *endpoint, bool touched);

#endif
