/* Publish, lookup and unpublish: now, later, in vain, once, and for whom. */
#include "pmix_test.h"

static pmix_status_t publish(const char *key, uint32_t number, pmix_data_range_t range,
                             pmix_persistence_t persistence)
{
    pmix_info_t info[3];
    PMIX_INFO_LOAD(&info[0], key, &number, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    PMIX_INFO_LOAD(&info[2], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    return PMIx_Publish(info, 3);
}

/* timeout 0: what is there now; else it waits. */
static pmix_status_t lookup(const char *key, int timeout, uint32_t *number, pmix_proc_t *publisher)
{
    bool wait = true;
    pmix_pdata_t found;
    pmix_info_t info[2];
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, key);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &wait, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout, PMIX_INT);
    pmix_status_t status = PMIx_Lookup(&found, 1, info, timeout > 0 ? 2 : 0);
    if (status == PMIX_SUCCESS) {
        check(found.value.type == PMIX_UINT32, "the type of what was found");
        *number = found.value.data.uint32;
        *publisher = found.proc;
    }
    return status;
}

static void name_of(char *key, size_t key_size, const char *what, uint32_t rank)
{
    snprintf(key, key_size, "test.%s.%u", what, rank);
}

/* Each waits for what its successor publishes when it feels like it. */
static void wait_for_names(void)
{
    char mine[64], its[64];
    uint32_t next = (me.rank + 1) % size, number = 0;
    pmix_proc_t publisher;
    name_of(mine, sizeof(mine), "late", me.rank);
    name_of(its, sizeof(its), "late", next);
    if (me.rank % 2 == 1) {
        usleep(200000);
    }
    expect(PMIX_SUCCESS, publish(mine, 100 + me.rank, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION),
           "publish");
    expect(PMIX_SUCCESS, lookup(its, 20, &number, &publisher), "a lookup that waits");
    check(number == 100 + next && publisher.rank == next, "what was waited for");
}

static void look_in_vain(void)
{
    uint32_t number;
    pmix_proc_t publisher;
    expect(PMIX_ERR_NOT_FOUND, lookup("test.nothing", 0, &number, &publisher), "nothing there");
    if (me.rank == 0) {
        expect(PMIX_ERR_TIMEOUT, lookup("test.nothing", 1, &number, &publisher), "nothing comes");
    }
}

static void take_back(void)
{
    char mine[64], *keys[] = {mine, NULL};
    uint32_t number;
    pmix_proc_t publisher;
    name_of(mine, sizeof(mine), "late", me.rank);
    expect(PMIX_ERR_DUPLICATE_KEY, publish(mine, 1, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION),
           "the same twice");
    expect(PMIX_SUCCESS, PMIx_Unpublish(keys, NULL, 0), "unpublish");
    expect(PMIX_ERR_NOT_FOUND, lookup(mine, 0, &number, &publisher), "taken back");
}

static void read_once(void)
{
    uint32_t number;
    pmix_proc_t publisher;
    if (me.rank == 0) {
        expect(PMIX_SUCCESS, publish("test.once", 7, PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ),
               "publish once");
        expect(PMIX_SUCCESS, lookup("test.once", 0, &number, &publisher), "the first time");
        check(number == 7, "its value");
        expect(PMIX_ERR_NOT_FOUND, lookup("test.once", 0, &number, &publisher), "the second time");
    }
}

/* For oneself, and for one's node. */
static void ranges(void)
{
    uint32_t number = 0;
    pmix_proc_t publisher, first = proc_of(0);
    pmix_value_t *host = NULL;
    expect(PMIX_SUCCESS, publish("test.mine", me.rank, PMIX_RANGE_PROC_LOCAL, PMIX_PERSIST_PROC),
           "publish for oneself");
    expect(PMIX_SUCCESS, lookup("test.mine", 0, &number, &publisher), "one's own");
    check(number == me.rank && publisher.rank == me.rank, "one's own value");
    if (me.rank == 0) {
        expect(PMIX_SUCCESS, publish("test.node", 5, PMIX_RANGE_LOCAL, PMIX_PERSIST_SESSION),
               "publish for a node");
    }
    fence();
    expect(PMIX_SUCCESS, PMIx_Get(&first, PMIX_HOSTNAME, NULL, 0, &host), "rank 0's node");
    bool near = strcmp(host->data.string, getenv("PMIX_HOSTNAME")) == 0;
    PMIX_VALUE_RELEASE(host);
    expect(near ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, lookup("test.node", 0, &number, &publisher),
           "a node's");
    expect(PMIX_ERR_BAD_PARAM, publish("test.custom", 1, PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION),
           "a range that is not served");
}

int main(void)
{
    begin();
    wait_for_names();
    look_in_vain();
    fence();
    take_back();
    read_once();
    ranges();
    return end("names");
}
