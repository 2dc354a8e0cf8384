#include <config.h>

#include <base/settings/log.h>
#include <btl/fabric/fabric_mr.h>
#include <stdlib.h>

static int mr_enable(struct fabric *fabric, struct fid_mr *mr)
{
    if (!(fabric->info->domain_attr->mr_mode & FI_MR_ENDPOINT)) {
        return 0;
    }
    int rc = fi_mr_bind(mr, &fabric->ep->fid, 0);
    return rc == 0 ? fi_mr_enable(mr) : rc;
}

struct fabric_mr *fabric_mr_open(struct fabric *fabric, const void *base, size_t size,
                                 uint64_t access, uint64_t key)
{
    struct fabric_mr *mr = calloc(1, sizeof(*mr));

    if (!mr) {
        return NULL;
    }
    mr->users = 1;
    int rc = fi_mr_reg(fabric->domain, base, size, access, 0, key, 0, &mr->mr, NULL);
    if (rc == 0) {
        rc = mr_enable(fabric, mr->mr);
    }
    if (rc != 0) {
        log_debug(LOG_BTL, "libfabric: registering %zu bytes of memory: %s", size,
                  fabric_strerror(fabric, rc));
        fabric_mr_release(mr);
        return NULL;
    }
    return mr;
}

struct fabric_mr *fabric_mr_hold(struct fabric_mr *mr)
{
    mr->users++;
    return mr;
}

void fabric_mr_release(struct fabric_mr *mr)
{
    if (!mr || --mr->users > 0) {
        return;
    }
    if (mr->mr) {
        fi_close(&mr->mr->fid);
    }
    free(mr);
}
