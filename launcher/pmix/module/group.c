/* Groups: libpmix keeps who is in them and asks for a collective when one is made or ended, with
 * the data of its members and, if they want one, a number for it. Each daemon brings a u64 number,
 * of which the smallest is taken, and the data, which begin with their u64 size; little-endian. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <endian.h>
#include <stdlib.h>
#include <string.h>

struct result {
    pmix_info_t *info; /* owned */
    size_t count;
};

struct group {
    struct loop_task task;
    struct work work;
    pmix_group_operation_t operation;
    struct pmix_meeting meeting; /* its texts and processes are libpmix's, until it is answered */
    bool numbered;               /* a number is wanted */
    uint8_t *brought;            /* owned */
    size_t brought_size;
    pmix_info_cbfunc_t done;
    void *cbdata;
    pmix_status_t status;  /* the answer */
    struct result *result; /* owned by libpmix then; NULL: none */
};

enum { EARLIER_MS = 250 };

struct part_head {
    uint64_t number, size;
};

static void group_free(struct group *group)
{
    free(group->brought);
    free(group);
}

/* --- the result --- */

static void result_free(void *arg)
{
    struct result *result = arg;
    if (result->info) {
        PMIX_INFO_FREE(result->info, result->count);
    }
    free(result);
}

/* Takes the next daemon's part; false at the end, or where the rest is malformed. */
static bool next_part(const uint8_t **data, size_t *size, struct part_head *head,
                      const uint8_t **bytes)
{
    if (*size < sizeof(*head)) {
        return false;
    }
    memcpy(head, *data, sizeof(*head));
    *head = (struct part_head){le64toh(head->number), le64toh(head->size)};
    if (head->size > *size - sizeof(*head)) {
        return false;
    }
    *bytes = *data + sizeof(*head);
    *data += sizeof(*head) + head->size;
    *size -= sizeof(*head) + head->size;
    return true;
}

/* Joins the members' data, in memory that libpmix frees, and finds the number. */
static bool join_parts(const uint8_t *data, size_t size, pmix_byte_object_t *joined,
                       uint64_t *number)
{
    struct part_head head;
    const uint8_t *bytes;
    *joined = (pmix_byte_object_t){malloc(size + 1), 0};
    *number = UINT64_MAX;
    while (joined->bytes && next_part(&data, &size, &head, &bytes)) {
        memcpy(joined->bytes + joined->size, bytes, head.size);
        joined->size += head.size;
        *number = head.number < *number ? head.number : *number;
    }
    return joined->bytes && size == 0;
}

static struct result *make_result(const struct group *group, const void *data, size_t size)
{
    struct result *result = calloc(1, sizeof(*result));
    pmix_byte_object_t joined = {NULL, 0};
    uint64_t number;
    if (!result || !join_parts(data, size, &joined, &number)) {
        goto fail;
    }
    PMIX_INFO_CREATE(result->info, 2);
    result->count = 2;
    if (!result->info) {
        goto fail;
    }
    size_t used = 0;
    if (group->numbered) {
        size_t context = (size_t) number;
        PMIX_INFO_LOAD(&result->info[used], PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE);
        used++;
    }
    if (joined.size > 0) {
        PMIX_LOAD_KEY(result->info[used].key, PMIX_GROUP_ENDPT_DATA);
        result->info[used].value.type = PMIX_BYTE_OBJECT;
        result->info[used].value.data.bo = joined;
    } else {
        free(joined.bytes);
    }
    return result;
fail:
    free(joined.bytes);
    free(result);
    return NULL;
}

static void answer_group(struct work *work)
{
    struct group *group = container_of(work, struct group, work);
    struct result *result = group->result;
    group->done(group->status, result ? result->info : NULL, result ? result->count : 0,
                group->cbdata, result ? result_free : NULL, result);
    group_free(group);
}

static void gathered(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct group *group = arg;
    group->status = status;
    if (status == PMIX_SUCCESS && group->operation == PMIX_GROUP_CONSTRUCT) {
        group->result = make_result(group, data, size);
        group->status = group->result ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    }
    worker_do(&group->work);
}

/* --- the request --- */

static void run(struct loop_task *task)
{
    struct group *group = container_of(task, struct group, task);
    pmix_host->gather(pmix_host->arg, &group->meeting, group->brought, group->brought_size,
                      gathered, group);
}

/* Numbers of this daemon's: no other one's are the same, and none is given twice. On libpmix's
 * thread. */
static uint64_t next_number(void)
{
    static uint32_t last;
    return (uint64_t) module_daemon() << 32 | ++last;
}

static bool bring(struct group *group, const pmix_byte_object_t *data)
{
    struct part_head head = {htole64(next_number()), htole64(data ? data->size : 0)};
    group->brought_size = sizeof(head) + (data ? data->size : 0);
    group->brought = malloc(group->brought_size);
    if (!group->brought) {
        return false;
    }
    memcpy(group->brought, &head, sizeof(head));
    if (data && data->size > 0) {
        memcpy(group->brought + sizeof(head), data->bytes, data->size);
    }
    return true;
}

static const pmix_byte_object_t *find_data(const pmix_info_t info[], size_t count)
{
    const pmix_info_t *data = module_find(info, count, PMIX_GROUP_ENDPT_DATA);
    return data && data->value.type == PMIX_BYTE_OBJECT ? &data->value.data.bo : NULL;
}

static bool wants_number(const pmix_info_t info[], size_t count)
{
    const pmix_info_t *wish = module_find(info, count, PMIX_GROUP_ASSIGN_CONTEXT_ID);
    return wish && PMIX_INFO_TRUE(wish);
}

/* A little earlier than libpmix, which crashes when its own timer for a group runs out. */
static uint64_t timeout_of(const pmix_info_t info[], size_t count)
{
    uint64_t ms = module_timeout_ms(info, count);
    return ms > 0 ? ms - EARLIER_MS : 0;
}

pmix_status_t up_group(pmix_group_operation_t operation, char id[], const pmix_proc_t procs[],
                       size_t count, const pmix_info_t info[], size_t info_count,
                       pmix_info_cbfunc_t done, void *cbdata)
{
    bool construct = operation == PMIX_GROUP_CONSTRUCT;
    if (!construct && operation != PMIX_GROUP_DESTRUCT) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    struct group *group = calloc(1, sizeof(*group));
    if (!group || !bring(group, construct ? find_data(info, info_count) : NULL)) {
        free(group);
        return PMIX_ERR_NOMEM;
    }
    group->task.run = run;
    group->work.run = answer_group;
    group->operation = operation;
    group->meeting =
        (struct pmix_meeting){.purpose = construct ? "group-construct" : "group-destruct",
                              .id = id,
                              .procs = procs,
                              .count = count,
                              .timeout_ms = timeout_of(info, info_count)};
    group->numbered = construct && wants_number(info, info_count);
    group->done = done;
    group->cbdata = cbdata;
    module_post(&group->task);
    return PMIX_SUCCESS;
}
