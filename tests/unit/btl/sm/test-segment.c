#include <config.h>

#include <tests/lib/unit.h>

#include <base/data/clock.h>
#include <base/data/crypto.h>
#include <btl/sm/cma.h>
#include <btl/sm/peer.h>
#include <btl/sm/segment/process.h>
#include <btl/sm/segment/segment.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sm_shape shape = {
    .peers = 4,
    .ring_slots = 64,
    .units = {4, 16, 64, 100},
    .unit_bytes = {(64 + SM_SLOTS_BEHIND) * SM_SLOT_BYTES, 4160, 32832, 64},
};

static char reason[256];

static struct sm_segment *create(enum sm_backing_choice choice, const char *dir)
{
    struct sm_segment *segment = NULL;
    int status = sm_segment_create(&segment, &shape, choice, dir, reason, sizeof(reason));
    ck_assert_msg(status == ORTE_SUCCESS, "%s", reason);
    return segment;
}

static struct sm_peer *attach(const struct sm_card *card, const char *dir)
{
    struct sm_peer *peer = NULL;
    return sm_peer_attach(&peer, card, dir, reason, sizeof(reason)) == ORTE_SUCCESS ? peer : NULL;
}

static bool attaches(const struct sm_card *card)
{
    struct sm_peer *peer = attach(card, NULL);
    sm_peer_detach(peer);
    return peer != NULL;
}

static char *temporary_dir(void)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/keel-sm-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    return path;
}

/* The exit status of a child that runs fn; a signal counts as 128 and its number. */
static int in_child(int (*fn)(void *), void *arg)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(fn(arg));
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

START_TEST(memfd_is_sealed_private_and_unnamed)
{
    struct sm_segment *segment = create(SM_BACKING_CHOICE_AUTO, NULL);
    ck_assert_int_eq(segment->card.backing, SM_BACKING_MEMFD);
    ck_assert_ptr_null(segment->path);
    int seals = fcntl(segment->fd, F_GET_SEALS);
    ck_assert_int_eq(seals & (F_SEAL_SHRINK | F_SEAL_GROW), F_SEAL_SHRINK | F_SEAL_GROW);
    ck_assert_int_eq(ftruncate(segment->fd, 4096), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(segment->fd, (off_t) segment->layout.size * 2), -1);
    struct stat found;
    ck_assert_int_eq(fstat(segment->fd, &found), 0);
    ck_assert_uint_eq(found.st_mode & 0777, 0600);
    ck_assert_uint_eq((uint64_t) found.st_size, segment->layout.size);
    ck_assert(fcntl(segment->fd, F_GETFD) & FD_CLOEXEC);
    sm_segment_destroy(segment);
}
END_TEST

START_TEST(peer_sees_what_is_committed_and_no_more)
{
    struct sm_segment *segment = create(SM_BACKING_CHOICE_MEMFD, NULL);
    struct sm_peer *peer = attach(&segment->card, NULL);
    ck_assert_ptr_nonnull(peer);
    size_t start = segment->layout.start[SM_AREA_LARGE];
    size_t whole = segment->layout.end[SM_AREA_LARGE] - start;
    ck_assert_ptr_null(sm_peer_span(peer, SM_AREA_LARGE, start, 1));
    ck_assert_int_eq(sm_segment_commit(segment, SM_AREA_LARGE, 1), ORTE_SUCCESS);
    unsigned char *unit = sm_segment_unit(segment, SM_AREA_LARGE, 0);
    memset(unit, 0x77, shape.unit_bytes[SM_AREA_LARGE]);
    const unsigned char *seen =
        sm_peer_span(peer, SM_AREA_LARGE, start, shape.unit_bytes[SM_AREA_LARGE]);
    ck_assert_ptr_nonnull(seen);
    ck_assert_mem_eq(seen, unit, shape.unit_bytes[SM_AREA_LARGE]);
    ck_assert_ptr_null(sm_peer_span(peer, SM_AREA_LARGE, start, whole));
    ck_assert_int_eq(sm_segment_commit(segment, SM_AREA_LARGE, 64), ORTE_SUCCESS);
    ck_assert_ptr_nonnull(sm_peer_span(peer, SM_AREA_LARGE, start, whole));
    ck_assert_int_eq(sm_segment_commit(segment, SM_AREA_LARGE, 65), ORTE_ERR_OUT_OF_RESOURCE);
    const uint64_t bad[][2] = {
        {start - 1, 1},  {start, whole + 1},      {start + whole, 1},  {start + whole + 1, 0},
        {UINT64_MAX, 1}, {start + 1, UINT64_MAX}, {start, UINT64_MAX}, {0, 16}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_ptr_null(sm_peer_span(peer, SM_AREA_LARGE, bad[i][0], bad[i][1]));
    }
    sm_peer_detach(peer);
    sm_segment_destroy(segment);
}
END_TEST

static int write_into(void *arg)
{
    signal(SIGSEGV, SIG_DFL);
    *(volatile unsigned char *) arg = 1;
    return 0;
}

START_TEST(peer_can_write_the_board_and_nothing_else)
{
    struct sm_segment *segment = create(SM_BACKING_CHOICE_MEMFD, NULL);
    struct sm_peer *peer = attach(&segment->card, NULL);
    ck_assert_ptr_nonnull(peer);
    ck_assert_int_eq(in_child(write_into, peer->board), 0);
    ck_assert_uint_eq(sm_board_doorbell(segment->board), 1);
    ck_assert_int_ne(in_child(write_into, peer->base), 0);
    ck_assert_int_ne(in_child(write_into, (void *) (uintptr_t) peer->lines), 0);
    ck_assert_int_ne(in_child(write_into, peer->base + peer->layout.start[SM_AREA_RINGS]), 0);
    sm_peer_detach(peer);
    sm_segment_destroy(segment);
}
END_TEST

/* After a restart: the same addresses and content, another card; who has the old one keeps it. */
START_TEST(a_renewed_segment_stays_in_its_place)
{
    static const enum sm_backing_choice choices[] = {SM_BACKING_CHOICE_MEMFD,
                                                     SM_BACKING_CHOICE_FILE};
    char *folder = temporary_dir();
    for (int i = 0; i < 2; i++) {
        struct sm_segment *segment = create(choices[i], folder);
        struct sm_card old = segment->card;
        ck_assert(sm_peer_reachable(&old, folder));
        struct sm_peer *before = attach(&old, folder);
        ck_assert_ptr_nonnull(before);
        ck_assert_int_eq(sm_segment_commit(segment, SM_AREA_LARGE, 1), ORTE_SUCCESS);
        unsigned char *unit = sm_segment_unit(segment, SM_AREA_LARGE, 0), *base = segment->base;
        memset(unit, 0x77, shape.unit_bytes[SM_AREA_LARGE]);
        atomic_fetch_add(&segment->board->doorbell, 5);
        ck_assert_int_eq(sm_segment_renew(segment, choices[i], folder, reason, sizeof(reason)),
                         ORTE_SUCCESS);
        ck_assert_ptr_eq(segment->base, base);
        ck_assert_uint_eq(sm_board_doorbell(segment->board), 0);
        for (size_t b = 0; b < shape.unit_bytes[SM_AREA_LARGE]; b++) {
            ck_assert_uint_eq(unit[b], 0x77);
        }
        ck_assert_mem_ne(segment->card.nonce, old.nonce, SM_NONCE_BYTES);
        ck_assert(!sm_peer_reachable(&old, folder));
        ck_assert(sm_peer_reachable(&segment->card, folder));
        struct sm_peer *after = attach(&segment->card, folder);
        ck_assert_ptr_nonnull(after);
        ck_assert_uint_eq(after->nonce_address, (uintptr_t) segment->base);
        unit[0] = 1;
        size_t start = segment->layout.start[SM_AREA_LARGE];
        ck_assert_uint_eq(*(const unsigned char *) sm_peer_span(after, SM_AREA_LARGE, start, 1), 1);
        ck_assert_uint_eq(*(const unsigned char *) sm_peer_span(before, SM_AREA_LARGE, start, 1),
                          0x77);
        sm_peer_detach(before);
        sm_peer_detach(after);
        sm_segment_destroy(segment);
    }
    ck_assert_int_eq(rmdir(folder), 0); /* nothing is left in it */
}
END_TEST

START_TEST(forged_cards_do_not_attach)
{
    struct sm_segment *segment = create(SM_BACKING_CHOICE_MEMFD, NULL);
    struct sm_card card = segment->card;
    ck_assert(attaches(&card));
    card.nonce[0] ^= 1;
    ck_assert(!attaches(&card));
    card = segment->card;
    card.size += 4096;
    ck_assert(!attaches(&card));
    card = segment->card;
    card.size = 64;
    ck_assert(!attaches(&card));
    card = segment->card;
    card.uid++;
    ck_assert(!attaches(&card));
    card = segment->card;
    card.pid = 0x7ffffffe;
    ck_assert(!attaches(&card));
    card = segment->card;
    card.backing = SM_BACKING_FILE;
    ck_assert(!attaches(&card));
    sm_segment_destroy(segment);
}
END_TEST

/* A descriptor number may mean anything in the process that is found under the pid. */
START_TEST(descriptors_of_other_kinds_do_not_attach)
{
    struct sm_segment *segment = create(SM_BACKING_CHOICE_MEMFD, NULL);
    struct sm_card card = segment->card;
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0); /* opening one end might block */
    card.fd = (uint32_t) pipes[0];
    ck_assert(!attaches(&card));
    card.fd = (uint32_t) open("/dev/null", O_RDWR);
    ck_assert(!attaches(&card));
    card.fd = 1000;
    ck_assert(!attaches(&card));
    /* The same bytes without the seals: they might be cut off under their reader. */
    char name[64] = "keel-sm-";
    crypto_to_hex(name + strlen(name), segment->card.nonce, SM_NONCE_BYTES);
    int copy = memfd_create(name, MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(copy, (off_t) segment->layout.size), 0);
    ck_assert_int_eq(write(copy, segment->base, 4096), 4096);
    card.fd = (uint32_t) copy;
    ck_assert(!attaches(&card));
    sm_segment_destroy(segment);
}
END_TEST

START_TEST(hostile_headers_do_not_attach)
{
    struct sm_segment *segment = create(SM_BACKING_CHOICE_MEMFD, NULL);
    unsigned char saved[256];
    memcpy(saved, segment->base, sizeof(saved));
    unsigned refused = 0;
    for (size_t at = 0; at < 16 + 8 + 8 + sizeof(struct sm_shape); at++) {
        segment->base[at] ^= 0xff;
        refused += !attaches(&segment->card);
        segment->base[at] = saved[at];
    }
    /* All but the eight bytes of the nonce's address, which is only ever tried. */
    ck_assert_uint_eq(refused, 16 + 8 + sizeof(struct sm_shape));
    ck_assert(attaches(&segment->card));
    sm_segment_destroy(segment);
}
END_TEST

START_TEST(file_is_private_and_goes_with_its_owner)
{
    char *dir = temporary_dir();
    struct sm_segment *segment = create(SM_BACKING_CHOICE_FILE, dir);
    ck_assert_int_eq(segment->card.backing, SM_BACKING_FILE);
    struct stat found;
    ck_assert_int_eq(stat(segment->path, &found), 0);
    ck_assert_uint_eq(found.st_mode & 07777, 0600);
    struct sm_peer *peer = attach(&segment->card, dir);
    ck_assert_ptr_nonnull(peer);
    ck_assert_ptr_null(attach(&segment->card, "/nonexistent"));
    ck_assert_ptr_null(attach(&segment->card, NULL));
    ck_assert_int_eq(sm_segment_commit(segment, SM_AREA_SMALL, 2), ORTE_SUCCESS);
    memset(sm_segment_unit(segment, SM_AREA_SMALL, 1), 0x31, 10);
    size_t at = segment->layout.start[SM_AREA_SMALL] + shape.unit_bytes[SM_AREA_SMALL];
    sm_segment_destroy(segment);
    /* The peer's mapping outlives the owner's. */
    ck_assert_mem_eq(sm_peer_span(peer, SM_AREA_SMALL, at, 10), "1111111111", 10);
    sm_peer_detach(peer);
    ck_assert_int_eq(rmdir(dir), 0); /* empty */
}
END_TEST

START_TEST(file_without_a_folder_is_an_error)
{
    struct sm_segment *segment = NULL;
    ck_assert_int_ne(
        sm_segment_create(&segment, &shape, SM_BACKING_CHOICE_FILE, NULL, reason, sizeof(reason)),
        ORTE_SUCCESS);
    ck_assert_ptr_null(segment);
    ck_assert_int_ne(reason[0], '\0');
    ck_assert_int_ne(sm_segment_create(&segment, &shape, SM_BACKING_CHOICE_FILE, "/nonexistent",
                                       reason, sizeof(reason)),
                     ORTE_SUCCESS);
    ck_assert_ptr_nonnull(strstr(reason, "/nonexistent"));
}
END_TEST

static int create_below_limit(void *arg)
{
    (void) arg;
    struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0) {
        return 1;
    }
    struct sm_segment *segment = NULL;
    int status =
        sm_segment_create(&segment, &shape, SM_BACKING_CHOICE_AUTO, "/tmp", reason, sizeof(reason));
    return status == ORTE_ERR_OUT_OF_RESOURCE && !segment && strstr(reason, "limit") ? 0 : 2;
}

START_TEST(file_size_limit_is_an_error_and_no_signal)
{
    ck_assert_int_eq(in_child(create_below_limit, NULL), 0);
}
END_TEST

#define SKIPPED 77

/* On a file system of 1 MiB: what is committed is there, what is not is an error. */
static int fill_small_filesystem(void *arg)
{
    const char *dir = arg;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", dir, "tmpfs", 0, "size=1m") < 0) {
        return SKIPPED;
    }
    struct sm_segment *segment = NULL;
    if (sm_segment_create(&segment, &shape, SM_BACKING_CHOICE_FILE, dir, reason, sizeof(reason)) !=
        ORTE_SUCCESS) {
        return 1; /* it is sparse: 2 MiB of segment fit at first */
    }
    uint32_t count = 0;
    int status = ORTE_SUCCESS;
    while (status == ORTE_SUCCESS && count < shape.units[SM_AREA_LARGE]) {
        status = sm_segment_commit(segment, SM_AREA_LARGE, count + 1);
        count += status == ORTE_SUCCESS;
    }
    if (status != ORTE_ERR_OUT_OF_RESOURCE || count < 4) {
        return 2;
    }
    for (uint32_t i = 0; i < count; i++) {
        memset(sm_segment_unit(segment, SM_AREA_LARGE, i), 1, shape.unit_bytes[SM_AREA_LARGE]);
    }
    struct sm_segment *second = NULL;
    char path[128];
    snprintf(path, sizeof(path), "%s/ballast", dir);
    int ballast = open(path, O_RDWR | O_CREAT, 0600);
    char block[4096] = {0};
    while (write(ballast, block, sizeof(block)) > 0) {
    }
    return sm_segment_create(&second, &shape, SM_BACKING_CHOICE_FILE, dir, reason,
                             sizeof(reason)) == ORTE_ERR_OUT_OF_RESOURCE
               ? 0
               : 3;
}

START_TEST(full_memory_is_an_error_and_no_signal)
{
    char *dir = temporary_dir();
    int result = in_child(fill_small_filesystem, dir);
    rmdir(dir);
    if (result != SKIPPED) { /* only root may mount */
        ck_assert_int_eq(result, 0);
    }
}
END_TEST

START_TEST(layouts_are_checked)
{
    struct sm_layout layout;
    ck_assert_int_eq(sm_layout_make(&layout, &shape), ORTE_SUCCESS);
    for (int area = 1; area < SM_AREAS; area++) {
        ck_assert_uint_ge(layout.start[area], layout.end[area - 1]);
    }
    struct sm_shape bad = shape;
    bad.peers = 0;
    ck_assert_int_eq(sm_layout_make(&layout, &bad), ORTE_ERR_BAD_PARAM);
    bad = shape;
    bad.ring_slots = 63;
    ck_assert_int_eq(sm_layout_make(&layout, &bad), ORTE_ERR_BAD_PARAM);
    bad = shape;
    bad.unit_bytes[SM_AREA_SMALL] = 4161;
    ck_assert_int_eq(sm_layout_make(&layout, &bad), ORTE_ERR_BAD_PARAM);
    bad = shape;
    bad.units[SM_AREA_LARGE] = UINT32_MAX;
    ck_assert_int_eq(sm_layout_make(&layout, &bad), ORTE_ERR_BAD_PARAM);
    bad = shape;
    bad.units[SM_AREA_LARGE] = 1 << 20;
    bad.unit_bytes[SM_AREA_LARGE] = 1 << 26;
    ck_assert_int_eq(sm_layout_make(&layout, &bad), ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(dead_processes_are_known)
{
    uint64_t start;
    struct sm_process process;
    ck_assert_int_eq(sm_process_start_time(getpid(), &start), ORTE_SUCCESS);
    sm_process_init(&process, getpid(), start);
    ck_assert(!sm_process_gone(&process));
    sm_process_fini(&process);
    /* The pid is in use, by another process than was meant. */
    sm_process_init(&process, getpid(), start + 1);
    ck_assert(sm_process_gone(&process));
    sm_process_fini(&process);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    ck_assert_int_eq(sm_process_start_time(child, &start), ORTE_SUCCESS);
    sm_process_init(&process, child, start);
    ck_assert(!sm_process_gone(&process));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT), 0);
    ck_assert(sm_process_gone(&process)); /* a zombie still */
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(sm_process_gone(&process));
    sm_process_fini(&process);
    sm_process_init(&process, child, start);
    ck_assert(sm_process_gone(&process));
    sm_process_fini(&process);
}
END_TEST

START_TEST(single_copy_reaches_only_who_is_meant)
{
    static uint8_t nonce[SM_NONCE_BYTES] = {1, 2, 3};
    static char shared[64] = "of the parent";
    uint64_t start;
    struct sm_process process;
    ck_assert_int_eq(sm_process_start_time(getpid(), &start), ORTE_SUCCESS);
    sm_process_init(&process, getpid(), start);
    uint8_t other[SM_NONCE_BYTES] = {1, 2, 4};
    if (!sm_cma_probe(&process, (uint64_t) (uintptr_t) nonce, nonce)) {
        sm_process_fini(&process);
        return; /* the kernel forbids it */
    }
    ck_assert(!sm_cma_probe(&process, (uint64_t) (uintptr_t) nonce, other));
    ck_assert(!sm_cma_probe(&process, 8, nonce)); /* nothing is mapped there */
    char local[64] = {0};
    ck_assert_int_eq(
        sm_cma_copy(&process, false, local, (uint64_t) (uintptr_t) shared, sizeof(local)),
        ORTE_SUCCESS);
    ck_assert_str_eq(local, "of the parent");
    ck_assert_int_eq(sm_cma_copy(&process, true, local, 8, 8), ORTE_ERROR);
    sm_process_fini(&process);
    sm_process_init(&process, getpid(), start + 1);
    ck_assert_int_eq(sm_cma_copy(&process, true, local, (uint64_t) (uintptr_t) shared, 8),
                     ORTE_ERR_UNREACH);
    sm_process_fini(&process);
}
END_TEST

/* Which it was seen not to have a moment ago, so that nobody looks. */
static void check_copy_to_ended(struct sm_process *process, uint8_t *there)
{
    process->seen_ns = clock_ns();
    ck_assert_int_eq(sm_cma_copy(process, true, &(uint8_t){7}, (uint64_t) (uintptr_t) there, 1),
                     ORTE_ERR_UNREACH);
    ck_assert_int_eq(sm_cma_copy(process, false, &(uint8_t){7}, (uint64_t) (uintptr_t) there, 1),
                     ORTE_ERR_UNREACH);
}

START_TEST(single_copy_from_who_has_just_ended_is_refused)
{
    static uint8_t nonce[SM_NONCE_BYTES] = {1, 2, 3};
    uint64_t start;
    struct sm_process process;
    siginfo_t info;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    ck_assert_int_eq(sm_process_start_time(child, &start), ORTE_SUCCESS);
    sm_process_init(&process, child, start);
    bool works = sm_cma_probe(&process, (uint64_t) (uintptr_t) nonce, nonce);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT), 0);
    if (works) { /* else the kernel forbids it */
        check_copy_to_ended(&process, nonce);
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    if (works) {
        check_copy_to_ended(&process, nonce);
    }
    sm_process_fini(&process);
}
END_TEST

UNIT_MAIN("sm-segment")
