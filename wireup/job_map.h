/* What every daemon and every rank of a job knows about it. */
#ifndef WIREUP_JOB_MAP_H
#define WIREUP_JOB_MAP_H

#include <base/data/crypto.h>
#include <keel/buffer.h>
#include <keel/types.h>

#define JOB_UUID_TEXT 33 /* 32 hex digits and the end */

/* A new job's id, random, and the jobid of its family's daemons. crypto_open was called. */
orte_jobid_t job_uuid_make(char uuid[JOB_UUID_TEXT]);

/* The jobid of the daemons of a family that two (random) bytes name: never 0, nor the last, which
 * wildcards use. */
static inline orte_jobid_t job_family_of(const uint8_t bits[2])
{
    return (1 + ((uint32_t) bits[0] << 8 | bits[1]) % 0xfffeu) << 16;
}

static inline bool job_uuid_ok(const char *text)
{
    uint8_t bits[(JOB_UUID_TEXT - 1) / 2];
    return crypto_from_hex(bits, sizeof(bits), text) == ORTE_SUCCESS;
}

struct job_map {
    orte_jobid_t jobid;
    char uuid[JOB_UUID_TEXT]; /* JOB: 128 random bits in hex */
    uint8_t app_key[KEY_BYTES];
    uint32_t size; /* ranks */
    uint32_t node_count;
    char **node_names;        /* owned */
    uint32_t *daemon_of_node; /* owned: the vpid of the daemon that serves it */
    uint32_t *node_of;        /* owned, by rank */
    uint32_t *local_rank_of;  /* owned, by rank */
};

int job_map_pack(opal_buffer_t *buffer, const struct job_map *map) KEEL_MUST_CHECK;
/* Checks every count and index before anything is allocated; on error map is untouched. */
int job_map_unpack(opal_buffer_t *buffer, struct job_map *map) KEEL_MUST_CHECK;
void job_map_fini(struct job_map *map); /* wipes the key */

/* The environment of a rank, written by the launcher and read by bootstrap/env.c. */
#define ENV_JOB "KEEL_JOB"     /* the UUID */
#define ENV_JOBID "KEEL_JOBID" /* decimal */
#define ENV_RANK "KEEL_RANK"
#define ENV_SIZE "KEEL_SIZE"
#define ENV_LOCAL_RANK "KEEL_LOCAL_RANK"
#define ENV_LOCAL_SIZE "KEEL_LOCAL_SIZE"
#define ENV_NODE "KEEL_NODE" /* the node's name */
#define ENV_NODE_ID "KEEL_NODE_ID"
#define ENV_APP "KEEL_APP"                 /* which of the job's programs */
#define ENV_DAEMON "KEEL_DAEMON"           /* the daemon's contact string */
#define ENV_HNP "KEEL_HNP"                 /* keelrun's */
#define ENV_SESSION_DIR "KEEL_SESSION_DIR" /* this node's and job's folder */
#define ENV_YIELD "KEEL_YIELD"             /* 1: more ranks than processors; empty polls yield */
#define ENV_PMIX_NSPACE "PMIX_NAMESPACE"   /* a PMIx server's, as ENV_PMIX_RANK is */
#define ENV_PMIX_RANK "PMIX_RANK"
#define ENV_BOUND "KEEL_BOUND" /* 1: keelrun bound this rank */

#endif
