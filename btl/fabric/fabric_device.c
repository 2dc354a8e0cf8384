#include <config.h>

#include <arpa/inet.h>
#include <btl/fabric/fabric_device.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160, ADDRESS_BYTES = 128 };

struct offer {
    char name[NAME_BYTES], address[ADDRESS_BYTES];
};

static void print_address(char text[ADDRESS_BYTES], const struct fi_info *info)
{
    const uint8_t *bytes = info->src_addr;

    text[0] = '\0';
    if (!bytes) {
        return;
    }
    if (info->addr_format == FI_SOCKADDR_IN) {
        (void) !inet_ntop(AF_INET, bytes + 4, text, ADDRESS_BYTES);
    } else if (info->addr_format == FI_SOCKADDR_IN6) {
        (void) !inet_ntop(AF_INET6, bytes + 8, text, ADDRESS_BYTES);
    } else if (info->addr_format == FI_ADDR_STR) {
        snprintf(text, ADDRESS_BYTES, "%.*s", (int) info->src_addrlen, (const char *) bytes);
    }
}

static struct offer offer_of(const struct fi_info *info)
{
    struct offer offer;

    snprintf(offer.name, sizeof(offer.name), "%s %s", info->fabric_attr->prov_name,
             info->domain_attr->name);
    print_address(offer.address, info);
    return offer;
}

/* libfabric offers a domain once for each of its protocols and modes. */
static bool came_before(const struct fi_info *all, const struct fi_info *info)
{
    struct offer mine = offer_of(info);

    for (const struct fi_info *at = all; at != info; at = at->next) {
        struct offer other = offer_of(at);
        if (strcmp(mine.name, other.name) == 0 && strcmp(mine.address, other.address) == 0) {
            return true;
        }
    }
    return false;
}

/* What the choice is made among; domain as in fabric_devices_each. */
struct choice {
    const char *provider, *domain;
    bool taken; /* the first was seen */
};

static const char *why_unused(const struct fi_info *info, struct choice *choice)
{
    const char *domain = choice->domain;
    bool first = !choice->taken;

    if (strcmp(info->fabric_attr->prov_name, choice->provider) != 0) {
        return "another provider is chosen";
    }
    choice->taken = true;
    if (domain && (*domain ? strcmp(info->domain_attr->name, domain) != 0 : !first)) {
        return *domain ? "another domain is chosen" : "not the provider's first domain";
    }
    return NULL;
}

static void show(const struct fi_info *info, const char *unused, keel_device_fn visit, void *arg)
{
    const struct fi_link_attr *link = info->nic ? info->nic->link_attr : NULL;
    struct offer offer = offer_of(info);

    visit(arg, &(struct keel_device){
                   .name = offer.name,
                   .address = offer.address,
                   .about = "",
                   .mtu_bytes = link ? (uint32_t) link->mtu : 0,
                   .speed_mbps = link ? (uint32_t) (link->speed / 1000000) : 0,
                   .numa_node = -1,
                   .unused = unused,
               });
}

void fabric_devices_each(enum fi_ep_type endpoint, const char *provider, const char *domain,
                         keel_device_fn visit, void *arg)
{
    const struct libfabric *lib;
    struct choice choice = {.provider = provider, .domain = domain};
    struct fi_info *all;
    char reason[256] = "out of memory";

    if (fabric_offers(&lib, endpoint, &all, reason, sizeof(reason)) != ORTE_SUCCESS) {
        visit(arg, &(struct keel_device){.name = "libfabric",
                                         .address = "",
                                         .about = "",
                                         .numa_node = -1,
                                         .unused = reason});
        return;
    }
    for (const struct fi_info *info = all; info; info = info->next) {
        if (!fabric_is_link_local(info) && !came_before(all, info)) {
            show(info, why_unused(info, &choice), visit, arg);
        }
    }
    if (all) {
        lib->freeinfo(all);
    }
}
