/* sm: shared memory between the processes of a node. README.md has the whole. */
#include <config.h>

#include <base/log.h>
#include <base/param.h>
#include <btl/sm/module.h>
#include <stdio.h>

static const char *const backings[] = {"auto", "memfd", "file", NULL};

static struct param eager_limit_param = {
    .name = "btl_sm_eager_limit",
    .type = PARAM_SIZE,
    .default_text = "4k",
    .min = 512,
    .max = 1 << 20,
    .unit = "bytes",
    .help = "Size of a small fragment, and most bytes of a first fragment, header included.",
};

static struct param eager_count_param = {
    .name = "btl_sm_eager_count",
    .type = PARAM_INT,
    .default_text = "256",
    .min = 4,
    .max = 65536,
    .unit = "fragments",
    .help = "Most small fragments of a process; they get memory when they are first used.",
};

static struct param max_send_size_param = {
    .name = "btl_sm_max_send_size",
    .type = PARAM_SIZE,
    .default_text = "32k",
    .min = 1024,
    .max = 16 << 20,
    .unit = "bytes",
    .help = "Size of a large fragment, and most bytes of any message.",
};

static struct param max_send_count_param = {
    .name = "btl_sm_max_send_count",
    .type = PARAM_INT,
    .default_text = "128",
    .min = 4,
    .max = 65536,
    .unit = "fragments",
    .help = "Most large fragments of a process; they get memory when they are first used.",
};

static struct param inline_limit_param = {
    .name = "btl_sm_inline_limit",
    .type = PARAM_INT,
    .default_text = "448",
    .min = 56,
    .max = SM_INLINE_MAX,
    .unit = "bytes",
    .help = "Messages up to this size are copied into the ring; larger ones travel in fragments.",
};

static struct param ring_slots_param = {
    .name = "btl_sm_ring_slots",
    .type = PARAM_INT,
    .default_text = "256",
    .min = SM_RING_SLOTS_MIN,
    .max = SM_RING_SLOTS_MAX,
    .unit = "slots",
    .help = "Slots of 64 bytes in the ring to each peer; rounded up to a power of two.",
};

static struct param max_peers_param = {
    .name = "btl_sm_max_peers",
    .type = PARAM_INT,
    .default_text = "512",
    .min = 2,
    .max = 65536,
    .unit = "processes",
    .help = "Most processes of the node that may write to this one at a time.",
};

static struct param max_regions_param = {
    .name = "btl_sm_max_regions",
    .type = PARAM_INT,
    .default_text = "16384",
    .min = 1,
    .max = 1 << 24,
    .unit = "regions",
    .help = "Most memory regions registered at a time.",
};

static struct param use_cma_param = {
    .name = "btl_sm_use_cma",
    .type = PARAM_BOOL,
    .default_text = "true",
    .unit = "",
    .help = "Put and get by process_vm_writev and process_vm_readv where the kernel allows it.",
};

static struct param patience_param = {
    .name = "btl_sm_patience",
    .type = PARAM_INT,
    .default_text = "20",
    .min = 0,
    .max = 1000000,
    .unit = "us",
    .help = "Put and get go through the target while it answers within this time, which is faster "
            "than copying by CMA; 0: never where CMA works.",
};

static struct param backing_param = {
    .name = "btl_sm_backing",
    .type = PARAM_ENUM,
    .default_text = "auto",
    .choices = backings,
    .unit = "",
    .help =
        "What a segment is made of: a memfd, a file in the session folder, or (auto) a memfd if "
        "others can open it.",
};

static struct param bell_param = {
    .name = "btl_sm_bell",
    .type = PARAM_BOOL,
    .default_text = "false",
    .unit = "",
    .help = "Let this process sleep until a message comes, which costs its peers a barrier for "
            "each; set by enable_progress_threads.",
};

static struct param exclusivity_param = {
    .name = "btl_sm_exclusivity",
    .type = PARAM_INT,
    .default_text = "65535",
    .min = 0,
    .max = MCA_BTL_EXCLUSIVITY_HIGH,
    .unit = "",
    .help = "Of the modules that reach a peer, those with the highest are its rails.",
};

static struct param *const params[] = {
    &eager_limit_param,  &eager_count_param, &max_send_size_param, &max_send_count_param,
    &inline_limit_param, &ring_slots_param,  &max_peers_param,     &max_regions_param,
    &use_cma_param,      &patience_param,    &backing_param,       &bell_param,
    &exclusivity_param,
};

static int sm_register_params(void)
{
    for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++) {
        param_register(params[i]);
    }
    return OPAL_SUCCESS;
}

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
        .eager_limit = (size_t) param_int(&eager_limit_param),
        .eager_count = (size_t) param_int(&eager_count_param),
        .max_send_size = (size_t) param_int(&max_send_size_param),
        .max_send_count = (size_t) param_int(&max_send_count_param),
        .inline_limit = (size_t) param_int(&inline_limit_param),
        .ring_slots = power_of_two((uint32_t) param_int(&ring_slots_param)),
        .max_peers = (uint32_t) param_int(&max_peers_param),
        .max_regions = (uint32_t) param_int(&max_regions_param),
        .use_cma = param_bool(&use_cma_param),
        .patience_us = (uint32_t) param_int(&patience_param),
        .backing = (enum sm_backing_choice) param_int(&backing_param),
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
    values.bell = progress_threads || param_bool(&bell_param);
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
    module->super.btl_exclusivity = (uint32_t) param_int(&exclusivity_param);
    return btl_one_module(&module->super, count);
}

struct btl_component btl_sm_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("sm"),
                                  .mca_register_component_params = sm_register_params},
                  .btl_init = sm_init,
                  .btl_progress = btl_progress},
    .progress = sm_module_progress,
    .restart = sm_module_restart,
    .reaches = sm_endpoint_reaches,
    .add = sm_endpoint_add,
    .added = sm_endpoint_added,
    .end = sm_endpoints_end,
    .ended = sm_endpoint_ended,
    .rdma = sm_rdma,
    .atomic = sm_atomic,
    .ext = &sm_ext,
};
