#include <config.h>

#include <base/settings/log.h>
#include <btl/fabric/fabric_mr.h>
#include <btl/usnic/port/port.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 16, TX_PER_CHUNK = 64, CACHE_LINE = 64 };

/* A transmission that the provider has not ended. */
struct tx {
    struct pool_item item;
    struct fi_context2 context;
    struct list link; /* in the port's in_flight */
    void *owner;
};

static void tx_end(struct usnic_port *port, struct tx *tx)
{
    void *owner = tx->owner;

    list_remove(&tx->link);
    pool_put(&port->txs, tx);
    port->user->sent(port->arg, owner);
}

/* ---- opening ---- */

static struct fabric_wanted wanted_of(const struct usnic_port_config *config)
{
    return (struct fabric_wanted){
        .provider = config->provider,
        .domain = config->domain,
        .address = config->address,
        .endpoint = FI_EP_DGRAM,
        .receives = config->receives,
    };
}

/* least: bytes that it has to take. */
static int endpoint_open(struct fabric *fabric, const struct usnic_port_config *config,
                         size_t least, char *reason, size_t reason_size)
{
    const struct fabric_wanted wanted = wanted_of(config);
    int status = fabric_choose(fabric, &wanted, reason, reason_size);

    if (status == ORTE_SUCCESS && fabric->info->ep_attr->max_msg_size < least) {
        snprintf(reason, reason_size, "provider \"%s\" takes %zu bytes, which is less than %zu",
                 config->provider, fabric->info->ep_attr->max_msg_size, least);
        status = ORTE_ERR_NOT_AVAILABLE;
    }
    return status == ORTE_SUCCESS ? fabric_start(fabric, &wanted, reason, reason_size) : status;
}

static void sizes_take(struct usnic_port *port, const struct usnic_port_config *config)
{
    const struct fi_info *info = port->fabrics[USNIC_SOCKET_DATA].info;
    size_t largest = info->ep_attr->max_msg_size, inject = info->tx_attr->inject_size;

    port->prefix = info->mode & FI_MSG_PREFIX ? info->ep_attr->msg_prefix_size : 0;
    port->packet_bytes = largest - port->prefix;
    if (config->packet_bytes > 0 && config->packet_bytes < port->packet_bytes) {
        port->packet_bytes = config->packet_bytes;
    }
    if (port->packet_bytes > USNIC_PACKET_MOST) {
        port->packet_bytes = USNIC_PACKET_MOST;
    }
    port->inject = inject > port->prefix ? inject - port->prefix : 0;
}

/* The memory to send from is the data socket's; the other one needs a registration of its own. */
static int memory_share(struct usnic_port *port, char *reason, size_t reason_size)
{
    struct fabric *data = &port->fabrics[USNIC_SOCKET_DATA];
    struct fabric *priority = &port->fabrics[USNIC_SOCKET_PRIORITY];

    if (port->sockets < USNIC_SOCKETS || !fabric_wants_local(priority)) {
        return ORTE_SUCCESS;
    }
    port->send_mr = fabric_mr_open(priority, data->memory, data->memory_bytes, FI_SEND, 1);
    if (!port->send_mr) {
        snprintf(reason, reason_size, "registering memory for the second socket failed");
        return ORTE_ERR_NOT_AVAILABLE;
    }
    return ORTE_SUCCESS;
}

static int receives_open(struct usnic_port *port, const struct usnic_port_config *config,
                         size_t socket, char *reason, size_t reason_size)
{
    size_t bytes = port->packet_bytes + port->prefix;
    size_t room = fabric_receive_room(config->receives, bytes);
    struct fabric *fabric = &port->fabrics[socket];

    if (socket == USNIC_SOCKET_DATA) {
        room += config->sends * usnic_port_stride(port);
    }
    int status = fabric_map(fabric, room, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = fabric_receive_open(&port->receives[socket], fabric, config->receives, bytes,
                                     config->element_bytes);
        if (status != ORTE_SUCCESS) {
            snprintf(reason, reason_size,
                     "btl_usnic_rx_buffers is %zu, and provider \"%s\" takes %zu", config->receives,
                     config->provider, fabric->info->rx_attr->size);
        }
    }
    return status;
}

int usnic_port_open(struct usnic_port *port, const struct usnic_port_config *config,
                    const struct usnic_port_user *user, void *arg, char *reason, size_t reason_size)
{
    int status = ORTE_SUCCESS;

    *port = (struct usnic_port){.sockets = config->sockets, .user = user, .arg = arg};
    list_init(&port->in_flight);
    pool_init(&port->txs, sizeof(struct tx), _Alignof(struct tx), TX_PER_CHUNK, 0, NULL, NULL);
    for (size_t i = 0; i < port->sockets && status == ORTE_SUCCESS; i++) {
        status = endpoint_open(&port->fabrics[i], config, USNIC_PACKET_LEAST, reason, reason_size);
        if (status == ORTE_SUCCESS && i == USNIC_SOCKET_DATA) {
            sizes_take(port, config);
        }
        if (status == ORTE_SUCCESS) {
            status = receives_open(port, config, i, reason, reason_size);
        }
    }
    return status == ORTE_SUCCESS ? memory_share(port, reason, reason_size) : status;
}

int usnic_port_reopen(struct usnic_port *port, const struct usnic_port_config *config, char *reason,
                      size_t reason_size)
{
    int status = ORTE_SUCCESS;

    fabric_mr_release(port->send_mr);
    port->send_mr = NULL;
    for (size_t i = 0; i < port->sockets; i++) {
        fabric_shut(&port->fabrics[i]);
    }
    for (size_t i = 0; i < port->sockets && status == ORTE_SUCCESS; i++) {
        status = endpoint_open(&port->fabrics[i], config, port->prefix + port->packet_bytes, reason,
                               reason_size);
        if (status == ORTE_SUCCESS) {
            status = fabric_map(&port->fabrics[i], 0, reason, reason_size);
        }
        if (status == ORTE_SUCCESS) {
            fabric_receive_again(&port->receives[i]);
        }
    }
    return status == ORTE_SUCCESS ? memory_share(port, reason, reason_size) : status;
}

void usnic_port_stop(struct usnic_port *port)
{
    for (size_t i = 0; i < port->sockets; i++) {
        fabric_stop(&port->fabrics[i]);
    }
    for (struct list *link; (link = list_pop(&port->in_flight));) {
        tx_end(port, container_of(link, struct tx, link));
    }
}

void usnic_port_close(struct usnic_port *port)
{
    usnic_port_stop(port);
    fabric_mr_release(port->send_mr);
    for (size_t i = 0; i < port->sockets; i++) {
        fabric_close(&port->fabrics[i]);
        fabric_receive_close(&port->receives[i]);
    }
    pool_fini(&port->txs);
    port->sockets = 0;
}

/* ---- memory, addresses ---- */

size_t usnic_port_stride(const struct usnic_port *port)
{
    return (port->prefix + port->packet_bytes + CACHE_LINE - 1) & ~(size_t) (CACHE_LINE - 1);
}

uint8_t *usnic_port_carve(struct usnic_port *port, size_t count)
{
    return fabric_carve(&port->fabrics[USNIC_SOCKET_DATA], count * usnic_port_stride(port));
}

uint16_t usnic_port_number(const struct usnic_port *port, enum usnic_socket socket)
{
    in_port_t number = 0;

    if (socket < port->sockets) { /* of both families the port stands at the same place */
        memcpy(&number,
               port->fabrics[socket].address.bytes + offsetof(struct sockaddr_in, sin_port),
               sizeof(number));
    }
    return ntohs(number);
}

int usnic_port_locate(struct usnic_port *port, struct usnic_way *way,
                      const struct usnic_place *place)
{
    usnic_port_forget(port, way);
    for (size_t i = 0; i < port->sockets; i++) {
        const struct fabric *fabric = &port->fabrics[i];
        struct fabric_address address = usnic_place_address(place, i == USNIC_SOCKET_PRIORITY);
        if (!fabric->av || address.size != fabric->address.size ||
            fi_av_insert(fabric->av, address.bytes, 1, &way->at[i], 0, NULL) != 1) {
            if (i > 0) {
                fi_av_remove(port->fabrics[0].av, &way->at[0], 1, 0);
            }
            return OPAL_ERR_UNREACH;
        }
    }
    way->known = true;
    return OPAL_SUCCESS;
}

void usnic_port_forget(struct usnic_port *port, struct usnic_way *way)
{
    for (size_t i = 0; way->known && i < port->sockets; i++) {
        if (port->fabrics[i].av) {
            fi_av_remove(port->fabrics[i].av, &way->at[i], 1, 0);
        }
    }
    way->known = false;
}

size_t usnic_port_room(void)
{
    size_t room = 212992;
    FILE *file = fopen("/proc/sys/net/core/rmem_default", "re");

    if (file) {
        unsigned long said;
        room = fscanf(file, "%lu", &said) == 1 && said > 0 ? said : room;
        fclose(file);
    }
    return room;
}

/* ---- packets out ---- */

static ssize_t start(struct usnic_port *port, struct fabric *fabric, fi_addr_t to, uint8_t *bytes,
                     size_t size, void *owner)
{
    struct tx *tx = pool_get(&port->txs);
    void *desc = fabric == &port->fabrics[USNIC_SOCKET_DATA] ? fabric->memory_desc
                 : port->send_mr                             ? fi_mr_desc(port->send_mr->mr)
                                                             : NULL;

    if (!tx) {
        return -FI_EAGAIN;
    }
    tx->owner = owner;
    ssize_t rc = fi_send(fabric->ep, bytes, size, desc, to, &tx->context);
    if (rc != 0) {
        pool_put(&port->txs, tx);
        return rc;
    }
    list_append(&port->in_flight, &tx->link);
    return 0;
}

int usnic_port_transmit(struct usnic_port *port, const struct usnic_way *way,
                        enum usnic_socket socket, uint8_t *bytes, size_t size, void *owner)
{
    size_t at = socket < port->sockets ? socket : USNIC_SOCKET_DATA;
    struct fabric *fabric = &port->fabrics[at];
    bool injects = size <= port->inject;
    ssize_t rc = -FI_ESHUTDOWN;

    if (fabric->ep && way->known) {
        rc = injects ? fi_inject(fabric->ep, bytes - port->prefix, size + port->prefix, way->at[at])
                     : start(port, fabric, way->at[at], bytes - port->prefix, size + port->prefix,
                             owner);
    }
    if (rc == 0) {
        port->counts.packets_out++;
        return injects;
    }
    if (fabric_status((int) rc) == OPAL_ERR_OUT_OF_RESOURCE) {
        port->counts.busy++;
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    port->counts.refused++;
    unsigned held = 0;
    if (log_rate_ok("usnic packet", &held)) {
        log_info(LOG_BTL, "usnic: a packet of %zu bytes was refused: %s (%u more)", size,
                 fabric->lib ? fabric_strerror(fabric, (int) rc) : "it is closed", held);
    }
    return 1;
}

/* ---- what comes ---- */

static void completed(struct usnic_port *port, struct fabric_receives *receives,
                      const struct fi_cq_msg_entry *entry)
{
    if (!fabric_receive_has(receives, entry->op_context)) {
        tx_end(port, container_of(entry->op_context, struct tx, context));
        return;
    }
    struct fabric_rx *rx = entry->op_context;
    port->counts.packets_in++;
    if (entry->len < port->prefix || entry->len > receives->bytes ||
        !port->user->received(port->arg, rx, rx->bytes + port->prefix, entry->len - port->prefix)) {
        fabric_receive_post(receives, rx);
    }
}

static int read_errors(struct usnic_port *port, struct fabric *fabric,
                       struct fabric_receives *receives)
{
    struct fi_cq_err_entry error = {0};
    int events = 0;

    while (events < BATCH && fi_cq_readerr(fabric->cq, &error, 0) > 0) {
        events++;
        if (!fabric_receive_has(receives, error.op_context)) {
            if (error.op_context) {
                tx_end(port, container_of(error.op_context, struct tx, context));
            }
        } else if (error.err != FI_ECANCELED) {
            port->counts.receive_errors++;
            fabric_receive_post(receives, error.op_context);
        }
        error = (struct fi_cq_err_entry){0};
    }
    return events;
}

/* One packet alone is often all there is, and to look for another costs a system call before it can
 * be answered: the rest is for the next poll, and many are taken at once when that finds more. */
static int socket_poll(struct usnic_port *port, size_t socket, int most)
{
    struct fabric *fabric = &port->fabrics[socket];
    struct fabric_receives *receives = &port->receives[socket];
    struct fi_cq_msg_entry entries[BATCH];
    int events = 0;

    most = port->found[socket] ? most : 1;
    while (events < most) {
        ssize_t count = fi_cq_read(fabric->cq, entries, BATCH);
        if (count == -FI_EAVAIL) {
            events += read_errors(port, fabric, receives) + 1;
            continue;
        }
        for (ssize_t i = 0; i < count; i++) {
            completed(port, receives, &entries[i]);
        }
        if (count <= 0) {
            break;
        }
        events += (int) count;
    }
    port->found[socket] = events > 0;
    if (!list_empty(&receives->unposted)) {
        port->counts.reposts++;
        fabric_receive_repost(receives);
    }
    return events;
}

int usnic_port_poll(struct usnic_port *port, int most)
{
    int events = 0;

    for (size_t i = port->sockets; i-- > 0;) {
        if (port->fabrics[i].cq) { /* none: a restart failed */
            events += socket_poll(port, i, most);
        }
    }
    return events;
}

void usnic_port_release(struct usnic_port *port, struct fabric_rx *rx)
{
    bool second = port->sockets > 1 &&
                  fabric_receive_has(&port->receives[USNIC_SOCKET_PRIORITY], &rx->context);

    fabric_receive_post(&port->receives[second ? USNIC_SOCKET_PRIORITY : USNIC_SOCKET_DATA], rx);
}
