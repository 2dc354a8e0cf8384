#include <config.h>

#include <base/data/crypto.h>
#include <base/settings/fault.h>
#include <base/text/reason.h>
#include <btl/sm/segment/process.h>
#include <btl/sm/segment/segment.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMIT_STEP ((size_t) 128 * 1024)

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
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                          "a segment of %zu bytes is above the limit for file sizes (ulimit -f)",
                          size);
    }
    if (ftruncate(segment->fd, (off_t) size) < 0 || fchmod(segment->fd, 0600) < 0) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "segment of %zu bytes: %s",
                          size, strerror(errno));
    }
    if (!segment->path && fcntl(segment->fd, F_ADD_SEALS, SM_MEMFD_SEALS) < 0) {
        return reason_set(ORTE_ERR_NOT_SUPPORTED, reason, reason_size, "sealing a memfd: %s",
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
    char name[sizeof(SM_MEMFD_NAME) + SM_NONCE_TEXT] = SM_MEMFD_NAME;
    crypto_to_hex(name + strlen(SM_MEMFD_NAME), segment->card.nonce, SM_NONCE_BYTES);
    segment->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (segment->fd < 0) {
        return reason_set(ORTE_ERR_NOT_SUPPORTED, reason, reason_size, "memfd_create: %s",
                          strerror(errno));
    }
    if (!reopens(segment->fd)) {
        int status = reason_set(ORTE_ERR_NOT_SUPPORTED, reason, reason_size,
                                "a memfd cannot be opened through /proc: %s", strerror(errno));
        close(segment->fd);
        segment->fd = -1;
        return status;
    }
    segment->card.backing = SM_BACKING_MEMFD;
    segment->card.fd = (uint32_t) segment->fd;
    return ORTE_SUCCESS;
}

static int open_file(struct sm_segment *segment, const char *session_dir, char *reason,
                     size_t reason_size)
{
    if (!session_dir) {
        return reason_set(ORTE_ERR_NOT_SUPPORTED, reason, reason_size,
                          "no session folder for a file");
    }
    crypto_random(segment->card.file, SM_NONCE_BYTES);
    char *path = sm_file_path(session_dir, segment->card.file);
    if (!path) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "out of memory");
    }
    segment->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (segment->fd < 0) {
        int status = reason_set(ORTE_ERR_FILE_OPEN_FAILURE, reason, reason_size, "%s: %s", path,
                                strerror(errno));
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
        return reason_set(status, reason, reason_size, "memory for a segment: %s", strerror(errno));
    }
    void *base =
        mmap(NULL, segment->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
    if (base == MAP_FAILED) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "mapping a segment: %s",
                          strerror(errno));
    }
    segment->base = base;
    segment->header = base;
    segment->board = (void *) (segment->base + segment->layout.board);
    segment->lines = (void *) (segment->base + segment->layout.lines);
    segment->alarm = &segment->header->alarm;
    return ORTE_SUCCESS;
}

static int fill_header(struct sm_segment *segment, char *reason, size_t reason_size)
{
    struct sm_card *card = &segment->card;
    card->pid = (uint32_t) getpid();
    card->uid = (uint32_t) geteuid();
    card->size = segment->layout.size;
    if (sm_process_start_time(getpid(), &card->start_time) != ORTE_SUCCESS) {
        return reason_set(ORTE_ERR_NOT_SUPPORTED, reason, reason_size,
                          "/proc/self/stat: unreadable");
    }
    struct sm_header *header = segment->header;
    memcpy(header->nonce, card->nonce, SM_NONCE_BYTES);
    header->magic = SM_MAGIC;
    header->version = SM_LAYOUT_VERSION;
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
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "out of memory");
    }
    made->fd = -1;
    made->shape = *shape;
    int status = sm_layout_make(&made->layout, shape);
    if (status != ORTE_SUCCESS) {
        reason_set(status, reason, reason_size, "the segment's parameters do not fit together");
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

int sm_segment_commit(struct sm_segment *segment, enum sm_area area, uint32_t count)
{
    size_t needed = (size_t) count * segment->shape.unit_bytes[area];
    size_t done = (size_t) sm_committed_observe(segment->header, area);
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
        size_t bytes = (size_t) sm_committed_observe(from->header, area);
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
        status = reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                            "memory for a segment: %s", strerror(errno));
    }
    if (status == ORTE_SUCCESS && mremap(fresh.base, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                                         segment->base) == MAP_FAILED) {
        status = reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "moving a segment: %s",
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
