/* What processes of a job have published: kept by one daemon for all. Pure. */
#ifndef LAUNCHER_PMIX_EXCHANGE_PUBLISHED_H
#define LAUNCHER_PMIX_EXCHANGE_PUBLISHED_H

#include <launcher/pmix/pmix_module.h>

struct published;

#define PUBLISHED_BYTES_MAX (64u << 20) /* keys and values together */

/* Who publishes or looks. */
struct publish_party {
    pmix_proc_t rank;
    uint32_t daemon; /* of its node */
};

struct published *published_create(void); /* NULL: no memory */
void published_destroy(struct published *published);
/* PMIX_ERR_DUPLICATE_KEY: somebody has published it for a range that meets this one;
 * PMIX_ERR_OUT_OF_RESOURCE: memory, or PUBLISHED_BYTES_MAX; PMIX_ERR_BAD_PARAM: an empty key, or a
 * range that is not served. */
pmix_status_t published_add(struct published *published, const struct publish_party *publisher,
                            struct pmix_scope scope, const struct pmix_item *item);
/* What this process may see under a key; found borrows from it until the next call. */
bool published_find(struct published *published, const struct publish_party *seeker,
                    pmix_data_range_t range, const char *key, struct pmix_found *found);
/* It was handed out: forgets it if it was to be read once. */
void published_was_read(struct published *published, const struct pmix_found *found);
/* Removes what this process published under a key; NULL: everything of its. */
void published_remove(struct published *published, const pmix_proc_t *publisher, const char *key);

#endif
