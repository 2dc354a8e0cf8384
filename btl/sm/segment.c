#include <config.h>

#include <base/crypto.h>
#include <base/fault.h>
#include <btl/sm/process.h>
#include <btl/sm/segment.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x4d534c4bu /* "KLSM" */
#define LAYOUT_VERSION 3
#define MEMFD_NAME "keel-sm-" /* and the nonce, so that a link tells whose memfd it is */
#define MEMFD_LINK "/memfd:" MEMFD_NAME
#define NONCE_TEXT (2 * SM_NONCE_BYTES + 1)
#define COMMIT_STEP ((size_t) 128 * 1024)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* At the head of a segment. Its owner writes it; all but committed before the card is published. */
struct sm_header {
    uint8_t nonce[SM_NONCE_BYTES];
    uint32_t magic;
    uint32_t version;
    uint64_t nonce_address;
    struct sm_shape shape;
    _Atomic uint64_t committed[SM_AREAS];
    struct sm_alarm alarm __attribute__((aligned(SM_SLOT_BYTES)));    /* senders look at it */
    _Atomic uint32_t putting __attribute__((aligned(SM_SLOT_BYTES))); /* recall.h */
};

static const uint64_t area_limits[SM_AREAS] = {65536, 1 << 20, 1 << 20, 1 << 24};

static int fail(int status, char *reason, size_t reason_size, const char *format, ...)
    KEEL_PRINTF(4, 5);

static int fail(int status, char *reason, size_t reason_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, reason_size, format, args);
    va_end(args);
    return status;
}

static size_t page_round(uint64_t size)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    return (size_t) ((size + page - 1) / page * page);
}

static bool shape_ok(const struct sm_shape *shape)
{
    if (shape->peers == 0 || shape->peers > 65536 || !sm_ring_count_ok(shape->ring_slots)) {
        return false;
    }
    for (int area = 0; area < SM_AREAS; area++) {
        if (shape->units[area] == 0 || shape->units[area] > area_limits[area] ||
            shape->unit_bytes[area] == 0 || shape->unit_bytes[area] > 1 << 26 ||
            shape->unit_bytes[area] % SM_SLOT_BYTES != 0) {
            return false;
        }
    }
    return shape->unit_bytes[SM_AREA_RINGS] == sm_ring_bytes(shape->ring_slots);
}

int sm_layout_make(struct sm_layout *layout, const struct sm_shape *shape)
{
    if (!shape_ok(shape)) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct sm_layout made = {.board = page_round(sizeof(struct sm_header))};
    made.lines = made.board + page_round(sizeof(struct sm_board) +
                                         (uint64_t) shape->peers * sizeof(struct sm_cell));
    uint64_t end = made.lines + page_round((uint64_t) shape->peers * sizeof(struct sm_line));
    for (int area = 0; area < SM_AREAS; area++) {
        uint64_t size = (uint64_t) shape->units[area] * shape->unit_bytes[area];
        if (size > SM_SEGMENT_MAX - end || end + size > SIZE_MAX / 2) {
            return ORTE_ERR_BAD_PARAM;
        }
        made.start[area] = (size_t) end;
        made.end[area] = (size_t) (end + size);
        end = page_round(end + size);
    }
    made.size = (size_t) end;
    *layout = made;
    return ORTE_SUCCESS;
}

/* Gives memory to [offset, offset + size) of the segment. */
static int allocate(int fd, size_t offset, size_t size)
{
    struct fault fault = fault_at("btl.sm.memory");
    int error = fault.action == FAULT_ERROR ? (int) fault.value : EINTR;
    while (error == EINTR && fault.action != FAULT_ERROR) {
        error = posix_fallocate(fd, (off_t) offset, (off_t) size);
    }
    errno = error;
    return error == 0 ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Beyond the limit for file sizes the kernel would send SIGXFSZ. */
static bool size_allowed(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

static int set_size(struct sm_segment *segment, char *reason, size_t reason_size)
{
    size_t size = segment->layout.size;
    if (!size_allowed(size)) {
        return fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                    "a segment of %zu bytes is above the limit for file sizes (ulimit -f)", size);
    }
    if (ftruncate(segment->fd, (off_t) size) < 0 || fchmod(segment->fd, 0600) < 0) {
        return fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "segment of %zu bytes: %s", size,
                    strerror(errno));
    }
    if (!segment->path && fcntl(segment->fd, F_ADD_SEALS, SEALS) < 0) {
        return fail(ORTE_ERR_NOT_SUPPORTED, reason, reason_size, "sealing a memfd: %s",
                    strerror(errno));
    }
    return ORTE_SUCCESS;
}

/* Whether others, who may look no closer than this process itself, can open fd through /proc. */
static bool reopens(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long) getpid(), fd);
    int again = open(path, O_RDWR | O_CLOEXEC);
    if (again < 0) {
        return false;
    }
    close(again);
    return true;
}

static int open_memfd(struct sm_segment *segment, char *reason, size_t reason_size)
{
    char name[sizeof(MEMFD_NAME) + NONCE_TEXT] = MEMFD_NAME;
    crypto_to_hex(name + strlen(MEMFD_NAME), segment->card.nonce, SM_NONCE_BYTES);
    segment->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (segment->fd < 0) {
        return fail(ORTE_ERR_NOT_SUPPORTED, reason, reason_size, "memfd_create: %s",
                    strerror(errno));
    }
    if (!reopens(segment->fd)) {
        int status = fail(ORTE_ERR_NOT_SUPPORTED, reason, reason_size,
                          "a memfd cannot be opened through /proc: %s", strerror(errno));
        close(segment->fd);
        segment->fd = -1;
        return status;
    }
    segment->card.backing = SM_BACKING_MEMFD;
    segment->card.fd = (uint32_t) segment->fd;
    return ORTE_SUCCESS;
}

static char *file_path(const char *session_dir, const uint8_t name[SM_NONCE_BYTES])
{
    char hex[2 * SM_NONCE_BYTES + 1];
    crypto_to_hex(hex, name, SM_NONCE_BYTES);
    char *path;
    return session_dir && asprintf(&path, "%s/sm-%s", session_dir, hex) >= 0 ? path : NULL;
}

static int open_file(struct sm_segment *segment, const char *session_dir, char *reason,
                     size_t reason_size)
{
    if (!session_dir) {
        return fail(ORTE_ERR_NOT_SUPPORTED, reason, reason_size, "no session folder for a file");
    }
    crypto_random(segment->card.file, SM_NONCE_BYTES);
    char *path = file_path(session_dir, segment->card.file);
    if (!path) {
        return fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "out of memory");
    }
    segment->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (segment->fd < 0) {
        int status =
            fail(ORTE_ERR_FILE_OPEN_FAILURE, reason, reason_size, "%s: %s", path, strerror(errno));
        free(path);
        return status;
    }
    segment->path = path;
    segment->card.backing = SM_BACKING_FILE;
    return ORTE_SUCCESS;
}

static int open_backing(struct sm_segment *segment, enum sm_backing_choice choice,
                        const char *session_dir, char *reason, size_t reason_size)
{
    int status = ORTE_ERR_NOT_SUPPORTED;
    crypto_random(segment->card.nonce, SM_NONCE_BYTES);
    if (choice != SM_BACKING_CHOICE_FILE) {
        status = open_memfd(segment, reason, reason_size);
    }
    if (status != ORTE_SUCCESS && choice != SM_BACKING_CHOICE_MEMFD) {
        status = open_file(segment, session_dir, reason, reason_size);
    }
    return status;
}

static int map_own(struct sm_segment *segment, char *reason, size_t reason_size)
{
    int status = allocate(segment->fd, 0, segment->layout.start[0]);
    if (status != ORTE_SUCCESS) {
        return fail(status, reason, reason_size, "memory for a segment: %s", strerror(errno));
    }
    void *base =
        mmap(NULL, segment->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
    if (base == MAP_FAILED) {
        return fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "mapping a segment: %s",
                    strerror(errno));
    }
    segment->base = base;
    segment->header = base;
    segment->board = (void *) (segment->base + segment->layout.board);
    segment->lines = (void *) (segment->base + segment->layout.lines);
    segment->alarm = &segment->header->alarm;
    segment->putting = &segment->header->putting;
    return ORTE_SUCCESS;
}

static int fill_header(struct sm_segment *segment, char *reason, size_t reason_size)
{
    struct sm_card *card = &segment->card;
    card->pid = (uint32_t) getpid();
    card->uid = (uint32_t) geteuid();
    card->size = segment->layout.size;
    if (sm_process_start_time(getpid(), &card->start_time) != ORTE_SUCCESS) {
        return fail(ORTE_ERR_NOT_SUPPORTED, reason, reason_size, "/proc/self/stat: unreadable");
    }
    struct sm_header *header = segment->header;
    memcpy(header->nonce, card->nonce, SM_NONCE_BYTES);
    header->magic = MAGIC;
    header->version = LAYOUT_VERSION;
    header->nonce_address = (uint64_t) (uintptr_t) header->nonce;
    header->shape = segment->shape;
    return ORTE_SUCCESS;
}

/* Memory of the layout's, mapped and empty but for the header. */
static int segment_open(struct sm_segment *segment, enum sm_backing_choice choice,
                        const char *session_dir, char *reason, size_t reason_size)
{
    int status = open_backing(segment, choice, session_dir, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = set_size(segment, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = map_own(segment, reason, reason_size);
    }
    return status == ORTE_SUCCESS ? fill_header(segment, reason, reason_size) : status;
}

int sm_segment_create(struct sm_segment **segment, const struct sm_shape *shape,
                      enum sm_backing_choice choice, const char *session_dir, char *reason,
                      size_t reason_size)
{
    struct sm_segment *made = calloc(1, sizeof(*made));
    if (!made || crypto_open() != ORTE_SUCCESS) {
        free(made);
        return fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "out of memory");
    }
    made->fd = -1;
    made->shape = *shape;
    int status = sm_layout_make(&made->layout, shape);
    if (status != ORTE_SUCCESS) {
        fail(status, reason, reason_size, "the segment's parameters do not fit together");
    } else {
        status = segment_open(made, choice, session_dir, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        sm_segment_destroy(made);
        return status;
    }
    *segment = made;
    return ORTE_SUCCESS;
}

static void backing_close(struct sm_segment *segment)
{
    if (segment->fd >= 0) {
        close(segment->fd);
    }
    if (segment->path) {
        unlink(segment->path);
        free(segment->path);
    }
}

void sm_segment_destroy(struct sm_segment *segment)
{
    if (!segment) {
        return;
    }
    if (segment->base) {
        munmap(segment->base, segment->layout.size);
    }
    backing_close(segment);
    free(segment);
}

/* Owner to peers: a peer that observes this count may touch so many bytes of the area. */
static void committed_publish(struct sm_segment *segment, enum sm_area area, size_t bytes)
{
    atomic_store_explicit(&segment->header->committed[area], bytes, memory_order_release);
}

static uint64_t committed_observe(const struct sm_header *header, enum sm_area area)
{
    return atomic_load_explicit(&header->committed[area], memory_order_acquire);
}

int sm_segment_commit(struct sm_segment *segment, enum sm_area area, uint32_t count)
{
    size_t needed = (size_t) count * segment->shape.unit_bytes[area];
    size_t done = (size_t) committed_observe(segment->header, area);
    if (needed <= done) {
        return ORTE_SUCCESS;
    }
    if (count > segment->shape.units[area]) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    size_t whole = segment->layout.end[area] - segment->layout.start[area];
    size_t until = needed > whole - COMMIT_STEP || whole < COMMIT_STEP
                       ? whole
                       : (needed + COMMIT_STEP - 1) / COMMIT_STEP * COMMIT_STEP;
    until = until < whole ? until : whole;
    int status = allocate(segment->fd, segment->layout.start[area] + done, until - done);
    if (status == ORTE_SUCCESS) {
        committed_publish(segment, area, until);
    }
    return status;
}

/* What callers may hold pointers to, or peers handles of. */
static int copy_areas(struct sm_segment *to, const struct sm_segment *from)
{
    static const enum sm_area kept[] = {SM_AREA_SMALL, SM_AREA_LARGE, SM_AREA_REGIONS};
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        enum sm_area area = kept[i];
        size_t start = from->layout.start[area];
        size_t bytes = (size_t) committed_observe(from->header, area);
        int status = bytes > 0 ? allocate(to->fd, start, bytes) : ORTE_SUCCESS;
        if (status != ORTE_SUCCESS) {
            return status;
        }
        memcpy(to->base + start, from->base + start, bytes);
        committed_publish(to, area, bytes);
    }
    return ORTE_SUCCESS;
}

int sm_segment_renew(struct sm_segment *segment, enum sm_backing_choice choice,
                     const char *session_dir, char *reason, size_t reason_size)
{
    struct sm_segment fresh = {.fd = -1, .shape = segment->shape, .layout = segment->layout};
    size_t size = segment->layout.size;
    int status = segment_open(&fresh, choice, session_dir, reason, reason_size);
    if (status == ORTE_SUCCESS && copy_areas(&fresh, segment) != ORTE_SUCCESS) {
        status = fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "memory for a segment: %s",
                      strerror(errno));
    }
    if (status == ORTE_SUCCESS && mremap(fresh.base, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                                         segment->base) == MAP_FAILED) {
        status = fail(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "moving a segment: %s",
                      strerror(errno));
    }
    if (status != ORTE_SUCCESS) {
        if (fresh.base) {
            munmap(fresh.base, size);
        }
        backing_close(&fresh);
        return status;
    }
    backing_close(segment);
    segment->fd = fresh.fd;
    segment->path = fresh.path;
    segment->card = fresh.card;
    segment->header->nonce_address = (uint64_t) (uintptr_t) segment->header->nonce;
    return ORTE_SUCCESS;
}

void *sm_segment_unit(const struct sm_segment *segment, enum sm_area area, uint32_t index)
{
    return segment->base + segment->layout.start[area] +
           (size_t) index * segment->shape.unit_bytes[area];
}

#define PEER_PATH 64

/* Whether the link to a peer's memfd names it; else errno tells why not. */
static bool memfd_named(const struct sm_card *card, char path[PEER_PATH])
{
    char expected[sizeof(MEMFD_LINK) + NONCE_TEXT] = MEMFD_LINK, target[128];
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
    if (fd >= 0 && (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS) {
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
    char *path = file_path(session_dir, card->file);
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
    char *path = file_path(session_dir, card->file);
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
                header->magic == MAGIC && header->version == LAYOUT_VERSION &&
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
        errno = ENOENT;
        return status;
    }
    size_t board = peer->layout.board;
    if (mmap(peer->base + board, peer->layout.lines - board, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, fd, (off_t) board) == MAP_FAILED) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    peer->board = (void *) (peer->base + board);
    peer->lines = (const void *) (peer->base + peer->layout.lines);
    peer->putting = &peer->header->putting;
    sm_ringer_init(&peer->ringer, &peer->header->alarm, card->pid);
    return ORTE_SUCCESS;
}

int sm_peer_attach(struct sm_peer **peer, const struct sm_card *card, const char *session_dir,
                   char *reason, size_t reason_size)
{
    int fd = open_peer(card, session_dir);
    if (fd < 0) {
        return fail(ORTE_ERR_UNREACH, reason, reason_size, "opening the segment of process %u: %s",
                    card->pid, strerror(errno));
    }
    struct stat found;
    struct sm_peer *made = NULL;
    if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
        found.st_uid != card->uid || found.st_size < (off_t) sizeof(struct sm_header) ||
        (uint64_t) found.st_size != card->size || card->size > SM_SEGMENT_MAX) {
        fail(0, reason, reason_size, "what process %u published is not its segment", card->pid);
        goto close_file;
    }
    made = calloc(1, sizeof(*made));
    if (!made || map_peer(made, fd, card, (size_t) card->size) != ORTE_SUCCESS) {
        fail(0, reason, reason_size, "the segment of process %u does not fit its card: %s",
             card->pid, strerror(errno));
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
        uint64_t committed = committed_observe(peer->header, area);
        peer->committed[area] = committed < whole ? (size_t) committed : whole;
        if (end > peer->committed[area]) {
            return NULL;
        }
    }
    return peer->base + offset;
}
