/* What libfabric's datagrams can do without anything above them: two processes on the loopback
 * interface, each on a processor of its own, that poll endpoints of the provider udp.
 *
 *   dgram SIZE SECONDS trip     half trip of a packet
 *   dgram SIZE SECONDS stream   one direction, in the largest packets, of which few enough are
 * under way to fit into the receiver's buffer
 *
 * Prints the seconds of one: the median of its batches, the mean, and the processor time of both
 * processes. */
#include <config.h>

#include <bench/pair.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECEIVES = 256, PACKET_MOST = 2048, WINDOW = 64, CONFIRM = 16 };

/* What both processes see. */
struct shared {
    uint8_t names[2][64];
    _Atomic int ready;
};

struct end {
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t other;
    size_t packet; /* bytes of the largest */
    struct fi_context2 contexts[RECEIVES];
    uint8_t buffers[RECEIVES][PACKET_MOST];
    uint8_t bytes[PACKET_MOST];
    size_t size; /* of an operation */
};

static void must(int rc, const char *what)
{
    if (rc != 0) {
        fprintf(stderr, "dgram: %s: %s\n", what, fi_strerror(-rc));
        _exit(1);
    }
}

static void post(struct end *end, struct fi_context2 *context)
{
    must((int) fi_recv(end->ep, end->buffers[context - end->contexts], end->packet, NULL,
                       FI_ADDR_UNSPEC, context),
         "receive");
}

static struct fi_info *choose(void)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;

    if (!hints) {
        must(-FI_ENOMEM, "hints");
    }
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_DGRAM;
    hints->fabric_attr->prov_name = strdup("udp");
    hints->domain_attr->name = strdup("lo");
    setenv("FI_PROVIDER", "udp", 0);
    must(fi_getinfo(FI_VERSION(1, 14), "127.0.0.1", NULL, FI_SOURCE, hints, &info), "provider udp");
    fi_freeinfo(hints);
    return info;
}

static struct fid_av *end_open(struct end *end, uint8_t name[64])
{
    struct fi_info *info = choose();
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fi_av_attr av_attr = {.type = FI_AV_UNSPEC};
    struct fi_cq_attr cq_attr = {.size = 2048, .format = FI_CQ_FORMAT_MSG};
    size_t length = 64;

    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fabric");
    must(fi_domain(fabric, info, &domain, NULL), "domain");
    must(fi_av_open(domain, &av_attr, &av, NULL), "address vector");
    must(fi_cq_open(domain, &cq_attr, &end->cq, NULL), "completion queue");
    must(fi_endpoint(domain, info, &end->ep, NULL), "endpoint");
    must(fi_ep_bind(end->ep, &av->fid, 0), "endpoint");
    must(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), "endpoint");
    must(fi_enable(end->ep), "endpoint");
    must(fi_getname(&end->ep->fid, name, &length), "address");
    size_t most = info->ep_attr->max_msg_size;
    end->packet = most < PACKET_MOST ? most : PACKET_MOST;
    for (size_t i = 0; i < RECEIVES; i++) {
        post(end, &end->contexts[i]);
    }
    fi_freeinfo(info);
    return av;
}

static void packet_send(struct end *end, size_t size)
{
    ssize_t rc;

    while ((rc = fi_inject(end->ep, end->bytes, size, end->other)) == -FI_EAGAIN) {
    }
    must((int) rc, "send");
}

/* Waits for a packet; its first byte. */
static uint8_t packet_take(struct end *end)
{
    struct fi_cq_msg_entry entry;
    ssize_t rc;

    while ((rc = fi_cq_read(end->cq, &entry, 1)) == -FI_EAGAIN) {
    }
    must(rc == 1 ? 0 : (int) rc, "receive");
    struct fi_context2 *context = entry.op_context;
    uint8_t first = end->buffers[context - end->contexts][0];
    post(end, context);
    return first;
}

static void trips(void *arg, unsigned count)
{
    struct end *end = arg;

    for (unsigned i = 0; i < count; i++) {
        packet_send(end, end->size);
        (void) packet_take(end);
    }
}

static void stream(void *arg, unsigned count)
{
    struct end *end = arg;
    size_t packets = (end->size + end->packet - 1) / end->packet * count, under_way = 0;

    packets = (packets + CONFIRM - 1) / CONFIRM * CONFIRM; /* each of which is confirmed */
    for (size_t i = 0; i < packets; i++) {
        while (under_way >= WINDOW) {
            (void) packet_take(end);
            under_way -= CONFIRM;
        }
        packet_send(end, end->packet);
        under_way++;
    }
    for (; under_way > 0; under_way -= CONFIRM) {
        (void) packet_take(end);
    }
}

static void answer(struct end *end, bool streams)
{
    for (unsigned count = 1;; count++) {
        (void) packet_take(end);
        if (!streams) {
            packet_send(end, end->size);
        } else if (count % CONFIRM == 0) {
            packet_send(end, 8);
        }
    }
}

int main(int argc, char **argv)
{
    static struct end end;
    size_t size = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    bool streams = argc == 4 && strcmp(argv[3], "stream") == 0;

    if (size == 0 || (!streams && (strcmp(argv[3], "trip") != 0 || size > 1024))) {
        fprintf(stderr, "Usage: dgram SIZE SECONDS trip|stream (trips: up to 1024 bytes)\n");
        return 2;
    }
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        must(-FI_ENOMEM, "memory");
    }
    pid_t child = fork();
    int me = child == 0;
    if (child < 0 || (me && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)) {
        must(-FI_EIO, "fork");
    }
    pair_bind(me);
    end.size = size;
    struct fid_av *av = end_open(&end, shared->names[me]);
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < 2) {
        sched_yield();
    }
    must(fi_av_insert(av, shared->names[!me], 1, &end.other, 0, NULL) == 1 ? 0 : -FI_EINVAL,
         "the other end's address");
    if (me) {
        answer(&end, streams); /* until it is killed */
    }
    struct figure figure = pair_measure(child, streams ? stream : trips, &end, atof(argv[2]));
    double parts = streams ? 1 : 2;
    printf("%.6g %.6g %.6g\n", figure.median / parts, figure.mean / parts, figure.cpu / parts);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
