/* Events: those of local processes go to every other daemon, which gives them to its own. */
#include <config.h>

#include <launcher/pmix/module_internal.h>

#include <stdlib.h>
#include <string.h>

struct outgoing {
    struct loop_task task;
    pmix_byte_object_t bytes;
};

enum { EVENT_INFO_MAX = 1024 };

/* --- out --- */

static bool pack(pmix_byte_object_t *bytes, pmix_status_t code, const pmix_proc_t *source,
                 pmix_data_range_t range, pmix_info_t info[], size_t count)
{
    pmix_data_buffer_t buffer;
    pmix_proc_t proc = *source;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    bool good = PMIx_Data_pack(NULL, &buffer, &code, 1, PMIX_STATUS) == PMIX_SUCCESS &&
                PMIx_Data_pack(NULL, &buffer, &proc, 1, PMIX_PROC) == PMIX_SUCCESS &&
                PMIx_Data_pack(NULL, &buffer, &range, 1, PMIX_DATA_RANGE) == PMIX_SUCCESS &&
                PMIx_Data_pack(NULL, &buffer, &count, 1, PMIX_SIZE) == PMIX_SUCCESS &&
                (count == 0 ||
                 PMIx_Data_pack(NULL, &buffer, info, (int32_t) count, PMIX_INFO) == PMIX_SUCCESS) &&
                PMIx_Data_unload(&buffer, bytes) == PMIX_SUCCESS;
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    return good;
}

static void run_notify(struct loop_task *task)
{
    struct outgoing *event = container_of(task, struct outgoing, task);
    pmix_host->notify(pmix_host->arg, event->bytes.bytes, event->bytes.size);
    free(event->bytes.bytes);
    free(event);
}

/* done is never called: libpmix 4.2.2 has forgotten its argument by the time that an upcall returns
 * which would do so later. */
pmix_status_t up_notify(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                        pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    (void) done;
    (void) cbdata;
    if (range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL || range == PMIX_RANGE_RM) {
        return PMIX_OPERATION_SUCCEEDED; /* libpmix has told the local processes */
    }
    struct outgoing *event = calloc(1, sizeof(*event));
    if (!event || info_count > EVENT_INFO_MAX ||
        !pack(&event->bytes, code, source, range, info, info_count)) {
        free(event);
        return PMIX_ERR_PACK_FAILURE;
    }
    event->task.run = run_notify;
    module_post(&event->task);
    return PMIX_OPERATION_SUCCEEDED;
}

/* Every event goes everywhere, so nothing has to be remembered. */
pmix_status_t up_register_events(pmix_status_t *codes, size_t count, const pmix_info_t info[],
                                 size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    (void) codes;
    (void) count;
    (void) info;
    (void) info_count;
    (void) done;
    (void) cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t up_deregister_events(pmix_status_t *codes, size_t count, pmix_op_cbfunc_t done,
                                   void *cbdata)
{
    (void) codes;
    (void) count;
    (void) done;
    (void) cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

/* --- in --- */

/* What libpmix borrows until it has told everybody. */
struct delivery {
    struct work work;
    pmix_byte_object_t bytes; /* owned: the packed event */
    pmix_info_t *info;
    size_t count;
};

static void delivered(pmix_status_t status, void *cbdata)
{
    (void) status;
    struct delivery *delivery = cbdata;
    if (delivery->info) {
        PMIX_INFO_FREE(delivery->info, delivery->count);
    }
    free(delivery->bytes.bytes);
    free(delivery);
}

static void deliver(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                    struct delivery *delivery)
{
    pmix_status_t status = PMIx_Notify_event(code, source, range, delivery->info, delivery->count,
                                             delivered, delivery);
    if (status != PMIX_SUCCESS) {
        delivered(status, delivery);
    }
}

static bool unpack(pmix_data_buffer_t *buffer, pmix_status_t *code, pmix_proc_t *source,
                   pmix_data_range_t *range, struct delivery *delivery)
{
    int32_t one = 1;
    size_t count = 0;
    if (PMIx_Data_unpack(NULL, buffer, code, &one, PMIX_STATUS) != PMIX_SUCCESS ||
        PMIx_Data_unpack(NULL, buffer, source, &one, PMIX_PROC) != PMIX_SUCCESS ||
        PMIx_Data_unpack(NULL, buffer, range, &one, PMIX_DATA_RANGE) != PMIX_SUCCESS ||
        PMIx_Data_unpack(NULL, buffer, &count, &one, PMIX_SIZE) != PMIX_SUCCESS ||
        count > EVENT_INFO_MAX) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    PMIX_INFO_CREATE(delivery->info, count);
    delivery->count = count;
    int32_t wanted = (int32_t) count;
    return delivery->info &&
           PMIx_Data_unpack(NULL, buffer, delivery->info, &wanted, PMIX_INFO) == PMIX_SUCCESS;
}

static void read_event(struct work *work)
{
    struct delivery *delivery = container_of(work, struct delivery, work);
    pmix_data_buffer_t buffer;
    pmix_status_t code;
    pmix_proc_t source;
    pmix_data_range_t range;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    if (PMIx_Data_load(&buffer, &delivery->bytes) == PMIX_SUCCESS &&
        unpack(&buffer, &code, &source, &range, delivery)) {
        deliver(code, &source, range, delivery);
    } else {
        module_log(true, "an event of another node cannot be read");
        delivered(PMIX_ERR_UNPACK_FAILURE, delivery);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

void take_event(const void *event, size_t size)
{
    struct delivery *delivery = calloc(1, sizeof(*delivery));
    char *bytes = delivery ? malloc(size ? size : 1) : NULL;
    if (!bytes) {
        free(delivery);
        return;
    }
    memcpy(bytes, event, size);
    delivery->bytes = (pmix_byte_object_t){bytes, size};
    delivery->work.run = read_event;
    worker_do(&delivery->work);
}

/* --- ranks that fail --- */

struct failure {
    struct work work;
    pmix_proc_t rank;
};

static void tell_failure(struct work *work)
{
    struct failure *failure = container_of(work, struct failure, work);
    struct delivery *delivery = calloc(1, sizeof(*delivery));
    struct outgoing *event = calloc(1, sizeof(*event));
    pmix_proc_t rank = failure->rank;
    free(failure);
    if (delivery) {
        PMIX_INFO_CREATE(delivery->info, 1);
        delivery->count = 1;
    }
    if (!delivery || !delivery->info || !event) {
        free(delivery);
        free(event);
        return;
    }
    PMIX_INFO_LOAD(&delivery->info[0], PMIX_EVENT_AFFECTED_PROC, &rank, PMIX_PROC);
    if (pack(&event->bytes, PMIX_ERR_PROC_ABORTED, &rank, PMIX_RANGE_NAMESPACE, delivery->info,
             1)) {
        event->task.run = run_notify;
        module_post(&event->task);
    } else {
        free(event);
    }
    deliver(PMIX_ERR_PROC_ABORTED, &rank, PMIX_RANGE_NAMESPACE, delivery);
}

void rank_failed(const pmix_proc_t *rank)
{
    struct failure *failure = calloc(1, sizeof(*failure));
    if (failure) {
        failure->work.run = tell_failure;
        failure->rank = *rank;
        worker_do(&failure->work);
    }
}
