/* Events: those of local processes go to every other daemon, which gives them to its own. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <pthread.h>
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

/* What libpmix borrows until it has told everybody, or ends. */
struct delivery {
    struct work work;
    struct list link;         /* of deliveries */
    pmix_byte_object_t bytes; /* owned: the packed event */
    pmix_info_t *info;
    size_t count;
};

static pthread_mutex_t deliveries_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list deliveries = LIST_INIT(deliveries); /* guarded by deliveries_lock */

static struct delivery *delivery_new(void)
{
    struct delivery *delivery = calloc(1, sizeof(*delivery));
    if (delivery) {
        pthread_mutex_lock(&deliveries_lock);
        list_append(&deliveries, &delivery->link);
        pthread_mutex_unlock(&deliveries_lock);
    }
    return delivery;
}

static void delivered(pmix_status_t status, void *cbdata)
{
    (void) status;
    struct delivery *delivery = cbdata;
    pthread_mutex_lock(&deliveries_lock);
    list_remove(&delivery->link);
    pthread_mutex_unlock(&deliveries_lock);
    if (delivery->info) {
        PMIX_INFO_FREE(delivery->info, delivery->count);
    }
    free(delivery->bytes.bytes);
    free(delivery);
}

void events_end(void)
{
    while (!list_empty(&deliveries)) {
        delivered(PMIX_SUCCESS, container_of(deliveries.next, struct delivery, link));
    }
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
    struct delivery *delivery = delivery_new();
    char *bytes = delivery ? malloc(size ? size : 1) : NULL;
    if (!bytes) {
        if (delivery) {
            delivered(PMIX_ERR_NOMEM, delivery);
        }
        return;
    }
    memcpy(bytes, event, size);
    delivery->bytes = (pmix_byte_object_t){bytes, size};
    delivery->work.run = read_event;
    worker_do(&delivery->work);
}

/* --- ranks that fail --- */

static void tell_failure(struct work *work)
{
    struct delivery *delivery = container_of(work, struct delivery, work);
    pmix_proc_t rank = *delivery->info[0].value.data.proc;
    deliver(PMIX_ERR_PROC_ABORTED, &rank, PMIX_RANGE_NAMESPACE, delivery);
}

/* To other nodes at once; packing does not wait for libpmix's thread. */
void rank_failed(const pmix_proc_t *rank)
{
    struct delivery *delivery = delivery_new();
    pmix_byte_object_t event;
    if (!delivery) {
        return;
    }
    PMIX_INFO_CREATE(delivery->info, 1);
    if (!delivery->info) {
        delivered(PMIX_ERR_NOMEM, delivery);
        return;
    }
    delivery->count = 1;
    PMIX_INFO_LOAD(&delivery->info[0], PMIX_EVENT_AFFECTED_PROC, rank, PMIX_PROC);
    if (pack(&event, PMIX_ERR_PROC_ABORTED, rank, PMIX_RANGE_NAMESPACE, delivery->info, 1)) {
        pmix_host->notify(pmix_host->arg, event.bytes, event.size);
        free(event.bytes);
    }
    delivery->work.run = tell_failure;
    worker_do(&delivery->work);
}
