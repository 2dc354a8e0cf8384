/* What users write about parameters: a configuration file, numbers, and the rules of fault points.
 */
#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <base/settings/param_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tests/fuzz/fuzz.h>
#include <unistd.h>

static void read_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("keel.conf", MFD_CLOEXEC);
    char path[64];
    struct param_file file;
    fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t) size, "there is memory");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    param_file_read(&file, path);
    for (size_t i = 0; i < file.count; i++) {
        const struct param_line *line = &file.lines[i];
        fuzz_check(param_name_ok(line->name) && strlen(line->value) <= PARAM_VALUE_MAX,
                   "a line has a name and a value");
        const struct param_line *found = param_file_find(&file, line->name);
        fuzz_check(found && found->number >= line->number, "the last line of a name counts");
    }
    param_file_fini(&file);
    close(fd);
}

static void read_numbers(const char *text)
{
    int64_t number = 0;
    bool yes;
    if (param_parse_int(text, false, -100, 1000, &number) == ORTE_SUCCESS) {
        fuzz_check(number >= -100 && number <= 1000, "a number is in its range");
    }
    if (param_parse_int(text, true, 0, 0, &number) == ORTE_SUCCESS) {
        fuzz_check(number >= 0, "a size is not negative");
        char printed[32];
        int64_t again;
        snprintf(printed, sizeof(printed), "%lld", (long long) number);
        fuzz_check(param_parse_int(printed, true, 0, 0, &again) == ORTE_SUCCESS && again == number,
                   "a printed size is the same");
    }
    (void) !param_parse_bool(text, &yes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    uint8_t choice = feed_byte(&feed);
    if (choice % 4 == 0) {
        read_file(feed.at, feed.left);
        return 0;
    }
    char *text = feed_text(&feed);
    if (choice % 4 == 1) {
        (void) !fault_set(text);
        fuzz_check(fault_set(NULL) == ORTE_SUCCESS, "rules can be removed");
    } else {
        read_numbers(text);
    }
    free(text);
    return 0;
}
