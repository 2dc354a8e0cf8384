/* values RANKS PER_NODE: every key that a job and its ranks are told, on nodes with as many ranks
 * each. */
#include "pmix_test.h"

static uint32_t per_node;

static const char *get_text(const char *key, pmix_rank_t rank)
{
    pmix_proc_t proc = proc_of(rank);
    pmix_value_t *value = NULL;
    expect(PMIX_SUCCESS, PMIx_Get(&proc, key, NULL, 0, &value), key);
    check(value->type == PMIX_STRING && value->data.string, key);
    return value->data.string; /* kept */
}

static void check_job(uint32_t ranks)
{
    check(size == ranks, "PMIX_JOB_SIZE");
    check(get_number(PMIX_MAX_PROCS, PMIX_RANK_WILDCARD) == ranks, "PMIX_MAX_PROCS");
    check(get_number(PMIX_UNIV_SIZE, PMIX_RANK_WILDCARD) >= ranks, "PMIX_UNIV_SIZE");
    check(get_number(PMIX_NUM_NODES, PMIX_RANK_WILDCARD) == ranks / per_node, "PMIX_NUM_NODES");
    check(get_number(PMIX_JOB_NUM_APPS, PMIX_RANK_WILDCARD) == 1, "PMIX_JOB_NUM_APPS");
    check(get_number(PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD) == per_node, "PMIX_LOCAL_SIZE");
    check(strcmp(get_text(PMIX_JOBID, PMIX_RANK_WILDCARD), me.nspace) == 0, "PMIX_JOBID");
    check(strstr(get_text(PMIX_NSDIR, PMIX_RANK_WILDCARD), me.nspace), "PMIX_NSDIR");
    check(access(get_text(PMIX_TMPDIR, PMIX_RANK_WILDCARD), W_OK) == 0, "PMIX_TMPDIR");
}

static void check_rank(uint32_t rank)
{
    char peers[4096] = "", name[32];
    uint32_t node = rank / per_node;
    for (uint32_t peer = node * per_node; peer < (node + 1) * per_node; peer++) {
        snprintf(name, sizeof(name), "%s%u", peers[0] ? "," : "", peer);
        strncat(peers, name, sizeof(peers) - strlen(peers) - 1);
    }
    check(get_number(PMIX_LOCAL_RANK, rank) == rank % per_node, "PMIX_LOCAL_RANK");
    check(get_number(PMIX_NODE_RANK, rank) == rank % per_node, "PMIX_NODE_RANK");
    check(get_number(PMIX_GLOBAL_RANK, rank) == rank, "PMIX_GLOBAL_RANK");
    check(get_number(PMIX_APP_RANK, rank) == rank, "PMIX_APP_RANK");
    check(get_number(PMIX_APPNUM, rank) == 0, "PMIX_APPNUM");
    check(get_number(PMIX_REINCARNATION, rank) == 0, "PMIX_REINCARNATION");
    if (node == me.rank / per_node) { /* libpmix 4.2.2 does not find that of another node */
        check(get_number(PMIX_NODEID, rank) == node, "PMIX_NODEID");
        check(strcmp(get_text(PMIX_HOSTNAME, rank), getenv("PMIX_HOSTNAME")) == 0, "PMIX_HOSTNAME");
        check(strcmp(get_text(PMIX_LOCAL_PEERS, PMIX_RANK_WILDCARD), peers) == 0,
              "PMIX_LOCAL_PEERS");
    }
}

int main(int argc, char **argv)
{
    check(argc == 3, "arguments");
    per_node = (uint32_t) atoi(argv[2]);
    begin();
    check_job((uint32_t) atoi(argv[1]));
    for (uint32_t rank = 0; rank < size; rank++) {
        check_rank(rank);
    }
    return end("values");
}
