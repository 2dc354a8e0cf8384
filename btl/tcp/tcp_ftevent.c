/* A restart of the process: other listeners, another card, and endpoints that know no card. Handles
 * stay good, since regions are this process's own memory. */
#include <config.h>

#include <btl/tcp/tcp_endpoint.h>

static int restart(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp_endpoints_restart(tcp);
    return tcp_reopen(tcp);
}

int tcp_ft_event(int state)
{
    struct tcp_module *tcp = tcp_module();

    return btl_module_ft_event(tcp ? &tcp->super : NULL, state, restart);
}
