/* The component: parameters, the module that it opens, progress. */
#include <config.h>

#include <base/data/least.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/fabric/fabric_device.h>
#include <btl/framework/stats.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_rdma.h>
#include <btl/ofi/ofi_receive.h>
#include <btl/ofi/ofi_send.h>
#include <btl/ofi/provider/traits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_REGIONS = 65536,
    MAX_OPS = 4096,
    SMALL_PAYLOAD = 4096,
    HEADROOM = 64,       /* keeps payloads aligned; the header is its end */
    ACTIVE_POLLS = 1024, /* after the last event, polls are cheap to have */
};

/* ---- parameters ---- */

enum rma { RMA_AUTO, RMA_EMULATED, RMA_NATIVE, RMA_ALWAYS };
static const char *const rma_choices[] = {"auto", "emulated", "native", "always", NULL};
enum mr_mode { MR_NEEDED, MR_LOCAL, MR_BASIC };
static const char *const mr_choices[] = {"needed", "local", "basic", NULL};
static struct {
    struct param provider, domain, address, eager_limit, max_send_size, rx_buffers, tx_window,
        free_list_max, rma, atomics, rma_timeout, mr_mode, hello_timeout, flush_timeout, bandwidth,
        exclusivity, silence_timeout;
} params = {
    .provider = PARAM_STRING("btl_ofi_provider", "tcp;ofi_rxm",
                             "Exact name of libfabric's provider of reliable datagrams."),
    .domain = PARAM_STRING(
        "btl_ofi_domain", "",
        "Exact name of the provider's domain (an interface, a device); empty: its first."),
    .address = PARAM_STRING(
        "btl_ofi_address", "",
        "Address of this host to bind to, as the provider writes it; empty: its choice."),
    .eager_limit = PARAM_LIKE("btl_ofi_eager_limit", "8k", &btl_common.eager_limit, NULL),
    .max_send_size = PARAM_LIKE("btl_ofi_max_send_size", "64k", &btl_common.max_send_size,
                                "Largest message of btl_send; the same in all processes."),
    .rx_buffers = PARAM_INT(
        "btl_ofi_rx_buffers", "128", 8, 16384, "",
        "Receive buffers of the largest message's size; memory is used as they are filled."),
    .tx_window =
        PARAM_SIZE("btl_ofi_tx_window", "0", 0, 1 << 30,
                   "Bytes in flight to one peer; 0: 32k for ofi_rxd, else as the provider has it."),
    .free_list_max =
        PARAM_INT("btl_ofi_free_list_max", "512", 1, 1 << 16, "", "Most descriptors of each size."),
    .rma = PARAM_ENUM("btl_ofi_rma", "auto", rma_choices,
                      "Put and get over sends, or by the provider; auto: native where hardware "
                      "does it; always: also by one that is known not to do it well."),
    .atomics =
        PARAM_ENUM("btl_ofi_atomics", "auto", rma_choices,
                   "Atomics over sends, or by the provider (which needs native put and get)."),
    .rma_timeout = PARAM_INT("btl_ofi_rma_timeout_ms", "60000", 1, 3600000, "ms",
                             "Time for a put, get or atomic of the provider's own to end."),
    .mr_mode = PARAM_ENUM("btl_ofi_mr_mode", "needed", mr_choices,
                          "Memory that is registered: what the provider needs, local memory as "
                          "well, or that under the provider's own keys and addresses; for tests."),
    .hello_timeout =
        PARAM_LIKE("btl_ofi_hello_timeout_ms", "60000", &btl_common.hello_timeout, NULL),
    .flush_timeout =
        PARAM_LIKE("btl_ofi_flush_timeout_ms", "2000", &btl_common.flush_timeout, NULL),
    .bandwidth =
        PARAM_LIKE("btl_ofi_bandwidth", "0", &btl_common.bandwidth,
                   "Bandwidth by which rails share their load; 0: the provider's word, or 1000."),
    .exclusivity = PARAM_LIKE("btl_ofi_exclusivity", "1024", &btl_common.exclusivity, NULL),
    .silence_timeout = PARAM_INT("btl_ofi_timeout_ms", "5000", 0, 3600000, "ms",
                                 "A peer whose host answers nothing for so long has failed "
                                 "(providers over IP); 0: when the provider says so."),
};
PARAM_ROWS("btl", params);

/* ---- the module that is opened ---- */

/* What the provider allows, of what was asked for. */
static void limits_set(struct ofi_module *ofi)
{
    const struct fi_info *info = ofi->fabric.info;
    size_t largest = info->ep_attr->max_msg_size - OFI_HEADER_BYTES;
    mca_btl_base_module_t *super = &ofi->super;

    super->btl_max_send_size = least((size_t) param_int(&params.max_send_size), largest);
    super->btl_eager_limit =
        least((size_t) param_int(&params.eager_limit), super->btl_max_send_size);
    super->btl_rndv_eager_limit = super->btl_eager_limit;
    super->btl_exclusivity = (uint32_t) param_int(&params.exclusivity);
    uint32_t set = (uint32_t) param_int(&params.bandwidth);
    uint64_t speed = info->nic && info->nic->link_attr ? info->nic->link_attr->speed / 8000000 : 0;
    super->btl_bandwidth = set ? set : speed ? (uint32_t) speed : 1000;
    ofi->inject = least(info->tx_attr->inject_size, OFI_HEADER_BYTES + super->btl_max_send_size);
    ofi->window = (size_t) param_int(&params.tx_window);
    if (ofi->window == 0) {
        ofi->window = ofi->traits->window;
    }
    if (ofi->window > 0) {
        ofi->inject = 0; /* only completions tell what has arrived */
    }
    /* Three pieces: header, the caller's header, user memory. A provider that runs in software
     * may look for the memory once its user was told that the peer has failed, and has it back. */
    if (ofi->traits->is_hardware && !fabric_wants_local(&ofi->fabric) &&
        info->tx_attr->iov_limit >= 3) {
        super->btl_flags |= MCA_BTL_FLAGS_SEND_INPLACE;
    }
}

static void descs_open(struct ofi_module *ofi, size_t small, size_t large, size_t limit)
{
    struct fabric *fabric = &ofi->fabric;
    const struct desc_size sizes[] = {
        {.payload = SMALL_PAYLOAD,
         .limit = limit,
         .per_chunk = 32,
         .slots = fabric_carve(fabric, limit * small),
         .slot_size = small},
        {.payload = ofi->super.btl_max_send_size,
         .limit = limit,
         .per_chunk = 8,
         .slots = fabric_carve(fabric, limit * large),
         .slot_size = large},
    };

    desc_set_init(&ofi->descs, sizes, 2, HEADROOM);
}

/* The module's own memory: receive buffers, descriptors' payloads, control frames. */
static int memory_open(struct ofi_module *ofi, char *reason, size_t reason_size)
{
    size_t limit = (size_t) param_int(&params.free_list_max),
           receives = (size_t) param_int(&params.rx_buffers);
    size_t small = HEADROOM + SMALL_PAYLOAD;
    size_t large = HEADROOM + ((ofi->super.btl_max_send_size + 63) & ~(size_t) 63);
    size_t frame = OFI_HEADER_BYTES + ofi->super.btl_max_send_size;
    size_t total = fabric_receive_room(receives, frame) + limit * (small + large) +
                   OFI_CONTROLS * OFI_CONTROL_BYTES;

    int status = fabric_map(&ofi->fabric, total, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    descs_open(ofi, small, large, limit);
    while (ofi->control_count < OFI_CONTROLS) {
        ofi->controls[ofi->control_count++] = fabric_carve(&ofi->fabric, OFI_CONTROL_BYTES);
    }
    ofi->greeter.max_message = ofi->card.max_message = (uint32_t) ofi->super.btl_max_send_size;
    status = ofi_receive_open(ofi, receives, frame);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "%zu receive buffers are too many for it", receives);
    }
    return status;
}

static int tables_open(struct ofi_module *ofi, char *reason, size_t reason_size)
{
    struct rdma_am_config config = {
        .module = &ofi->super,
        .max_ops = MAX_OPS,
        .send = ofi_channel_send,
    };

    ofi->scratch = malloc(ofi->inject + 1);
    ofi->regions = region_table_create(MAX_REGIONS);
    config.regions = ofi->regions;
    if (!ofi->scratch || !ofi->regions || rdma_am_create(&ofi->am, &config) != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return ORTE_SUCCESS;
}

static int card_publish(struct ofi_module *ofi, char *reason, size_t reason_size)
{
    uint8_t bytes[OFI_CARD_BYTES];

    snprintf(ofi->card.provider, sizeof(ofi->card.provider), "%s", param_string(&params.provider));
    ofi->greeter.address = ofi->card.address = ofi->fabric.address;
    size_t size = ofi_card_encode(bytes, &ofi->card);
    int status = btl_card_publish(&ofi->peers.cards, bytes, size);
    if (status != OPAL_SUCCESS) {
        snprintf(reason, reason_size, "publishing the card: %s", opal_strerror(status));
    }
    return status;
}

/* What software providers do to remote memory they check less well than btl/emulation/rdma_am.h
 * does, or not at all; so auto leaves it to them only where there is hardware. */
static bool is_native(struct param *choice, const struct ofi_traits *traits, const char *why_not)
{
    switch (param_int(choice)) {
    case RMA_ALWAYS:
        return true;
    case RMA_NATIVE:
        if (why_not) {
            log_warn(LOG_BTL, "ofi: %s=native is not for provider %s: %s", choice->name,
                     traits->provider, why_not);
        }
        return !why_not;
    case RMA_AUTO:
        return traits->is_hardware && !why_not;
    default:
        return false;
    }
}

static int endpoint_open(struct ofi_module *ofi, char *reason, size_t reason_size)
{
    static const int mr_modes[] = {
        [MR_LOCAL] = FI_MR_LOCAL,
        [MR_BASIC] = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
    };
    const struct fabric_wanted wanted = {
        .provider = param_string(&params.provider),
        .domain = param_string(&params.domain),
        .address = param_string(&params.address),
        .rma = ofi->native.wants_rma,
        .atomics = ofi->native.wants_atomics,
        .mr_mode = mr_modes[param_int(&params.mr_mode)],
        .receives = (size_t) param_int(&params.rx_buffers),
    };

    if (strlen(wanted.provider) >= OFI_PROVIDER_BYTES) {
        snprintf(reason, reason_size, "no provider has a name like \"%s\"", wanted.provider);
        return ORTE_ERR_BAD_PARAM;
    }
    return ofi_fabric_open(&ofi->fabric, &wanted, reason, reason_size);
}

/* The provider's own remote memory access; without memory for it, it goes over sends. */
static void native_open(struct ofi_module *ofi)
{
    mca_btl_base_module_t *super = &ofi->super;
    const struct fi_domain_attr *attr = ofi->fabric.info->domain_attr;

    if (!(attr->mr_mode & FI_MR_PROV_KEY) && attr->mr_key_size < sizeof(uint64_t)) {
        log_info(LOG_BTL, "ofi: the provider's keys are too short: put and get go over sends");
        return;
    }
    ofi->native.regions = ofi_regions_create(MAX_REGIONS);
    if (!ofi->native.regions) {
        return;
    }
    super->btl_registration_handle_size = sizeof(struct ofi_handle);
    ofi->native.atomics = ofi->native.wants_atomics && ofi_native_has_atomics(&ofi->fabric);
    if (ofi->native.atomics) {
        super->btl_atomic_flags &= ~(uint32_t) MCA_BTL_ATOMIC_SUPPORTS_GLOB;
    }
}

static int module_open(struct ofi_module *ofi, char *reason, size_t reason_size)
{
    const struct ofi_traits *traits = ofi->traits;
    ofi->native.wants_rma = is_native(&params.rma, traits, traits->no_rma);
    ofi->native.wants_atomics =
        ofi->native.wants_rma && is_native(&params.atomics, traits, traits->no_atomics);
    int status = endpoint_open(ofi, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    limits_set(ofi);
    if (ofi->native.wants_rma) {
        native_open(ofi);
    }
    status = tables_open(ofi, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = memory_open(ofi, reason, reason_size);
    }
    return status == ORTE_SUCCESS ? card_publish(ofi, reason, reason_size) : status;
}

int ofi_reopen(struct ofi_module *ofi)
{
    char reason[300] = "";

    ofi_abandoned_release(ofi);
    if (ofi->native.regions) {
        ofi_regions_shut(ofi);
    }
    fabric_shut(&ofi->fabric);
    ofi->peers.cards.life++;
    int status = endpoint_open(ofi, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        status = fabric_map(&ofi->fabric, 0, reason, sizeof(reason));
    }
    if (status == ORTE_SUCCESS) {
        fabric_receive_again(&ofi->rx);
        if (ofi->native.regions) {
            ofi_regions_again(ofi);
        }
        status = card_publish(ofi, reason, sizeof(reason));
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "ofi: not opened again: %s", reason);
    }
    return status;
}

/* ---- the component ---- */

static struct ofi_module *module_create(void)
{
    struct ofi_module *ofi = ofi_module_create();
    char reason[300] = "";

    if (!ofi) {
        return NULL;
    }
    ofi->peers.handshake_us = (uint64_t) param_int(&params.hello_timeout) * 1000;
    ofi->peers.flush_us = (uint64_t) param_int(&params.flush_timeout) * 1000;
    ofi->params.silence_us = (uint64_t) param_int(&params.silence_timeout) * 1000;
    btl_peers_limit(&ofi->peers, ofi->params.silence_us);
    ofi->params.rma_us = (uint64_t) param_int(&params.rma_timeout) * 1000;
    ofi->traits = ofi_traits_of(param_string(&params.provider));
    if (module_open(ofi, reason, sizeof(reason)) != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "ofi: not opened: %s", reason);
        ofi_module_destroy(ofi);
        return NULL;
    }
    log_info(LOG_BTL, "ofi: provider %s, domain %s", ofi->card.provider,
             ofi->fabric.info->domain_attr->name);
    return ofi;
}

static mca_btl_base_module_t **init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    struct ofi_module *ofi = module_create();

    return btl_one_module(ofi ? &ofi->super : NULL, count);
}

static bool active(mca_btl_base_module_t *btl)
{
    const struct ofi_module *ofi = ofi_of(btl);

    return ofi->idle_polls < ACTIVE_POLLS || ofi->in_flight > 0 || btl_peers_busy(&ofi->peers) ||
           !list_empty(&ofi->descs.done) || rdma_am_active(ofi->am);
}

static void devices(keel_device_fn visit, void *arg)
{
    fabric_devices_each(FI_EP_RDM, param_string(&params.provider), param_string(&params.domain),
                        visit, arg);
}

static const struct btl_stat stats[] = {
    {"strangers_frames", "frames", "Frames that proved no session, and were dropped.",
     BTL_STAT_AT(struct ofi_module, dropped)},
    {"provider_busy", "calls", "Calls that the provider had no room for.",
     BTL_STAT_AT(struct ofi_module, busy)},
    {NULL, NULL, NULL, 0},
};

struct btl_component btl_ofi_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("ofi")},
                  .btl_init = init,
                  .btl_progress = btl_progress},
    .progress = ofi_poll,
    .restart = ofi_restart,
    .peers_at = offsetof(struct ofi_module, peers),
    .describe = ofi_describe,
    .active = active,
    .rdma = ofi_rdma,
    .atomic = ofi_atomic,
    .key_of = ofi_key_of,
    .handle_of = ofi_handle_of,
    .ext = &ofi_ext,
    .stats = stats,
    .devices = devices,
    .loads = LIBFABRIC_MODULE,
    .named_only = true,
};
