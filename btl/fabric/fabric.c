#include <config.h>

#include <base/host/paths.h>
#include <base/settings/log.h>
#include <btl/fabric/fabric.h>
#include <btl/fabric/fabric_mr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FILTER "FI_PROVIDER"
#define NO_HANDLERS "IPATH_NO_BACKTRACE"
#define API_VERSION FI_VERSION(1, 14)
#define CACHE_LINE 64

/* ---- errors ---- */

int fabric_status(int error)
{
    switch (error < 0 ? -error : error) {
    case 0:
        return OPAL_SUCCESS;
    case FI_EAGAIN:
    case FI_ENOMEM:
    case FI_ENOSPC:
    case FI_EBUSY:
        return OPAL_ERR_OUT_OF_RESOURCE;
    case FI_EACCES:
    case FI_EPERM:
    case FI_ENOKEY:
    case FI_EKEYREJECTED:
    case FI_EINVAL:
    case FI_EFAULT:
        return OPAL_ERR_PERM;
    case FI_ENOSYS:
    case FI_EOPNOTSUPP:
        return ORTE_ERR_NOT_SUPPORTED;
    default:
        return OPAL_ERR_UNREACH;
    }
}

const char *fabric_strerror(const struct fabric *fabric, int error)
{
    return fabric->lib->strerror(error < 0 ? -error : error);
}

/* ---- the environment ---- */

/* A variable that is set for the duration of a call, unless the user has set it. No other thread
 * may read the environment meanwhile. Returns whether it is to be taken back. */
static bool env_lend(const char *name, const char *value)
{
    return !getenv(name) && setenv(name, value, 1) == 0;
}

static void env_take_back(const char *name, bool lent)
{
    if (lent) {
        unsetenv(name);
    }
}

/* One of Debian's libraries below libfabric takes over SIGINT, SIGTERM and others as it is loaded,
 * whatever the application has made of them. */
static const struct libfabric *load(char *reason, size_t reason_size)
{
    bool lent = env_lend(NO_HANDLERS, "1");
    const struct libfabric *lib =
        paths_load(LIBFABRIC_MODULE, LIBFABRIC_TABLE, reason, reason_size);

    env_take_back(NO_HANDLERS, lent);
    return lib;
}

/* ---- choosing ---- */

/* The provider's parts, as libfabric's filter wants them: tcp,ofi_rxm. */
static char *filter_of(const char *provider)
{
    char *filter = strdup(provider);

    for (char *at = filter; at && *at; at++) {
        *at = *at == ';' ? ',' : *at;
    }
    return filter;
}

/* fi_getinfo offers every provider there is; so the first call in a process names the one, unless
 * the user has. */
static int getinfo_filtered(const struct libfabric *lib, const struct fabric_wanted *wanted,
                            const struct fi_info *hints, struct fi_info **info)
{
    char *filter = filter_of(wanted->provider);
    bool lent = filter && env_lend(FILTER, filter);
    const char *node = *wanted->address ? wanted->address : NULL;
    int rc = lib->getinfo(API_VERSION, node, NULL, node ? FI_SOURCE : 0, hints, info);

    env_take_back(FILTER, lent);
    free(filter);
    return rc;
}

static struct fi_info *hints_create(const struct libfabric *lib, const struct fabric_wanted *wanted)
{
    struct fi_info *hints = lib->dupinfo(NULL);

    if (!hints) {
        return NULL;
    }
    hints->caps = FI_MSG | (wanted->rma ? FI_RMA : 0) | (wanted->atomics ? FI_ATOMIC : 0);
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = wanted->endpoint;
    if (wanted->endpoint == FI_EP_DGRAM) {
        hints->mode |= FI_MSG_PREFIX;
    } else {
        hints->tx_attr->msg_order = FI_ORDER_SAS;
        hints->rx_attr->msg_order = FI_ORDER_SAS;
    }
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->fabric_attr->prov_name = *wanted->provider ? strdup(wanted->provider) : NULL;
    if (*wanted->provider && !hints->fabric_attr->prov_name) {
        lib->freeinfo(hints);
        return NULL;
    }
    return hints;
}

bool fabric_is_link_local(const struct fi_info *info)
{
    const uint8_t *bytes = info->src_addr;

    return info->addr_format == FI_SOCKADDR_IN6 && bytes && info->src_addrlen >= 16 &&
           bytes[8] == 0xfe && (bytes[9] & 0xc0) == 0x80;
}

static bool is_wanted(const struct fi_info *info, const struct fabric_wanted *wanted)
{
    return strcmp(info->fabric_attr->prov_name, wanted->provider) == 0 &&
           !fabric_is_link_local(info) &&
           (!*wanted->domain || strcmp(info->domain_attr->name, wanted->domain) == 0);
}

int fabric_offers(const struct libfabric **lib, enum fi_ep_type endpoint, struct fi_info **all,
                  char *reason, size_t reason_size)
{
    const struct fabric_wanted any = {.provider = "", .endpoint = endpoint};

    *all = NULL;
    *lib = load(reason, reason_size);
    struct fi_info *hints = *lib ? hints_create(*lib, &any) : NULL;
    if (!hints) {
        return *lib ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_ERR_NOT_AVAILABLE;
    }
    (void) (*lib)->getinfo(API_VERSION, NULL, NULL, 0, hints,
                           all); /* an error: it offers nothing */
    (*lib)->freeinfo(hints);
    return ORTE_SUCCESS;
}

int fabric_choose(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                  size_t reason_size)
{
    fabric->lib = load(reason, reason_size);
    if (!fabric->lib) {
        return ORTE_ERR_NOT_AVAILABLE;
    }
    struct fi_info *hints = hints_create(fabric->lib, wanted), *all = NULL, *at;

    if (!hints) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int rc = getinfo_filtered(fabric->lib, wanted, hints, &all);
    fabric->lib->freeinfo(hints);
    for (at = all; at && !is_wanted(at, wanted); at = at->next) {
    }
    fabric->info = at ? fabric->lib->dupinfo(at) : NULL;
    if (all) {
        fabric->lib->freeinfo(all);
    }
    if (!fabric->info) {
        snprintf(reason, reason_size,
                 "libfabric has no %sdatagrams of provider \"%s\"%s%s%s%s%s: %s",
                 wanted->endpoint == FI_EP_DGRAM ? "" : "reliable ", wanted->provider,
                 *wanted->domain ? ", domain " : "", wanted->domain,
                 *wanted->address ? ", address " : "", wanted->address,
                 wanted->rma ? " with remote memory access" : "",
                 rc != 0 ? fabric_strerror(fabric, rc) : "not among what it offers");
        return ORTE_ERR_NOT_AVAILABLE;
    }
    fabric->info->domain_attr->mr_mode |= wanted->mr_mode;
    return ORTE_SUCCESS;
}

/* ---- objects ---- */

static int objects_open(struct fabric *fabric, const struct fabric_wanted *wanted,
                        const char **what)
{
    struct fi_info *info = fabric->info;
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    struct fi_cq_attr cq = {
        .size = info->tx_attr->size + wanted->receives + 64,
        .format = FI_CQ_FORMAT_MSG,
        .wait_obj = FI_WAIT_NONE,
    };

    *what = "fabric";
    int rc = fabric->lib->fabric(info->fabric_attr, &fabric->fabric, NULL);
    if (rc == 0) {
        *what = "domain";
        rc = fi_domain(fabric->fabric, info, &fabric->domain, NULL);
    }
    if (rc == 0) {
        *what = "address vector";
        rc = fi_av_open(fabric->domain, &av, &fabric->av, NULL);
    }
    if (rc == 0) {
        *what = "completion queue";
        rc = fi_cq_open(fabric->domain, &cq, &fabric->cq, NULL);
    }
    if (rc == 0) {
        *what = "endpoint";
        rc = fi_endpoint(fabric->domain, info, &fabric->ep, NULL);
    }
    return rc;
}

static int endpoint_enable(struct fabric *fabric, const char **what)
{
    size_t size = sizeof(fabric->address.bytes);

    *what = "binding the endpoint";
    int rc = fi_ep_bind(fabric->ep, &fabric->av->fid, 0);
    if (rc == 0) {
        rc = fi_ep_bind(fabric->ep, &fabric->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    if (rc == 0) {
        *what = "enabling the endpoint";
        rc = fi_enable(fabric->ep);
    }
    if (rc == 0) {
        *what = "the endpoint's address";
        rc = fi_getname(&fabric->ep->fid, fabric->address.bytes, &size);
        if (rc == 0 && (size == 0 || size > sizeof(fabric->address.bytes))) {
            rc = -FI_ETOOSMALL;
        }
    }
    fabric->address.size = size;
    fabric->address.format = fabric->info->addr_format;
    return rc;
}

int fabric_start(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                 size_t reason_size)
{
    const char *what = "";
    int rc = objects_open(fabric, wanted, &what);

    if (rc == 0) {
        rc = endpoint_enable(fabric, &what);
    }
    if (rc != 0) {
        snprintf(reason, reason_size, "provider \"%s\": %s: %s", wanted->provider, what,
                 fabric_strerror(fabric, rc));
    }
    return rc == 0 ? ORTE_SUCCESS : ORTE_ERR_NOT_AVAILABLE;
}

static void close_fid(struct fabric *fabric, struct fid *fid, const char *what)
{
    int rc = fi_close(fid);

    if (rc != 0) {
        log_info(LOG_BTL, "libfabric: closing the %s: %s", what, fabric_strerror(fabric, rc));
    }
}

void fabric_stop(struct fabric *fabric)
{
    if (fabric->ep && !fabric->stays) {
        close_fid(fabric, &fabric->ep->fid, "endpoint");
    }
    fabric->ep = NULL;
}

static void objects_close(struct fabric *fabric)
{
    if (fabric->cq) {
        close_fid(fabric, &fabric->cq->fid, "completion queue");
    }
    if (fabric->av) {
        close_fid(fabric, &fabric->av->fid, "address vector");
    }
    if (fabric->domain) {
        close_fid(fabric, &fabric->domain->fid, "domain");
    }
    if (fabric->fabric) {
        close_fid(fabric, &fabric->fabric->fid, "fabric");
    }
}

void fabric_shut(struct fabric *fabric)
{
    const struct fabric kept = *fabric;

    fabric_stop(fabric);
    fabric_mr_release(fabric->memory_mr);
    if (!fabric->stays) {
        objects_close(fabric);
    }
    if (fabric->info) {
        fabric->lib->freeinfo(fabric->info);
    }
    *fabric = (struct fabric){
        .memory = kept.memory, .memory_bytes = kept.memory_bytes, .memory_used = kept.memory_used};
}

void fabric_close(struct fabric *fabric)
{
    fabric_shut(fabric);
    if (fabric->memory) {
        munmap(fabric->memory, fabric->memory_bytes);
    }
    memset(fabric, 0, sizeof(*fabric));
}

/* ---- memory ---- */

bool fabric_wants_local(const struct fabric *fabric)
{
    return fabric->info->domain_attr->mr_mode & FI_MR_LOCAL;
}

static int memory_register(struct fabric *fabric, char *reason, size_t reason_size)
{
    if (!fabric_wants_local(fabric)) {
        return ORTE_SUCCESS;
    }
    uint64_t access = FI_SEND | FI_RECV | (fabric->info->caps & FI_RMA ? FI_READ | FI_WRITE : 0);
    fabric->memory_mr = fabric_mr_open(fabric, fabric->memory, fabric->memory_bytes, access, 0);
    if (!fabric->memory_mr) {
        snprintf(reason, reason_size,
                 "registering %zu bytes of buffers with provider \"%s\" failed",
                 fabric->memory_bytes, fabric->info->fabric_attr->prov_name);
        return ORTE_ERR_NOT_AVAILABLE;
    }
    fabric->memory_desc = fi_mr_desc(fabric->memory_mr->mr);
    return ORTE_SUCCESS;
}

int fabric_map(struct fabric *fabric, size_t size, char *reason, size_t reason_size)
{
    if (!fabric->memory) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            snprintf(reason, reason_size, "no memory for its buffers");
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        fabric->memory = memory;
        fabric->memory_bytes = size;
    }
    return memory_register(fabric, reason, reason_size);
}

uint8_t *fabric_carve(struct fabric *fabric, size_t size)
{
    uint8_t *piece = fabric->memory + fabric->memory_used;

    fabric->memory_used += (size + CACHE_LINE - 1) & ~(size_t) (CACHE_LINE - 1);
    return piece;
}
