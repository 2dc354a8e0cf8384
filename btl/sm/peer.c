#include <config.h>

#include <base/data/crypto.h>
#include <base/settings/fault.h>
#include <base/text/reason.h>
#include <btl/sm/peer.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEER_PATH 64
#define MEMFD_LINK "/memfd:" SM_MEMFD_NAME

/* Whether the link to a peer's memfd names it; else errno tells why not. */
static bool memfd_named(const struct sm_card *card, char path[PEER_PATH])
{
    char expected[sizeof(MEMFD_LINK) + SM_NONCE_TEXT] = MEMFD_LINK, target[128];
    crypto_to_hex(expected + strlen(MEMFD_LINK), card->nonce, SM_NONCE_BYTES);
    snprintf(path, PEER_PATH, "/proc/%u/fd/%u", card->pid, card->fd);
    ssize_t length = readlink(path, target, sizeof(target));
    if (length < 0) {
        return false;
    }
    errno = ENOENT;
    return (size_t) length >= strlen(expected) && memcmp(target, expected, strlen(expected)) == 0;
}

/* Opens a peer's memfd. The link's text is looked at first: opening whatever another process has
 * under that number might block or do things. */
static int open_peer_memfd(const struct sm_card *card)
{
    char path[PEER_PATH];
    if (!memfd_named(card, path)) {
        return -1;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && (fcntl(fd, F_GET_SEALS) & SM_MEMFD_SEALS) != SM_MEMFD_SEALS) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

/* A fault point, for what cannot be opened. */
static bool may_attach(void)
{
    struct fault fault = fault_at("btl.sm.attach");
    if (fault.action == FAULT_ERROR) {
        errno = (int) fault.value;
    }
    return fault.action != FAULT_ERROR;
}

bool sm_peer_reachable(const struct sm_card *card, const char *session_dir)
{
    char link[PEER_PATH];
    if (!may_attach() || card->uid != geteuid()) {
        return false;
    }
    if (card->backing == SM_BACKING_MEMFD) {
        return memfd_named(card, link);
    }
    char *path = sm_file_path(session_dir, card->file);
    bool there = path && access(path, R_OK | W_OK) == 0;
    free(path);
    return there;
}

static int open_peer(const struct sm_card *card, const char *session_dir)
{
    if (!may_attach()) {
        return -1;
    }
    if (card->backing == SM_BACKING_MEMFD) {
        return open_peer_memfd(card);
    }
    char *path = sm_file_path(session_dir, card->file);
    if (!path) {
        errno = ENOENT;
        return -1;
    }
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    free(path);
    return fd;
}

/* Takes the peer's header apart: everything is copied once and then checked. */
static int read_header(struct sm_peer *peer, const struct sm_card *card, size_t size)
{
    const struct sm_header *header = peer->header;
    peer->shape = header->shape;
    peer->nonce_address = header->nonce_address;
    bool fits = crypto_equal(header->nonce, card->nonce, SM_NONCE_BYTES) &&
                header->magic == SM_MAGIC && header->version == SM_LAYOUT_VERSION &&
                sm_layout_make(&peer->layout, &peer->shape) == ORTE_SUCCESS &&
                peer->layout.size == size;
    return fits ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
}

static int map_peer(struct sm_peer *peer, int fd, const struct sm_card *card, size_t size)
{
    peer->layout.size = size;
    void *base = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    peer->base = base;
    peer->header = base;
    peer->ringer.fd = -1;
    int status = read_header(peer, card, size);
    if (status != ORTE_SUCCESS) {
        peer->layout.size = size;
        return status;
    }
    size_t board = peer->layout.board;
    if (mmap(peer->base + board, peer->layout.lines - board, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, fd, (off_t) board) == MAP_FAILED) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    peer->board = (void *) (peer->base + board);
    peer->lines = (const void *) (peer->base + peer->layout.lines);
    sm_ringer_init(&peer->ringer, &peer->header->alarm, card->pid);
    return ORTE_SUCCESS;
}

int sm_peer_attach(struct sm_peer **peer, const struct sm_card *card, const char *session_dir,
                   char *reason, size_t reason_size)
{
    int fd = open_peer(card, session_dir);
    if (fd < 0) {
        return reason_set(ORTE_ERR_UNREACH, reason, reason_size,
                          "opening the segment of process %u: %s", card->pid, strerror(errno));
    }
    struct stat found;
    struct sm_peer *made = NULL;
    if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
        found.st_uid != card->uid || found.st_size < (off_t) sizeof(struct sm_header) ||
        (uint64_t) found.st_size != card->size || card->size > SM_SEGMENT_MAX) {
        reason_set(0, reason, reason_size, "what process %u published is not its segment",
                   card->pid);
        goto close_file;
    }
    made = calloc(1, sizeof(*made));
    int status = made ? map_peer(made, fd, card, (size_t) card->size) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_ERR_NOT_FOUND) {
        reason_set(0, reason, reason_size, "the segment of process %u does not fit its card",
                   card->pid);
    } else if (status != ORTE_SUCCESS) {
        reason_set(0, reason, reason_size, "mapping the segment of process %u: %s", card->pid,
                   strerror(errno));
    }
    if (status != ORTE_SUCCESS) {
        sm_peer_detach(made);
        made = NULL;
    }
close_file:
    close(fd);
    if (made) {
        *peer = made;
    }
    return made ? ORTE_SUCCESS : ORTE_ERR_UNREACH;
}

void sm_peer_detach(struct sm_peer *peer)
{
    if (peer && peer->base) {
        sm_ringer_fini(&peer->ringer);
        munmap(peer->base, peer->layout.size);
    }
    free(peer);
}

const void *sm_peer_span(struct sm_peer *peer, enum sm_area area, uint64_t offset, uint64_t length)
{
    size_t start = peer->layout.start[area], whole = peer->layout.end[area] - start;
    if (offset < start || offset - start > whole || length > whole - (offset - start)) {
        return NULL;
    }
    size_t end = (size_t) (offset - start + length);
    if (end > peer->committed[area]) {
        uint64_t committed = sm_committed_observe(peer->header, area);
        peer->committed[area] = committed < whole ? (size_t) committed : whole;
        if (end > peer->committed[area]) {
            return NULL;
        }
    }
    return peer->base + offset;
}
