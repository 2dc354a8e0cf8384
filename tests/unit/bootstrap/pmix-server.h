/* A PMIx server and its client library in one process, in place of the module: what ranks put, get
 * and wait for, answered by a thread as libpmix does; and what a bad server does. */
#ifndef TESTS_UNIT_BOOTSTRAP_PMIX_SERVER_H
#define TESTS_UNIT_BOOTSTRAP_PMIX_SERVER_H

#include <bootstrap/pmix/module.h>

enum { SERVER_RANKS_MAX = 8 };

/* What becomes of a question for what nobody has put. */
enum server_missing { MISSING_NOT_FOUND, MISSING_TIMEOUT, MISSING_SILENT };

extern const struct pmix_calls server_calls;

void server_begin(uint32_t ranks);
void server_end(void);
/* The calling thread is this rank's from now on. */
void server_be(uint32_t rank);

void server_set_missing(enum server_missing missing);
/* The fence of this number, and all after it, ends so; ORTE_ERROR: without an answer. */
void server_fail_fence(unsigned number, int status);
/* What is found in place of what rank has put, or will put, under a key; NULL: nothing. */
void server_replace(uint32_t rank, const char *key, const void *data, size_t size);
/* The connection breaks for all ranks. */
void server_lose(void);

unsigned server_fences(void);     /* passed */
unsigned server_collecting(void); /* of them, those that collect */
unsigned server_gets(void);
/* What a rank has put; NULL: nothing. */
const void *server_find(uint32_t rank, const char *key, size_t *size);

#endif
