/* sm: shared memory between the processes of a node. README.md has the whole. */
#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/framework/stats.h>
#include <btl/sm/module.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *const backings[] = {"auto", "memfd", "file", NULL};

static struct {
    struct param eager_limit, eager_count, max_send_size, max_send_count, inline_limit, ring_slots,
        max_peers, max_regions, use_cma, patience, backing, bell, exclusivity;
} params = {
    .eager_limit = PARAM_SIZE(
        "btl_sm_eager_limit", "9k", 512, 1 << 20,
        "Size of a small fragment, and most bytes of a first fragment, header included."),
    .eager_count =
        PARAM_INT("btl_sm_eager_count", "256", 4, 65536, "fragments",
                  "Most small fragments of a process; they get memory when they are first used."),
    .max_send_size = PARAM_SIZE("btl_sm_max_send_size", "32k", 1024, 16 << 20,
                                "Size of a large fragment, and most bytes of any message."),
    .max_send_count =
        PARAM_INT("btl_sm_max_send_count", "128", 4, 65536, "fragments",
                  "Most large fragments of a process; they get memory when they are first used."),
    .inline_limit = PARAM_INT(
        "btl_sm_inline_limit", "512", 56, SM_INLINE_MAX, "bytes",
        "Messages up to this size are copied into the ring; larger ones travel in fragments."),
    .ring_slots =
        PARAM_INT("btl_sm_ring_slots", "256", SM_RING_SLOTS_MIN, SM_RING_SLOTS_MAX, "slots",
                  "Slots of 32 bytes in the ring to each peer; rounded up to a power of two."),
    .max_peers = PARAM_INT("btl_sm_max_peers", "512", 2, 65536, "processes",
                           "Most processes of the node that may write to this one at a time."),
    .max_regions = PARAM_INT("btl_sm_max_regions", "16384", 1, 1 << 24, "regions",
                             "Most memory regions registered at a time."),
    .use_cma = PARAM_BOOL(
        "btl_sm_use_cma", "true",
        "Put and get by process_vm_writev and process_vm_readv where the kernel allows it."),
    .patience = PARAM_INT("btl_sm_patience", "20", 0, 1000000, "us",
                          "Put and get may go through the target while it answers within this "
                          "time, and do where that is faster than CMA; 0: never where CMA works."),
    .backing = PARAM_ENUM("btl_sm_backing", "auto", backings,
                          "What a segment is made of: a memfd, a file in the session folder, or "
                          "(auto) a memfd if others can open it."),
    .bell = PARAM_BOOL("btl_sm_bell", "false",
                       "Let this process sleep until a message comes even where the kernel lacks "
                       "membarrier, which costs its peers a barrier for each message; set by "
                       "enable_progress_threads."),
    .exclusivity = PARAM_LIKE("btl_sm_exclusivity", "65535", &btl_common.exclusivity, NULL),
};
PARAM_ROWS("btl", params);

static uint32_t power_of_two(uint32_t number)
{
    uint32_t power = SM_RING_SLOTS_MIN;
    while (power < number) {
        power *= 2;
    }
    return power;
}

static struct sm_params read_params(void)
{
    struct sm_params read = {
        .eager_limit = (size_t) param_int(&params.eager_limit),
        .eager_count = (size_t) param_int(&params.eager_count),
        .max_send_size = (size_t) param_int(&params.max_send_size),
        .max_send_count = (size_t) param_int(&params.max_send_count),
        .inline_limit = (size_t) param_int(&params.inline_limit),
        .ring_slots = power_of_two((uint32_t) param_int(&params.ring_slots)),
        .max_peers = (uint32_t) param_int(&params.max_peers),
        .max_regions = (uint32_t) param_int(&params.max_regions),
        .use_cma = param_bool(&params.use_cma),
        .patience_us = (uint32_t) param_int(&params.patience),
        .backing = (enum sm_backing_choice) param_int(&params.backing),
    };
    if (read.max_send_size < read.eager_limit) {
        log_warn(LOG_BTL, "btl_sm_max_send_size is below btl_sm_eager_limit and raised to it");
        read.max_send_size = read.eager_limit;
    }
    return read;
}

int sm_publish_card(const struct sm_module *module)
{
    uint8_t card[SM_CARD_BYTES];
    sm_card_encode(card, &module->segment->card);
    return btl_card_publish(&module->peers.cards, card, sizeof(card));
}

static mca_btl_base_module_t **sm_init(int *count, bool progress_threads, bool threads)
{
    (void) threads;
    struct sm_params values = read_params();
    values.bell = progress_threads || param_bool(&params.bell);
    struct sm_module *module;
    char reason[256] = "";
    int status = sm_module_create(&module, &values, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        status = sm_publish_card(module);
        if (status != ORTE_SUCCESS) {
            snprintf(reason, sizeof(reason), "publishing the card: %s", opal_strerror(status));
            module->super.btl_finalize(&module->super);
        }
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "sm: no shared memory in this process: %s", reason);
        *count = 0;
        return NULL;
    }
    module->super.btl_exclusivity = (uint32_t) param_int(&params.exclusivity);
    return btl_one_module(&module->super, count);
}

/* What the kernel refuses a process of its own memory it refuses of others', too. */
static void sm_devices(keel_device_fn visit, void *arg)
{
    char here = 'x', there = '\0';
    struct iovec from = {&here, 1}, to = {&there, 1};
    const char *copies = !param_bool(&params.use_cma) ? "in two copies: btl_sm_use_cma is off"
                         : process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1
                             ? "single copy by process_vm_readv"
                             : "in two copies: the kernel refuses process_vm_readv";
    visit(arg, &(struct keel_device){
                   .name = "shared memory", .address = "", .about = copies, .numa_node = -1});
}

static const struct btl_stat stats[] = {
    {"copies", "calls", "Puts and gets, or parts of them, copied by CMA.",
     BTL_STAT_AT(struct sm_module, counts.copies)},
    {"copied_bytes", "bytes", "Bytes of them.", BTL_STAT_AT(struct sm_module, counts.copied_bytes)},
    {"by_target", "calls", "Puts and gets that went through the target.",
     BTL_STAT_AT(struct sm_module, counts.by_target)},
    {"shared", "calls", "Puts and gets that both sides copied by CMA.",
     BTL_STAT_AT(struct sm_module, counts.shared)},
    {"stalls", "times", "Sends found the ring to a peer full.",
     BTL_STAT_AT(struct sm_module, counts.stalls)},
    {NULL, NULL, NULL, 0},
};

struct btl_component btl_sm_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("sm")},
                  .btl_init = sm_init,
                  .btl_progress = btl_progress},
    .progress = sm_module_progress,
    .restart = sm_module_restart,
    .peers_at = offsetof(struct sm_module, peers),
    .describe = sm_describe,
    .add = sm_endpoint_add,
    .ended = sm_endpoint_ended,
    .fail = sm_endpoint_give_up,
    .rdma = sm_rdma,
    .atomic = sm_atomic,
    .ext = &sm_ext,
    .stats = stats,
    .devices = sm_devices,
};
