/* handoff: every rank hands a file to its right neighbour, twice, and proves that it arrived.
 *
 *   keelrun -n 4 handoff [--refusals] [FILE | --mib N]
 *
 * The control messages (size, checksum, memory handle, verdicts) go by RML; the file itself goes
 * over the best rail to the neighbour: once as active messages, once by put into memory that the
 * neighbour registered. Without FILE it is the program's own; --mib N hands over N MiB (1 to 1024)
 * of random bytes instead. --refusals also tries a forged and a stale handle, which must be
 * refused.
 *
 * Callbacks may come on a progress thread (keelrun --mca enable_progress_threads 1): what they and
 * the main thread share is atomic, and they change it last, when the rest is done. Callbacks come
 * one at a time. */
#include <keel/keel.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* RML tags; everything above 100 is an application's. */
enum {
    TAG_OFFER = 101,
    TAG_READY,
    TAG_ARRIVED,
    TAG_SEND_VERDICT,
    TAG_PUT_DONE,
    TAG_PUT_VERDICT,
    TAG_RESULT,
};
/* The tag of the file's active messages. */
enum { CHUNK_TAG = MCA_BTL_TAG_USR };

#define CHECKSUM_BYTES 32
#define PUTS_UNDER_WAY 16
#define PUT_BYTES (1u << 20)

/* In front of each chunk. Both ranks run the same program, so it travels as it is. */
struct chunk_header {
    uint64_t offset;
};

/* What a rank gets from its left neighbour. */
struct inbox {
    uint64_t size;
    uint8_t checksum[CHECKSUM_BYTES];
    uint8_t *by_send, *by_put;
    _Atomic uint64_t received; /* bytes of chunks so far */
    atomic_uint callbacks;     /* chunks so far */
    mca_btl_base_registration_handle_t *handle;
    mca_btl_base_module_t *btl; /* that registered by_put */
};

/* What a rank gives to its right neighbour. */
struct outbox {
    uint8_t *data;
    uint64_t size;
    const struct keel_rail *rail; /* for both ways */
    uint64_t remote_address;
    uint8_t remote_handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
    atomic_uint under_way;
    atomic_int status; /* the last error of a completion */
};

static orte_process_name_t me, left, right;

static void check(int status, const char *what)
{
    if (status < 0) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

static void *must_have(void *memory)
{
    if (!memory) {
        keel_abort(1, "out of memory");
    }
    return memory;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

/* --- control messages --- */

static opal_buffer_t *receive_from(orte_process_name_t *peer, orte_rml_tag_t tag)
{
    opal_buffer_t *buffer = must_have(OBJ_NEW(opal_buffer_t));
    check(orte_rml.recv_buffer(peer, buffer, tag, 0), "receive");
    return buffer;
}

static void send_to(orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag)
{
    check(orte_rml.send_buffer(peer, buffer, tag, 0), "send");
    OBJ_RELEASE(buffer);
}

static void unpack(opal_buffer_t *buffer, void *values, int32_t count, opal_data_type_t type)
{
    int32_t wanted = count;
    check(opal_dss.unpack(buffer, values, &count, type), "unpack");
    if (count != wanted) {
        keel_abort(1, "a message has %d values instead of %d", count, wanted);
    }
}

static void pack(opal_buffer_t *buffer, const void *values, int32_t count, opal_data_type_t type)
{
    check(opal_dss.pack(buffer, values, count, type), "pack");
}

static void send_number(orte_process_name_t *peer, int32_t number, orte_rml_tag_t tag)
{
    opal_buffer_t *buffer = must_have(OBJ_NEW(opal_buffer_t));
    pack(buffer, &number, 1, OPAL_INT32);
    send_to(peer, buffer, tag);
}

static int32_t receive_number(orte_process_name_t *peer, orte_rml_tag_t tag)
{
    opal_buffer_t *buffer = receive_from(peer, tag);
    int32_t number = 0;
    unpack(buffer, &number, 1, OPAL_INT32);
    OBJ_RELEASE(buffer);
    return number;
}

/* --- the file --- */

static void make_bytes(const char *mib, struct outbox *out)
{
    char *end = NULL;
    unsigned long count = mib ? strtoul(mib, &end, 10) : 0;
    if (count < 1 || count > 1024 || *end) {
        keel_abort(2, "usage: handoff [--refusals] [FILE | --mib N], N from 1 to 1024");
    }
    out->size = (uint64_t) count << 20;
    out->data = must_have(malloc(out->size));
    randombytes_buf(out->data, out->size);
}

static void read_file(const char *path, struct outbox *out)
{
    struct stat info;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &info) < 0) {
        keel_abort(1, "%s: %s", path, strerror(errno));
    }
    out->size = (uint64_t) info.st_size;
    out->data = must_have(malloc(out->size + 1));
    uint64_t done = 0;
    while (done < out->size) {
        ssize_t got = read(fd, out->data + done, out->size - done);
        if (got <= 0) {
            keel_abort(1, "%s: %s", path, got < 0 ? strerror(errno) : "it became shorter");
        }
        done += (uint64_t) got;
    }
    close(fd);
}

static void checksum(const uint8_t *data, uint64_t size, uint8_t digest[CHECKSUM_BYTES])
{
    crypto_generichash(digest, CHECKSUM_BYTES, data, size, NULL, 0);
}

static bool arrived(const struct inbox *in, const uint8_t *data)
{
    uint8_t digest[CHECKSUM_BYTES];
    checksum(data, in->size, digest);
    return memcmp(digest, in->checksum, CHECKSUM_BYTES) == 0;
}

/* --- agreement: offer to the right, be ready for the left --- */

static void offer(const struct outbox *out)
{
    opal_buffer_t *buffer = must_have(OBJ_NEW(opal_buffer_t));
    uint8_t digest[CHECKSUM_BYTES];
    checksum(out->data, out->size, digest);
    pack(buffer, &out->size, 1, OPAL_UINT64);
    pack(buffer, digest, CHECKSUM_BYTES, OPAL_BYTE);
    send_to(&right, buffer, TAG_OFFER);
}

/* The rail on which this rank receives from its left neighbour. */
static const struct keel_rail *best_rail(const orte_process_name_t *peer)
{
    size_t count = 0;
    const struct keel_rail *rails = keel_rails(peer, &count);
    for (size_t i = 0; i < count; i++) {
        if (rails[i].send && rails[i].rdma) {
            return &rails[i];
        }
    }
    keel_abort(1, "no rail to rank %u", peer->vpid);
}

/* Who waits for a neighbour's bytes would wait for ever. */
static void rails_changed(const orte_process_name_t *peer, void *arg)
{
    (void) arg;
    best_rail(peer);
}

static void get_ready(struct inbox *in)
{
    const struct keel_rail *rail = best_rail(&left);
    opal_buffer_t *buffer = receive_from(&left, TAG_OFFER);
    unpack(buffer, &in->size, 1, OPAL_UINT64);
    unpack(buffer, in->checksum, CHECKSUM_BYTES, OPAL_BYTE);
    OBJ_RELEASE(buffer);
    in->by_send = must_have(calloc(1, in->size + 1));
    in->by_put = must_have(calloc(1, in->size + 1));
    in->btl = rail->btl;
    in->handle = must_have(in->btl->btl_register_mem(in->btl, rail->endpoint, in->by_put,
                                                     in->size + 1, MCA_BTL_REG_FLAG_REMOTE_WRITE));

    buffer = must_have(OBJ_NEW(opal_buffer_t));
    uint64_t address = (uint64_t) (uintptr_t) in->by_put;
    int32_t handle_size = (int32_t) in->btl->btl_registration_handle_size;
    pack(buffer, &address, 1, OPAL_UINT64);
    pack(buffer, &handle_size, 1, OPAL_INT32);
    pack(buffer, in->handle, handle_size, OPAL_BYTE);
    send_to(&left, buffer, TAG_READY);
}

static void learn_target(struct outbox *out)
{
    opal_buffer_t *buffer = receive_from(&right, TAG_READY);
    int32_t handle_size = 0;
    unpack(buffer, &out->remote_address, 1, OPAL_UINT64);
    unpack(buffer, &handle_size, 1, OPAL_INT32);
    if (handle_size < 0 || handle_size > (int32_t) sizeof(out->remote_handle)) {
        keel_abort(1, "a handle of %d bytes", handle_size);
    }
    unpack(buffer, out->remote_handle, handle_size, OPAL_BYTE);
    OBJ_RELEASE(buffer);
}

/* --- by active messages --- */

/* A chunk of the left neighbour's file: a header, then bytes, perhaps in several segments. */
static void chunk_arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                          mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl;
    (void) tag;
    struct inbox *in = cbdata;
    struct chunk_header header;
    const mca_btl_base_segment_t *segment = descriptor->des_segments;
    size_t skip = sizeof(header);
    in->callbacks++;
    if (segment->seg_len < sizeof(header)) {
        keel_abort(1, "a chunk without its header");
    }
    memcpy(&header, segment->seg_addr.pval, sizeof(header));
    uint64_t offset = header.offset;
    for (size_t i = 0; i < descriptor->des_segment_count; i++, segment++, skip = 0) {
        uint64_t size = segment->seg_len - skip;
        if (offset > in->size || size > in->size - offset) {
            keel_abort(1, "a chunk beyond the end of the file");
        }
        memcpy(in->by_send + offset, (uint8_t *) segment->seg_addr.pval + skip, size);
        offset += size;
        in->received += size;
    }
}

static void chunk_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl;
    (void) endpoint;
    struct outbox *out = descriptor->des_cbdata;
    if (status < 0) {
        out->status = status;
    }
    out->under_way--;
}

/* Sends one chunk from the convertor's position; false: not now, try again after some progress. */
static bool send_chunk(struct outbox *out, opal_convertor_t *convertor)
{
    const struct keel_rail *rail = out->rail;
    mca_btl_base_module_t *btl = rail->btl;
    struct chunk_header header = {convertor->bytes_converted};
    size_t position = convertor->bytes_converted;
    size_t size = btl->btl_max_send_size - sizeof(header);
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_prepare_src(btl, rail->endpoint, convertor, MCA_BTL_NO_ORDER, sizeof(header),
                             &size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return false;
    }
    memcpy(descriptor->des_segments[0].seg_addr.pval, &header, sizeof(header));
    descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    descriptor->des_cbfunc = chunk_sent;
    descriptor->des_cbdata = out;
    out->under_way++;
    int status = btl->btl_send(btl, rail->endpoint, descriptor, CHUNK_TAG);
    if (status >= 0) {
        return true;
    }
    out->under_way--;
    btl->btl_free(btl, descriptor);
    if (status != OPAL_ERR_OUT_OF_RESOURCE && status != OPAL_ERR_RESOURCE_BUSY) {
        check(status, "btl_send");
    }
    opal_convertor_set_position(convertor, &position);
    return false;
}

static void stream(struct outbox *out)
{
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, out->data, out->size);
    while (convertor.bytes_converted < out->size) {
        if (!send_chunk(out, &convertor)) {
            keel_progress();
        }
        check(out->status, "sending a chunk");
    }
    while (out->under_way > 0) {
        keel_progress();
    }
    check(out->status, "sending a chunk");
}

/* --- by put --- */

static void put_completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          void *local_address,
                          struct mca_btl_base_registration_handle_t *local_handle, void *context,
                          void *cbdata, int status)
{
    (void) btl;
    (void) endpoint;
    (void) local_address;
    (void) local_handle;
    (void) context;
    struct outbox *out = cbdata;
    if (status < 0) {
        out->status = status;
    }
    out->under_way--;
}

/* One put; 0 or an error (OUT_OF_RESOURCE: later). */
static int put(struct outbox *out, uint64_t offset, uint64_t size, void *remote_handle,
               mca_btl_base_registration_handle_t *local_handle)
{
    mca_btl_base_module_t *btl = out->rail->btl;
    out->under_way++;
    int status = btl->btl_put(btl, out->rail->endpoint, out->data + offset,
                              out->remote_address + offset, local_handle, remote_handle, size, 0,
                              MCA_BTL_NO_ORDER, put_completed, NULL, out);
    if (status != OPAL_SUCCESS) { /* refused, or (1) complete already: no callback */
        out->under_way--;
    }
    return status < 0 ? status : OPAL_SUCCESS;
}

static mca_btl_base_registration_handle_t *register_source(struct outbox *out)
{
    mca_btl_base_module_t *btl = out->rail->btl;
    return must_have(btl->btl_register_mem(btl, out->rail->endpoint, out->data, out->size + 1,
                                           MCA_BTL_REG_FLAG_REMOTE_READ));
}

static void put_file(struct outbox *out)
{
    mca_btl_base_module_t *btl = out->rail->btl;
    mca_btl_base_registration_handle_t *local = register_source(out);
    uint64_t limit = btl->btl_put_limit < PUT_BYTES ? btl->btl_put_limit : PUT_BYTES;
    uint64_t offset = 0;
    while (offset < out->size || out->under_way > 0) {
        uint64_t size = out->size - offset < limit ? out->size - offset : limit;
        int status = OPAL_ERR_OUT_OF_RESOURCE;
        if (size > 0 && out->under_way < PUTS_UNDER_WAY) {
            status = put(out, offset, size, out->remote_handle, local);
        }
        if (status == OPAL_SUCCESS) {
            offset += size;
        } else if (status == OPAL_ERR_OUT_OF_RESOURCE) {
            keel_progress();
        } else {
            check(status, "btl_put");
        }
        check(out->status, "put");
    }
    check(btl->btl_deregister_mem(btl, local), "deregister");
}

/* --- refusals --- */

/* A put of one byte with this handle must end in an error. */
static bool is_refused(struct outbox *out, void *remote_handle)
{
    mca_btl_base_registration_handle_t *local = register_source(out);
    int status = put(out, 0, 1, remote_handle, local);
    while (status == OPAL_SUCCESS && out->under_way > 0) {
        keel_progress();
    }
    status = status < 0 ? status : out->status;
    out->status = OPAL_SUCCESS;
    check(out->rail->btl->btl_deregister_mem(out->rail->btl, local), "deregister");
    return status < 0;
}

/* Tries every byte of the handle changed, then the handle of a region that is gone. */
static int try_refusals(struct outbox *out, struct inbox *in)
{
    int errors = 0;
    size_t first_eight = 8; /* which region, and its generation: the rest may be unused */
    for (size_t i = 0; i < first_eight; i++) {
        uint8_t forged[MCA_BTL_REG_HANDLE_MAX_SIZE];
        memcpy(forged, out->remote_handle, sizeof(forged));
        forged[i] ^= 0x5a;
        errors += !is_refused(out, forged);
    }
    check(keel_fence(), "fence");
    check(in->btl->btl_deregister_mem(in->btl, in->handle), "deregister");
    in->handle = NULL;
    in->by_put[0] = 0x77;
    check(keel_fence(), "fence");
    errors += !is_refused(out, out->remote_handle);
    check(keel_fence(), "fence");
    errors += in->by_put[0] != 0x77;
    printf("rank %u: forged and stale handles %s\n", me.vpid, errors ? "ACCEPTED" : "refused");
    return errors;
}

/* --- the whole --- */

/* Both ways, in both directions at once: I give to the right while I get from the left. Returns the
 * number of errors and the seconds of each way. */
static int hand_over(struct outbox *out, struct inbox *in, double seconds[2])
{
    int errors = 0;
    double start = now();
    stream(out);
    while (in->received < in->size) {
        keel_progress();
    }
    send_number(&left, 1, TAG_ARRIVED); /* a send's completion says nothing of the receiver */
    receive_number(&right, TAG_ARRIVED);
    seconds[0] = now() - start;
    send_number(&left, arrived(in, in->by_send), TAG_SEND_VERDICT);
    errors += receive_number(&right, TAG_SEND_VERDICT) != 1;

    check(keel_fence(), "fence");
    unsigned callbacks = in->callbacks;
    start = now();
    put_file(out); /* a put's completion does: the bytes are there */
    seconds[1] = now() - start;
    send_number(&right, 1, TAG_PUT_DONE);
    receive_number(&left, TAG_PUT_DONE);
    bool silent = in->callbacks == callbacks; /* data has come, and not one callback with it */
    send_number(&left, arrived(in, in->by_put) && silent, TAG_PUT_VERDICT);
    errors += receive_number(&right, TAG_PUT_VERDICT) != 1;
    return errors;
}

/* Rank 0 gathers everybody's errors and bytes; the others know their own. */
static int conclude(int errors, uint64_t bytes)
{
    orte_process_name_t root = {me.jobid, 0};
    int64_t mine[2] = {errors, (int64_t) bytes}, total[2] = {0, 0};
    opal_buffer_t *buffer = must_have(OBJ_NEW(opal_buffer_t));
    pack(buffer, mine, 2, OPAL_INT64);
    send_to(&root, buffer, TAG_RESULT);
    if (me.vpid != 0) {
        return errors;
    }
    orte_process_name_t any = {me.jobid, ORTE_VPID_WILDCARD};
    for (uint32_t i = 0; i < keel_job_size(); i++) {
        int64_t theirs[2];
        buffer = receive_from(&any, TAG_RESULT);
        unpack(buffer, theirs, 2, OPAL_INT64);
        OBJ_RELEASE(buffer);
        total[0] += theirs[0];
        total[1] += theirs[1];
    }
    printf("handoff: %u ranks, %u transfers, %lld bytes, %lld errors\n", keel_job_size(),
           2 * keel_job_size(), (long long) total[1], (long long) total[0]);
    return total[0] > 0;
}

int main(int argc, char **argv)
{
    bool refusals = argc > 1 && strcmp(argv[1], "--refusals") == 0;
    const char *path = argc > 1 + refusals ? argv[1 + refusals] : "/proc/self/exe";
    bool make = strcmp(path, "--mib") == 0;
    if (keel_init(NULL) != ORTE_SUCCESS || sodium_init() < 0) {
        return 1;
    }
    uint32_t ranks = keel_job_size();
    me = *keel_my_name();
    right = (orte_process_name_t){me.jobid, (me.vpid + 1) % ranks};
    left = (orte_process_name_t){me.jobid, (me.vpid + ranks - 1) % ranks};

    struct outbox out = {.rail = best_rail(&right)};
    struct inbox in = {0};
    double seconds[2];
    check(keel_rails_watch(rails_changed, NULL), "watch the rails");
    if (make) {
        make_bytes(argv[2 + refusals], &out);
    } else {
        read_file(path, &out);
    }
    check(out.rail->btl->btl_register(out.rail->btl, CHUNK_TAG, chunk_arrived, &in), "register");
    offer(&out);
    get_ready(&in);
    learn_target(&out);
    int errors = hand_over(&out, &in, seconds);
    printf("rank %u -> %u over %s: %llu bytes, %.0f MB/s by send, %.0f MB/s by put, %s\n", me.vpid,
           right.vpid, out.rail->btl->btl_component->btl_version.mca_component_name,
           (unsigned long long) out.size, (double) out.size / seconds[0] * 1e-6,
           (double) out.size / seconds[1] * 1e-6, errors ? "WRONG" : "ok");
    if (refusals) {
        errors += try_refusals(&out, &in);
    }
    fflush(stdout);
    check(keel_fence(), "fence");
    errors = conclude(errors, 2 * out.size);
    if (in.handle) {
        check(in.btl->btl_deregister_mem(in.btl, in.handle), "deregister");
    }
    free(in.by_send);
    free(in.by_put);
    free(out.data);
    check(keel_finalize(), "finalize");
    return errors ? 1 : 0;
}
