#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tools/buffer.h>
#include <tools/perf/test.h>

/* Fragments up to this size are sent by btl_sendi, which copies. */
enum { COPY_MAX = 4096 };

static const char card_key[] = "keel-perf.memory";

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static double own_use(const struct pair *pair)
{
    return clock_s(CLOCK_PROCESS_CPUTIME_ID) - pair->computed_s;
}

/* Buffers begin on a cache line. */
static size_t whole_lines(size_t size)
{
    return (size + 63) / 64 * 64;
}

size_t pair_turn(struct pair *pair, size_t size)
{
    size_t here = pair->out_at + size <= pair->rotate ? pair->out_at : 0;
    pair->out_at = here + whole_lines(size);
    return here;
}

/* --- messages --- */

/* A whole message has arrived. */
static void note_end(struct pair *pair, mca_btl_base_tag_t tag)
{
    switch (tag) {
    case PING:
        pair->owed++;
        pair->owed_bytes = pair->arrived;
        break;
    case PONG:
        pair->echoes++;
        break;
    case FLUSH:
        pair->owed_receipts++;
        break;
    case RECEIPT:
        pair->receipts++;
        break;
    case ASK_USE:
        pair->owed_use = true;
        break;
    case USE:
        memcpy(&pair->use_s, pair->in + pair->in_at, sizeof(pair->use_s));
        break;
    case OVER:
        pair->ends++;
        break;
    default:
        break;
    }
}

/* Where the next message goes, which is as large as this one but after the last of a size. */
static void turn_in(struct pair *pair, mca_btl_base_tag_t tag)
{
    pair->in_at += whole_lines(pair->arrived);
    if (tag >= ASK_USE || pair->in_at + pair->arrived > pair->rotate) {
        pair->in_at = 0;
    }
    pair->arrived = 0;
}

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl;
    struct pair *pair = cbdata;
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        const mca_btl_base_segment_t *segment = &descriptor->des_segments[i];
        size_t at = pair->in_at + pair->arrived;
        if (segment->seg_len > pair->capacity - at) {
            pair->status = OPAL_ERR_BAD_PARAM;
            return;
        }
        memcpy(pair->in + at, segment->seg_addr.pval, (size_t) segment->seg_len);
        pair->arrived += (size_t) segment->seg_len;
    }
    if (tag != PART) {
        note_end(pair, tag);
        turn_in(pair, tag);
    }
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl;
    (void) endpoint;
    struct pair *pair = descriptor->des_cbdata;
    pair->under_way--;
    pair->status = pair->status == 0 && status < 0 ? status : pair->status;
}

static bool is_full(int status)
{
    return status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_TEMP_OUT_OF_RESOURCE ||
           status == OPAL_ERR_RESOURCE_BUSY;
}

/* One fragment that the rail copies at once. */
static int send_small(struct pair *pair, size_t offset, size_t size, mca_btl_base_tag_t tag)
{
    mca_btl_base_module_t *btl = pair->btl;
    return btl->btl_sendi(btl, pair->endpoint, NULL, pair->out + offset, size, 0, MCA_BTL_NO_ORDER,
                          MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, tag, NULL);
}

/* One fragment out of memory that stays as it is until its callback; *size is cut to what the rail
 * takes, and the tag is that of a last fragment when this is one. */
static int send_large(struct pair *pair, size_t offset, size_t *size, size_t left,
                      mca_btl_base_tag_t last)
{
    mca_btl_base_module_t *btl = pair->btl;
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, pair->out + offset, *size);
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_prepare_src(btl, pair->endpoint, &convertor, MCA_BTL_NO_ORDER, 0, size,
                             MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    descriptor->des_cbfunc = sent;
    descriptor->des_cbdata = pair;
    pair->under_way++;
    int status = btl->btl_send(btl, pair->endpoint, descriptor, *size == left ? last : PART);
    if (status < 0) {
        pair->under_way--;
        btl->btl_free(btl, descriptor);
    }
    return status;
}

static int send_fragments(struct pair *pair, size_t size, mca_btl_base_tag_t last)
{
    size_t small = pair->btl->btl_eager_limit, most = pair->btl->btl_max_send_size;
    small = small < COPY_MAX ? small : COPY_MAX;
    size_t offset = pair_turn(pair, size), left = size;
    bool sent_all = false;
    while (!sent_all) {
        size_t part = left < most ? left : most;
        int status = left <= small ? send_small(pair, offset, left, last)
                                   : send_large(pair, offset, &part, left, last);
        if (is_full(status)) {
            keel_progress();
        } else if (status < 0) {
            return status;
        } else {
            offset += part;
            left -= part;
            sent_all = left == 0; /* an empty message, too, is sent before it is over */
        }
        if (pair->status < 0) {
            return pair->status;
        }
    }
    return OPAL_SUCCESS;
}

int pair_send(struct pair *pair, size_t size, enum expect expect)
{
    static const mca_btl_base_tag_t tags[] = {
        [EXPECT_NOTHING] = LAST, [EXPECT_ECHO] = PING, [EXPECT_RECEIPT] = FLUSH};
    return send_fragments(pair, size, tags[expect]);
}

static int send_use(struct pair *pair)
{
    double use = own_use(pair);
    pair->owed_use = false;
    pair->out_at = 0;
    memcpy(pair->out, &use, sizeof(use));
    return send_fragments(pair, sizeof(use), USE);
}

int pair_use(struct pair *pair, double *seconds)
{
    bool alone = keel_job_size() == 1;
    int status = OPAL_SUCCESS;
    pair->use_s = alone ? 0 : -1;
    if (!alone && !pair->asleep) {
        status = send_fragments(pair, 0, ASK_USE);
        while (pair->use_s < 0 && status == OPAL_SUCCESS) {
            status = pair_drive(pair);
        }
    }
    *seconds = pair->asleep ? -1 : own_use(pair) + pair->use_s;
    return status;
}

int pair_drive(struct pair *pair)
{
    int status = OPAL_SUCCESS;
    keel_progress();
    if (pair->owed_use) {
        status = send_use(pair);
    }
    while (pair->owed > 0 && status == OPAL_SUCCESS) {
        pair->owed--;
        status = send_fragments(pair, pair->owed_bytes, PONG);
    }
    while (pair->owed_receipts > 0 && status == OPAL_SUCCESS) {
        pair->owed_receipts--;
        status = send_fragments(pair, 0, RECEIPT);
    }
    return status < 0 ? status : pair->status;
}

/* Without a poll, before which the progress thread would stand back. */
static int doze(void)
{
    const struct timespec while_others_work = {.tv_nsec = 1000000};
    nanosleep(&while_others_work, NULL);
    return OPAL_SUCCESS;
}

/* What a program does that has other work. */
static void compute(struct pair *pair)
{
    double begin = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    double end = clock_s(CLOCK_MONOTONIC) + 1e-6 * pair->compute_us;
    while (clock_s(CLOCK_MONOTONIC) < end) {
    }
    pair->computed_s += clock_s(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

int pair_answer(struct pair *pair)
{
    int status = OPAL_SUCCESS;
    while (status == OPAL_SUCCESS && pair->ends == 0) {
        status = pair->asleep ? doze() : pair_drive(pair);
        if (pair->compute_us > 0) {
            compute(pair);
        }
    }
    pair->ends -= status == OPAL_SUCCESS; /* more may be there: accesses need no answer */
    return status;
}

int pair_end(struct pair *pair)
{
    return send_fragments(pair, 0, OVER);
}

/* --- opening --- */

static const char *name_of(const struct keel_rail *rail)
{
    return rail->btl->btl_component->btl_version.mca_component_name;
}

/* Of the module whose name has this length; an empty name is anyone's. NULL: there is none. */
static const struct keel_rail *find_rail(const struct keel_rail *rails, size_t count,
                                         const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        const char *found = name_of(&rails[i]);
        if (length == 0 || (strlen(found) == length && strncmp(found, name, length) == 0)) {
            return &rails[i];
        }
    }
    return NULL;
}

/* The first that is named, when all are there. */
static const struct keel_rail *choose_rail(const orte_process_name_t *peer, const char *names,
                                           char *why, size_t why_size)
{
    size_t count, length, used;
    const struct keel_rail *rails = keel_rails(peer, &count), *first = NULL, *found;
    const char *name = names ? names : "";
    for (;;) {
        length = strcspn(name, ",");
        found = find_rail(rails, count, name, length);
        first = first ? first : found;
        if (!found || !name[length]) {
            break;
        }
        name += length + 1;
    }
    if (found) {
        return first;
    }
    used = (size_t) snprintf(why, why_size, "no rail %.*s to rank %u; there is%s", (int) length,
                             name, peer->vpid, count == 0 ? " none" : "");
    for (size_t i = 0; i < count && used < why_size; i++) {
        used += (size_t) snprintf(why + used, why_size - used, " %s", name_of(&rails[i]));
    }
    return NULL;
}

/* Registers both buffers, and publishes where the other end may put. */
static bool open_memory(struct pair *pair, size_t capacity, char *why, size_t why_size)
{
    mca_btl_base_module_t *btl = pair->btl;
    pair->capacity = capacity;
    pair->out = buffer_create(capacity, 0x5a);
    pair->in = buffer_create(capacity, 0);
    if (!pair->out || !pair->in) {
        snprintf(why, why_size, "no memory for buffers of %zu bytes", capacity);
        return false;
    }
    if (btl->btl_register_mem) {
        pair->out_handle = btl->btl_register_mem(btl, pair->endpoint, pair->out, capacity,
                                                 MCA_BTL_REG_FLAG_ACCESS_ANY);
        pair->in_handle = btl->btl_register_mem(btl, pair->endpoint, pair->in, capacity,
                                                MCA_BTL_REG_FLAG_ACCESS_ANY);
        if (!pair->out_handle || !pair->in_handle) {
            snprintf(why, why_size, "cannot register buffers of %zu bytes", capacity);
            return false;
        }
    }
    return true;
}

struct memory_card {
    uint64_t address;
    unsigned char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

static int publish_memory(const struct pair *pair)
{
    struct memory_card card = {.address = (uint64_t) (uintptr_t) pair->in};
    if (pair->in_handle) {
        memcpy(card.handle, pair->in_handle, pair->btl->btl_registration_handle_size);
    }
    return keel_modex_send(card_key, &card, sizeof(card));
}

static int learn_memory(struct pair *pair, const orte_process_name_t *peer)
{
    struct memory_card *card = NULL;
    size_t size = 0;
    int status = keel_modex_recv(peer, card_key, (void **) &card, &size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (size == sizeof(*card)) {
        pair->remote_address = card->address;
        memcpy(pair->remote_handle, card->handle, sizeof(pair->remote_handle));
    }
    free(card);
    return size == sizeof(*card) ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
}

static bool open_rail(struct pair *pair, const orte_process_name_t *peer, const char *names,
                      size_t capacity, char *why, size_t why_size)
{
    const struct keel_rail *rail = choose_rail(peer, names, why, why_size);
    if (!rail) {
        return false;
    }
    pair->btl = rail->btl;
    pair->endpoint = rail->endpoint;
    for (mca_btl_base_tag_t tag = PART; tag <= OVER; tag++) {
        rail->btl->btl_register(rail->btl, tag, take, pair);
    }
    if (pair->asleep) {
        wake_open(pair);
    }
    btl2_open(pair);
    return open_memory(pair, capacity, why, why_size);
}

bool pair_open(struct pair *pair, bool takes_part, const char *names, size_t capacity, char *why,
               size_t why_size)
{
    const orte_process_name_t *me = keel_my_name();
    orte_process_name_t peer = {me->jobid, keel_job_size() > 1 ? 1 - (me->vpid & 1) : 0};
    int status = ORTE_SUCCESS;
    if (takes_part) {
        if (!open_rail(pair, &peer, names, capacity, why, why_size)) {
            return false;
        }
        status = publish_memory(pair);
    }
    if (status == ORTE_SUCCESS) {
        status = keel_fence();
    }
    if (status == ORTE_SUCCESS && takes_part) {
        status = learn_memory(pair, &peer);
    }
    if (status != ORTE_SUCCESS) {
        snprintf(why, why_size, "the ranks cannot exchange their handles: %s",
                 opal_strerror(status));
    }
    return status == ORTE_SUCCESS;
}

void pair_close(struct pair *pair)
{
    if (pair->in_handle) {
        pair->btl->btl_deregister_mem(pair->btl, pair->in_handle);
    }
    if (pair->out_handle) {
        pair->btl->btl_deregister_mem(pair->btl, pair->out_handle);
    }
    free(pair->out);
    free(pair->in);
    *pair = (struct pair){.btl = NULL};
}
