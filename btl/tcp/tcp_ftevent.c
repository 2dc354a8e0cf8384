/* A restart of the process: other listeners, another card, and endpoints that know no card. Handles
 * stay good, since regions are this process's own memory. */
#include <config.h>

#include <base/log.h>
#include <btl/tcp/tcp_conn.h>

int tcp_restart(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);
    struct tcp_process *process = tcp->process;
    char reason[256];
    bool last = true;

    tcp_endpoints_restart(tcp);
    tcp_enter(tcp);
    tcp_conns_close(tcp);
    tcp_listeners_close(tcp);
    tcp_leave(tcp);
    tcp->peers.cards.life++;
    for (size_t i = tcp->number + 1; i < NETCARD_ADDRESSES; i++) {
        last = last && !process->modules[i];
    }
    if (!last) {
        return OPAL_SUCCESS; /* the last one opens for all */
    }
    int status = tcp_process_listen(process, &tcp->params, false, reason, sizeof(reason));
    if (status != OPAL_SUCCESS) {
        log_warn(LOG_BTL, "tcp: no other listeners after a restart: %s", reason);
    }
    return status;
}

int tcp_ft_event(int state)
{
    return btl_component_ft_event(&btl_tcp_component, state);
}
