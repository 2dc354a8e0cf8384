/* A key-value space: strings, written once, with a limit for all of them. */
#ifndef LAUNCHER_NODE_SERVER_KVS_H
#define LAUNCHER_NODE_SERVER_KVS_H

#include <keel/types.h>

struct kvs;

int kvs_create(struct kvs **kvs, size_t max_bytes) KEEL_MUST_CHECK;
void kvs_destroy(struct kvs *kvs);
/* Copies both. ORTE_EXISTS: the key is there; ORTE_ERR_OUT_OF_RESOURCE: the space is full. */
int kvs_put(struct kvs *kvs, const char *key, const char *value) KEEL_MUST_CHECK;
/* NULL: not there. Borrowed until the key is removed. */
const char *kvs_get(const struct kvs *kvs, const char *key);
int kvs_remove(struct kvs *kvs, const char *key) KEEL_MUST_CHECK; /* ORTE_ERR_NOT_FOUND */

#endif
