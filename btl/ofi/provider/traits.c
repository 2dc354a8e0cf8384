#include <config.h>

#include <btl/ofi/provider/traits.h>
#include <string.h>

enum { RXD_WINDOW = 32 << 10 };

static const char in_silence[] = "a small operation that the target refuses never ends";
static const char with_connection[] = "an operation that the target refuses ends the connection";

static const struct ofi_traits known[] = {
    {.provider = "verbs;ofi_rxm", .is_hardware = true},
    {.provider = "cxi", .is_hardware = true},
    {.provider = "gni", .is_hardware = true},
    {.provider = "shm", .no_rma = in_silence, .no_atomics = in_silence},
    {.provider = "tcp;ofi_rxm",
     .no_rma = with_connection,
     .no_atomics = with_connection,
     .stays = true},
    {.provider = "net;ofi_rxm",
     .no_rma = with_connection,
     .no_atomics = with_connection,
     .stays = true},
    /* Its own window is larger than the buffer of a UDP socket, and what overflows costs seconds.
     */
    {.provider = "udp;ofi_rxd", .no_atomics = "they end the process", .window = RXD_WINDOW},
    {.provider = "ofi_rxd", .window = RXD_WINDOW},
};

static bool is_of(const char *provider, const struct ofi_traits *traits)
{
    const char *layer = strrchr(provider, ';');

    return strcmp(provider, traits->provider) == 0 ||
           (layer && strcmp(layer + 1, traits->provider) == 0);
}

const struct ofi_traits *ofi_traits_of(const char *provider)
{
    static const struct ofi_traits unknown = {.provider = ""};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (is_of(provider, &known[i])) {
            return &known[i];
        }
    }
    return &unknown;
}
