/* Publish, lookup, unpublish: the values are packed here, and kept by one daemon (data_server.c).
 */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <stdlib.h>
#include <string.h>

struct request {
    struct loop_task task;
    pmix_proc_t rank;
    struct pmix_scope scope;
    struct pmix_item *items; /* owned, like their values; the keys are libpmix's */
    size_t item_count;
    char **keys; /* libpmix's, until it is answered */
    uint32_t wait, timeout_s;
    struct answer answer; /* of a lookup: owned entries as in module.h */
    struct work work;
    pmix_op_cbfunc_t done;
    void *cbdata;
    struct inside_task inside; /* of a lookup, as is this */
    pmix_lookup_cbfunc_t found;
};

static void request_free(struct request *request)
{
    for (size_t i = 0; i < request->item_count; i++) {
        free((void *) request->items[i].value);
    }
    free(request->items);
    free(request->answer.data);
    free(request);
}

static struct request *request_new(void (*run)(struct loop_task *task), const pmix_proc_t *rank,
                                   void *cbdata)
{
    struct request *request = calloc(1, sizeof(*request));
    if (request) {
        request->task.run = run;
        request->rank = *rank;
        request->scope = (struct pmix_scope){PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION};
        request->cbdata = cbdata;
    }
    return request;
}

/* Is it about the request rather than something to publish? */
static bool take_directive(struct request *request, const pmix_info_t *info, uint32_t key_count)
{
    if (PMIX_CHECK_KEY(info, PMIX_RANGE)) {
        request->scope.range = info->value.data.range;
    } else if (PMIX_CHECK_KEY(info, PMIX_PERSISTENCE)) {
        request->scope.persistence = info->value.data.persist;
    } else if (PMIX_CHECK_KEY(info, PMIX_WAIT)) { /* 0 or no number: all */
        uint32_t wait = 0;
        (void) module_number(&info->value, &wait);
        request->wait = wait > 0 && wait < key_count ? wait : key_count;
    } else if (PMIX_CHECK_KEY(info, PMIX_TIMEOUT)) {
        (void) module_number(&info->value, &request->timeout_s);
    } else {
        return PMIX_CHECK_KEY(info, PMIX_USERID) || PMIX_CHECK_KEY(info, PMIX_GRPID);
    }
    return true;
}

static void answer_request(struct work *work)
{
    struct request *request = container_of(work, struct request, work);
    request->done(request->answer.status, request->cbdata);
    request_free(request);
}

static void answered(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct request *request = arg;
    (void) data;
    (void) size;
    request->answer.status = status;
    request->work.run = answer_request;
    worker_do(&request->work);
}

/* --- publish --- */

static bool pack_value(struct pmix_item *item, const pmix_info_t *info)
{
    pmix_data_buffer_t buffer;
    pmix_byte_object_t bytes = {NULL, 0};
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    pmix_value_t *value = (pmix_value_t *) &info->value; /* only read */
    bool packed = PMIx_Data_pack(NULL, &buffer, value, 1, PMIX_VALUE) == PMIX_SUCCESS &&
                  PMIx_Data_unload(&buffer, &bytes) == PMIX_SUCCESS;
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    if (packed) {
        *item = (struct pmix_item){info->key, bytes.bytes, bytes.size};
    }
    return packed;
}

static void run_publish(struct loop_task *task)
{
    struct request *request = container_of(task, struct request, task);
    pmix_host->publish(pmix_host->arg, &request->rank, request->scope, request->items,
                       request->item_count, answered, request);
}

pmix_status_t up_publish(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                         pmix_op_cbfunc_t done, void *cbdata)
{
    struct request *request = request_new(run_publish, rank, cbdata);
    if (!request) {
        return PMIX_ERR_NOMEM;
    }
    request->done = done;
    request->items = calloc(info_count + 1, sizeof(*request->items));
    bool good = request->items != NULL;
    for (size_t i = 0; i < info_count && good; i++) {
        if (!take_directive(request, &info[i], 0)) {
            good = pack_value(&request->items[request->item_count], &info[i]);
            request->item_count += good;
        }
    }
    if (!good || request->item_count == 0) {
        request_free(request);
        return good ? PMIX_ERR_BAD_PARAM : PMIX_ERR_NOMEM;
    }
    module_post(&request->task);
    return PMIX_SUCCESS;
}

/* --- lookup --- */

static bool unpack_value(pmix_value_t *value, const void *data, size_t size)
{
    pmix_data_buffer_t buffer;
    pmix_byte_object_t bytes = {malloc(size ? size : 1), size};
    int32_t count = 1;
    if (!bytes.bytes) {
        return false;
    }
    memcpy(bytes.bytes, data, size);
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    bool good = PMIx_Data_load(&buffer, &bytes) == PMIX_SUCCESS &&
                PMIx_Data_unpack(NULL, &buffer, value, &count, PMIX_VALUE) == PMIX_SUCCESS;
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    return good;
}

static size_t count_found(const void *data, size_t size)
{
    const uint8_t *at = data;
    struct pmix_found found;
    size_t count = 0;
    while (pmix_found_next(&at, &size, &found)) {
        count++;
    }
    return count;
}

static pmix_status_t unpack_found(const struct request *request, pmix_pdata_t *results,
                                  size_t count)
{
    const uint8_t *at = request->answer.data;
    size_t size = request->answer.size;
    struct pmix_found found;
    for (size_t i = 0; i < count && pmix_found_next(&at, &size, &found); i++) {
        results[i].proc = found.publisher;
        PMIX_LOAD_KEY(results[i].key, found.key);
        if (!unpack_value(&results[i].value, found.value, found.size)) {
            return PMIX_ERR_UNPACK_FAILURE;
        }
    }
    return PMIX_SUCCESS;
}

static void answer_lookup(struct inside_task *task, bool alive)
{
    struct request *request = container_of(task, struct request, inside);
    pmix_status_t status = request->answer.status;
    pmix_pdata_t *results = NULL;
    size_t count =
        status == PMIX_SUCCESS ? count_found(request->answer.data, request->answer.size) : 0;
    if (count > 0) {
        PMIX_PDATA_CREATE(results, count);
        status = results ? unpack_found(request, results, count) : PMIX_ERR_NOMEM;
    }
    if (alive) {
        bool good = status == PMIX_SUCCESS;
        request->found(status, good ? results : NULL, good ? count : 0, request->cbdata);
    }
    if (results) {
        PMIX_PDATA_FREE(results, count);
    }
    request_free(request);
}

static void looked_up(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct request *request = arg;
    request->answer = module_copy(status, data, size);
    request->inside.run = answer_lookup;
    worker_do_inside(&request->inside);
}

static void run_lookup(struct loop_task *task)
{
    struct request *request = container_of(task, struct request, task);
    pmix_host->lookup(pmix_host->arg, &request->rank, request->scope.range, request->keys,
                      request->wait, request->timeout_s, looked_up, request);
}

static uint32_t count_keys(char **keys)
{
    uint32_t count = 0;
    while (keys && keys[count]) {
        count++;
    }
    return count;
}

pmix_status_t up_lookup(const pmix_proc_t *rank, char **keys, const pmix_info_t info[],
                        size_t info_count, pmix_lookup_cbfunc_t done, void *cbdata)
{
    struct request *request = request_new(run_lookup, rank, cbdata);
    if (!request) {
        return PMIX_ERR_NOMEM;
    }
    request->found = done;
    request->keys = keys;
    for (size_t i = 0; i < info_count; i++) {
        (void) take_directive(request, &info[i], count_keys(keys));
    }
    module_post(&request->task);
    return PMIX_SUCCESS;
}

/* --- unpublish --- */

static void run_unpublish(struct loop_task *task)
{
    struct request *request = container_of(task, struct request, task);
    pmix_host->unpublish(pmix_host->arg, &request->rank, request->keys, answered, request);
}

pmix_status_t up_unpublish(const pmix_proc_t *rank, char **keys, const pmix_info_t info[],
                           size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    (void) info;
    (void) info_count;
    struct request *request = request_new(run_unpublish, rank, cbdata);
    if (!request) {
        return PMIX_ERR_NOMEM;
    }
    request->done = done;
    request->keys = keys;
    module_post(&request->task);
    return PMIX_SUCCESS;
}
