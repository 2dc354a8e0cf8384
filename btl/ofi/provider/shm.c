#include <config.h>

#include <base/settings/log.h>
#include <btl/ofi/provider/leftovers.h>
#include <btl/ofi/provider/shm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHM_FOLDER "/dev/shm"
#define SHM_SCHEME "fi_shm://"

bool ofi_is_shm(const struct fabric_wanted *wanted)
{
    return strcmp(wanted->provider, "shm") == 0;
}

void ofi_shm_name(struct fabric *fabric)
{
    char address[OFI_LEFTOVER_NAME + 16], name[OFI_LEFTOVER_NAME];
    uint64_t space = ofi_leftover_space();

    unsigned removed = ofi_leftovers_remove(SHM_FOLDER, space);
    if (removed > 0) {
        log_info(LOG_BTL, "ofi: removed %u files that killed processes left in " SHM_FOLDER,
                 removed);
    }
    ofi_leftover_name(name, space, getpid());
    snprintf(address, sizeof(address), SHM_SCHEME "%s", name);
    char *copy = strdup(address);
    if (copy) {
        free(fabric->info->src_addr);
        fabric->info->src_addr = copy;
        fabric->info->src_addrlen = strlen(copy) + 1;
    }
}

int ofi_shm_reserve(const struct fabric *fabric)
{
    const char *address = (const char *) fabric->address.bytes;
    size_t scheme = strlen(SHM_SCHEME);
    char path[sizeof(SHM_FOLDER) + FABRIC_ADDRESS_MAX];

    if (fabric->address.size <= scheme || memcmp(address, SHM_SCHEME, scheme) != 0) {
        return 0;
    }
    snprintf(path, sizeof(path), SHM_FOLDER "/%.*s", (int) (fabric->address.size - scheme),
             address + scheme);
    return -ofi_leftover_reserve(path);
}

void ofi_shm_explain(char *reason, size_t reason_size)
{
    size_t length = strlen(reason);

    if (length < reason_size) {
        snprintf(reason + length, reason_size - length,
                 " (its endpoint is a file in " SHM_FOLDER ", which has room for %llu KiB)",
                 (unsigned long long) (ofi_leftover_room(SHM_FOLDER) >> 10));
    }
}
