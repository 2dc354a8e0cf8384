#include <tests/lib/unit.h>

#include <btl/sm/regions.h>
#include <btl/sm/segment/board.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 8

static struct sm_board *board_make(void)
{
    size_t size = sizeof(struct sm_board) + CELLS * sizeof(struct sm_cell);
    struct sm_board *board = aligned_alloc(64, size);
    ck_assert_ptr_nonnull(board);
    memset((void *) board, 0, size);
    return board;
}

static struct sm_claim announce(struct sm_board *board, uint32_t hint, uint32_t vpid)
{
    struct sm_announcement announcement = {.jobid = 1, .vpid = vpid};
    struct sm_claim claim;
    ck_assert_int_eq(sm_board_announce(board, CELLS, hint, &announcement, &claim), ORTE_SUCCESS);
    return claim;
}

START_TEST(announcement_reaches_the_owner)
{
    struct sm_board *board = board_make();
    uint64_t bell = sm_board_doorbell(board);
    struct sm_claim claim = announce(board, 3, 77);
    ck_assert_uint_eq(claim.index, 3);
    ck_assert_uint_ne(sm_board_doorbell(board), bell);
    struct sm_announcement seen;
    ck_assert_int_eq(sm_board_look(board, 3, &seen), SM_CELL_OPEN);
    ck_assert_uint_eq(seen.vpid, 77);
    ck_assert_int_eq(sm_board_look(board, 4, &seen), SM_CELL_FREE);
    ck_assert(sm_board_take(board, 3));
    ck_assert(!sm_board_take(board, 3));
    ck_assert_int_eq(sm_board_look(board, 3, &seen), SM_CELL_TAKEN);
    ck_assert(sm_claim_alive(&claim));
    free(board);
}
END_TEST

START_TEST(full_board_refuses_and_frees_again)
{
    struct sm_board *board = board_make();
    struct sm_claim claims[CELLS], one;
    struct sm_announcement announcement = {.jobid = 1};
    for (uint32_t i = 0; i < CELLS; i++) {
        claims[i] = announce(board, 5, i); /* the same hint: neighbours are taken */
    }
    ck_assert_int_eq(sm_board_announce(board, CELLS, 0, &announcement, &one),
                     ORTE_ERR_OUT_OF_RESOURCE);
    /* The producer ends, then the owner has read all. */
    ck_assert(sm_board_take(board, claims[2].index));
    uint64_t bell = sm_board_doorbell(board);
    sm_claim_close(&claims[2]);
    ck_assert_uint_ne(sm_board_doorbell(board), bell);
    ck_assert(sm_claim_alive(&claims[2]));
    sm_board_drop(board, claims[2].index, true);
    ck_assert(!sm_claim_alive(&claims[2]));
    one = announce(board, 0, 9);
    ck_assert_uint_eq(one.index, claims[2].index);
    ck_assert(sm_claim_alive(&one));
    ck_assert(!sm_claim_alive(&claims[2])); /* an older claim never comes back to life */
    free(board);
}
END_TEST

static void drop(bool refuses, enum sm_cell_state state)
{
    struct sm_board *board = board_make();
    struct sm_announcement seen;
    struct sm_claim claim = announce(board, 0, 1);
    sm_board_drop(board, 0, refuses);
    ck_assert_int_eq(sm_board_look(board, 0, &seen), state);
    ck_assert(!sm_claim_alive(&claim));
    ck_assert(sm_claim_left(&claim) == !refuses);
    sm_board_drop(board, 0, !refuses); /* again: nothing */
    ck_assert_int_eq(sm_board_look(board, 0, &seen), state);
    sm_claim_close(&claim);
    ck_assert_int_eq(sm_board_look(board, 0, &seen), SM_CELL_FREE);
    ck_assert(!sm_claim_left(&claim));
    sm_claim_close(&claim);
    ck_assert_int_eq(sm_board_look(board, 0, &seen), SM_CELL_FREE);
    free(board);
}

START_TEST(dropped_cell_is_freed_by_its_producer)
{
    drop(true, SM_CELL_REFUSED);
    drop(false, SM_CELL_LEFT);
}
END_TEST

START_TEST(closed_board_takes_no_ring)
{
    struct sm_board *board = board_make();
    struct sm_announcement announcement = {.vpid = 1};
    struct sm_claim early = announce(board, 0, 1), late;
    sm_board_close(board, CELLS);
    ck_assert(!sm_claim_alive(&early) && sm_claim_left(&early));
    ck_assert_int_eq(sm_board_announce(board, CELLS, 1, &announcement, &late), ORTE_ERR_UNREACH);
    sm_board_ring(board);
    ck_assert_int_eq(sm_board_announce(board, CELLS, 1, &announcement, &late), ORTE_ERR_UNREACH);
    free(board);
}
END_TEST

START_TEST(close_before_take_can_still_be_read)
{
    struct sm_board *board = board_make();
    struct sm_announcement seen;
    struct sm_claim claim = announce(board, 0, 42);
    sm_claim_close(&claim);
    ck_assert_int_eq(sm_board_look(board, 0, &seen), SM_CELL_CLOSED);
    ck_assert_uint_eq(seen.vpid, 42);
    ck_assert(!sm_board_take(board, 0));
    ck_assert(sm_claim_alive(&claim));
    sm_board_drop(board, 0, true);
    ck_assert(!sm_claim_alive(&claim));
    free(board);
}
END_TEST

START_TEST(scribbled_words_do_no_harm)
{
    struct sm_board *board = board_make();
    struct sm_announcement seen;
    for (uint64_t word = 7; word < 256; word++) { /* states that do not exist */
        atomic_store(&board->cells[0].word, word);
        ck_assert_int_ne(sm_board_look(board, 0, &seen), SM_CELL_OPEN);
        ck_assert(!sm_board_take(board, 0));
        sm_board_drop(board, 0, true);
    }
    ck_assert_uint_eq(announce(board, 0, 1).index, 1);
    free(board);
}
END_TEST

#define THREADS 4
#define ROUNDS 3000

struct producer {
    struct sm_board *board;
    uint32_t vpid;
    unsigned done;
};

/* Announces and closes, again and again; full boards are tried again. */
static void *produce(void *arg)
{
    struct producer *producer = arg;
    struct sm_announcement announcement = {.jobid = 1, .vpid = producer->vpid};
    while (producer->done < ROUNDS) {
        struct sm_claim claim;
        announcement.ring_offset = producer->done;
        if (sm_board_announce(producer->board, CELLS, producer->vpid, &announcement, &claim) ==
            ORTE_SUCCESS) {
            sm_claim_close(&claim);
            producer->done++;
        }
    }
    return NULL;
}

START_TEST(many_producers_lose_nothing)
{
    struct sm_board *board = board_make();
    struct producer producers[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        producers[i] = (struct producer){.board = board, .vpid = i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    unsigned seen_of[THREADS] = {0}, all = 0;
    while (all < THREADS * ROUNDS) {
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            struct sm_announcement seen;
            if (sm_board_look(board, cell, &seen) == SM_CELL_CLOSED) {
                ck_assert_uint_lt(seen.vpid, THREADS);
                seen_of[seen.vpid]++;
                all++;
                sm_board_drop(board, cell, true);
            }
        }
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_uint_eq(seen_of[i], ROUNDS);
    }
    free(board);
}
END_TEST

START_TEST(card_has_golden_bytes)
{
    struct sm_card card = {
        .backing = SM_BACKING_FILE,
        .pid = 0x01020304,
        .fd = 0x15,
        .uid = 0x3e8,
        .start_time = 0x1112131415161718,
        .size = 0x2122232425262728,
    };
    memset(card.nonce, 0xaa, sizeof(card.nonce));
    memset(card.file, 0xbb, sizeof(card.file));
    static const uint8_t head[32] = {1,    2,    0,    0,    4,    3,    2,    1,
                                     0x15, 0,    0,    0,    0xe8, 3,    0,    0,
                                     0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
                                     0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21};
    uint8_t bytes[SM_CARD_BYTES];
    sm_card_encode(bytes, &card);
    ck_assert_mem_eq(bytes, head, sizeof(head));
    ck_assert_uint_eq(bytes[32], 0xaa);
    ck_assert_uint_eq(bytes[63], 0xbb);
    struct sm_card back;
    ck_assert_int_eq(sm_card_decode(&back, bytes, sizeof(bytes)), ORTE_SUCCESS);
    uint8_t again[SM_CARD_BYTES];
    sm_card_encode(again, &back);
    ck_assert_mem_eq(again, bytes, sizeof(bytes));
}
END_TEST

START_TEST(malformed_cards_are_refused)
{
    struct sm_card card = {.backing = SM_BACKING_MEMFD, .pid = 1, .size = 4096}, out;
    uint8_t good[SM_CARD_BYTES + 1] = {0}, bad[SM_CARD_BYTES];
    sm_card_encode(good, &card);
    ck_assert_int_eq(sm_card_decode(&out, good, SM_CARD_BYTES), ORTE_SUCCESS);
    ck_assert_int_eq(sm_card_decode(&out, good, SM_CARD_BYTES - 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(sm_card_decode(&out, good, SM_CARD_BYTES + 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(sm_card_decode(&out, good, 0), ORTE_ERR_BAD_PARAM);
    const struct {
        int at;
        uint8_t value;
    } spoils[] = {{0, 2}, {1, 0}, {1, 3}, {2, 1}, {3, 1}, {4, 0}, {7, 0x80}, {11, 0x80}};
    for (size_t i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
        memcpy(bad, good, sizeof(bad));
        bad[spoils[i].at] = spoils[i].value;
        ck_assert_int_eq(sm_card_decode(&out, bad, sizeof(bad)), ORTE_ERR_BAD_PARAM);
    }
}
END_TEST

START_TEST(regions_check_handle_rights_bounds_and_peer)
{
    struct sm_region region;
    memset((void *) &region, 0, sizeof(region));
    const orte_process_name_t me = {5, 6}, other = {5, 7};
    struct region_handle handle = {.index = 0, .generation = 41, .base = 0x1000, .size = 0x100};
    const uint32_t read = MCA_BTL_REG_FLAG_REMOTE_READ, write = MCA_BTL_REG_FLAG_REMOTE_WRITE;
    ck_assert_int_eq(sm_region_check(&region, &handle, &me, 0x1000, 1, read), OPAL_ERR_PERM);
    sm_region_publish(&region, &handle, read, NULL);
    ck_assert_int_eq(sm_region_check(&region, &handle, &me, 0x1000, 0x100, read), OPAL_SUCCESS);
    ck_assert_int_eq(sm_region_check(&region, &handle, &me, 0x1100, 0, read), OPAL_SUCCESS);
    ck_assert_int_eq(sm_region_check(&region, &handle, &me, 0x1000, 1, write), OPAL_ERR_PERM);
    const uint64_t outside[][2] = {{0xfff, 1},           {0x1000, 0x101}, {0x1100, 1}, {0x1101, 0},
                                   {0x10ff, UINT64_MAX}, {UINT64_MAX, 2}, {0x10ff, 2}};
    for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
        ck_assert_int_eq(sm_region_check(&region, &handle, &me, outside[i][0], outside[i][1], read),
                         OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    }
    struct region_handle stale = handle;
    stale.generation = 39;
    ck_assert_int_eq(sm_region_check(&region, &stale, &me, 0x1000, 1, read), OPAL_ERR_PERM);
    stale.generation = 0;
    ck_assert_int_eq(sm_region_check(&region, &stale, &me, 0x1000, 1, read), OPAL_ERR_PERM);
    sm_region_withdraw(&region);
    ck_assert_int_eq(sm_region_check(&region, &handle, &me, 0x1000, 1, read), OPAL_ERR_PERM);
    handle.generation = 43;
    sm_region_publish(&region, &handle, read | write, &me);
    ck_assert_int_eq(sm_region_check(&region, &handle, &me, 0x1000, 1, write), OPAL_SUCCESS);
    ck_assert_int_eq(sm_region_check(&region, &handle, &other, 0x1000, 1, write), OPAL_ERR_PERM);
}
END_TEST

UNIT_MAIN("sm-board")
