/* The endpoints of a module by peer, and what the unused ones cost. */
#include <tests/lib/unit.h>

#include <btl/peers/roster.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 1000
#define MANY 10000

static struct roster *roster;
static opal_proc_t proc;

static orte_process_name_t name_of(uint32_t rank)
{
    return (orte_process_name_t){0x20001, rank};
}

static void *add(uint32_t rank)
{
    orte_process_name_t name = name_of(rank);
    return roster_add(roster, &name, &proc);
}

static void *find(uint32_t rank)
{
    orte_process_name_t name = name_of(rank);
    return roster_find(roster, &name);
}

static bool is_zero(const unsigned char *bytes)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (bytes[i]) {
            return false;
        }
    }
    return true;
}

static void begin(void)
{
    roster = roster_create(BYTES);
    ck_assert_ptr_nonnull(roster);
}

START_TEST(endpoints_are_found_by_name)
{
    static void *endpoints[MANY];
    begin();
    ck_assert_ptr_null(find(0));
    for (uint32_t i = 0; i < MANY; i++) {
        endpoints[i] = add(i * 7);
        ck_assert_ptr_nonnull(endpoints[i]);
        ck_assert_uint_eq((uintptr_t) endpoints[i] % 64, 0);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_ptr_eq(find(i * 7), endpoints[i]);
        ck_assert_uint_eq(roster_entry(roster, endpoints[i])->name.vpid, i * 7);
        ck_assert_ptr_eq(roster_entry(roster, endpoints[i])->proc, &proc);
        memset(endpoints[i], (int) i | 1, BYTES);
    }
    ck_assert_ptr_null(find(1));
    orte_process_name_t other_job = {0x20002, 7};
    ck_assert_ptr_null(roster_find(roster, &other_job));
    roster_destroy(roster);
}
END_TEST

START_TEST(what_was_removed_is_used_again_and_zero)
{
    void *endpoints[1000];
    begin();
    for (uint32_t i = 0; i < 1000; i++) {
        endpoints[i] = add(i);
    }
    for (uint32_t i = 0; i < 1000; i += 2) {
        memset(endpoints[i], 5, BYTES);
        roster_remove(roster, endpoints[i], true);
        ck_assert_ptr_null(find(i));
    }
    for (uint32_t i = 1000; i < 1500; i++) {
        unsigned char *endpoint = add(i);
        ck_assert(is_zero(endpoint));
        ck_assert_uint_lt(roster_entry(roster, endpoint)->name.vpid, 1500);
    }
    for (uint32_t i = 1; i < 1000; i += 2) {
        ck_assert_ptr_eq(find(i), endpoints[i]);
    }
    roster_destroy(roster);
}
END_TEST

START_TEST(a_forgotten_one_makes_room_for_another_of_its_name)
{
    begin();
    void *old = add(3);
    memset(old, 9, BYTES);
    roster_forget(roster, old);
    ck_assert_ptr_null(find(3));
    void *new = add(3);
    ck_assert_ptr_ne(new, old);
    ck_assert_ptr_eq(find(3), new);
    roster_remove(roster, old, true);
    ck_assert_ptr_eq(find(3), new);
    roster_remove(roster, new, false);
    ck_assert_ptr_null(find(3));
    roster_destroy(roster);
}
END_TEST

/* Most kernels show a reader of untouched memory the page of zeros; some give it a page at once. */
static bool reading_is_free(void)
{
    const size_t bytes = 1 << 20, page = (size_t) sysconf(_SC_PAGESIZE);
    long before = unit_resident_bytes();
    volatile unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne((void *) memory, MAP_FAILED);
    (void) madvise((void *) memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += page) {
        ck_assert(memory[at] == 0);
    }
    bool free = unit_resident_bytes() - before < (long) bytes / 2;
    munmap((void *) memory, bytes);
    return free;
}

START_TEST(unused_ones_cost_little)
{
    begin();
    bool reads = reading_is_free();
    long before = unit_resident_bytes();
    for (uint32_t i = 0; i < MANY; i++) {
        void *endpoint = add(i);
        ck_assert(!reads || *(unsigned char *) endpoint == 0); /* reading costs no memory */
    }
    long bytes = (unit_resident_bytes() - before) / MANY;
    printf("# %ld bytes for an unused endpoint of %d\n", bytes, BYTES);
#ifndef __SANITIZE_ADDRESS__
    ck_assert_int_le(bytes, 48);
#endif
    roster_destroy(roster);
}
END_TEST

UNIT_MAIN("roster")
