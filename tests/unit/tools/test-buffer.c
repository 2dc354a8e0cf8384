#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <tests/lib/unit.h>
#include <tools/buffer.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static const char *no_huge_pages(void)
{
    return access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0
               ? NULL
               : "the kernel has no transparent huge pages";
}

/* Whether the kernel was asked for huge pages at this address. */
static bool wants_huge_pages(const void *memory)
{
    char line[512];
    unsigned long begin, end;
    const uintptr_t address = (uintptr_t) memory;
    bool here = false, wanted = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            here = begin <= address && address < end;
        } else if (here && strncmp(line, "VmFlags:", strlen("VmFlags:")) == 0) {
            wanted = strstr(line, " hg");
        }
    }
    (void) fclose(file);
    return wanted;
}

static void check_buffer(size_t size, size_t page, bool huge)
{
    unsigned char *buffer = buffer_create(size, 0x5a);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq((uintptr_t) buffer % page, 0);
    ck_assert(size == 0 || (buffer[0] == 0x5a && buffer[size - 1] == 0x5a));
    ck_assert_int_eq(wants_huge_pages(buffer), huge);
    free(buffer);
}

START_TEST(what_fills_a_huge_page_asks_for_them)
{
    check_buffer(2 * MIB, 2 * MIB, true);
    check_buffer(5 * MIB + 1, 2 * MIB, true);
}
END_TEST

START_TEST(what_is_smaller_does_not)
{
    check_buffer(0, 4096, false);
    check_buffer(8, 4096, false);
    check_buffer(2 * MIB - 1, 4096, false);
}
END_TEST

UNIT_MAIN_UNLESS("buffer", no_huge_pages())
