/* places: a PMIx client that prints what the server says about it: one line, KEY=VALUE with blanks
 * between. Its affinity, as the kernel says, is the last of them. */
#include <config.h>

#include <pmix.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void show(const pmix_proc_t *who, const char *name, const char *key)
{
    pmix_value_t *value = NULL;
    pmix_info_t optional;
    bool yes = true;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    if (PMIx_Get(who, key, &optional, 1, &value) != PMIX_SUCCESS) {
        printf(" %s=none", name);
        return;
    }
    switch (value->type) {
    case PMIX_STRING:
        printf(" %s=%s", name, value->data.string);
        break;
    case PMIX_UINT16:
        printf(" %s=%u", name, value->data.uint16);
        break;
    case PMIX_UINT32:
        printf(" %s=%u", name, value->data.uint32);
        break;
    case PMIX_PROC_RANK:
        printf(" %s=%u", name, value->data.rank);
        break;
    default:
        printf(" %s=type-%u", name, value->type);
    }
    PMIX_VALUE_RELEASE(value);
}

static void show_affinity(void)
{
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    printf(" affinity=");
    const char *comma = "";
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &cpus)) {
            printf("%s%d", comma, i);
            comma = ",";
        }
    }
}

int main(void)
{
    pmix_proc_t me, all;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) {
        return 1;
    }
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    printf("rank=%u", me.rank);
    show(&me, "local", PMIX_LOCAL_RANK);
    show(&me, "node", PMIX_NODE_RANK);
    show(&me, "nodeid", PMIX_NODEID);
    show(&me, "host", PMIX_HOSTNAME);
    show(&me, "app", PMIX_APPNUM);
    show(&all, "size", PMIX_JOB_SIZE);
    show(&all, "nodes", PMIX_NUM_NODES);
    show(&all, "locals", PMIX_LOCAL_SIZE);
    show(&all, "peers", PMIX_LOCAL_PEERS);
    show(&me, "cpuset", PMIX_CPUSET);
    show(&me, "locality", PMIX_LOCALITY_STRING);
    show_affinity();
    printf("\n");
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
