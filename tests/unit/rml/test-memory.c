/* What other processes cost a process that does not speak with them: bytes for each idle peer. */
#include "cluster.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

/* For each peer that is known, with what both have said to each other; and for a link to one. */
enum { PEERS = 4096, IDLE_MAX = 1536, LINK_MAX = 80 * 1024, LINKS = 6 };

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static struct node daemon_node, ranks[LINKS];

/* A daemon or rank that has heard of a process has its peer and its session. */
START_TEST(a_peer_without_a_link)
{
    cluster_begin();
    node_open(&daemon_node, NODE_DAEMON, DAEMON(0), 64);
    struct rml *rml = daemon_node.rml;
    size_t before = in_use();
    pthread_mutex_lock(&rml->lock);
    for (uint32_t i = 0; i < PEERS; i++) {
        orte_process_name_t name = RANK(i);
        struct rml_peer *peer = rml_peer_get(&rml->peers, &name);
        ck_assert(peer && rml_session_locked(rml, peer));
    }
    pthread_mutex_unlock(&rml->lock);
    size_t each = (in_use() - before) / PEERS;
    printf("# %zu bytes for an idle peer that is reached over others\n", each);
    ck_assert_uint_le(each, IDLE_MAX);
    node_close(&daemon_node);
    cluster_end();
}
END_TEST

/* Both ends of a link, of which a daemon has one for each of its ranks and neighbours. */
START_TEST(a_peer_with_a_link)
{
    static uint32_t daemon_of[LINKS];
    cluster_begin();
    node_open(&daemon_node, NODE_DAEMON, DAEMON(0), 64);
    ck_assert_int_eq(rml_route_job(daemon_node.rml, 0x50001, LINKS, daemon_of), ORTE_SUCCESS);
    for (uint32_t i = 0; i < LINKS; i++) {
        node_open(&ranks[i], NODE_RANK, RANK(i), 64);
    }
    node_link(&ranks[0], &daemon_node); /* what is made once */
    size_t before = in_use();
    for (uint32_t i = 1; i < LINKS; i++) {
        node_link(&ranks[i], &daemon_node);
    }
    size_t each = (in_use() - before) / (LINKS - 1) / 2;
    printf("# %zu bytes for an end of an idle link and its peer\n", each);
    ck_assert_uint_le(each, LINK_MAX);
    for (uint32_t i = 0; i < LINKS; i++) {
        node_close(&ranks[i]);
    }
    node_close(&daemon_node);
    cluster_end();
}
END_TEST

UNIT_MAIN("rml/memory")
