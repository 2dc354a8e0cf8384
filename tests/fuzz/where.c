/* What says where ranks run: a node's topology prints to what is taken for the same; rankfiles and
 * --app files are taken whole, or refused with the line. */
#include <config.h>

#include <base/data/strings.h>
#include <base/host/topo.h>
#include <launcher/request/options/app_file.h>
#include <launcher/request/rankfile.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { REASON_MAX = 256 };

static void topology(const char *text)
{
    struct topo topo = {0}, again;
    if (topo_parse(&topo, text) != ORTE_SUCCESS) {
        fuzz_check(!topo.threads && topo.count == 0, "an error has no effect");
        return;
    }
    char *printed = topo_print(&topo);
    fuzz_check(printed && topo_parse(&again, printed) == ORTE_SUCCESS, "what is printed is taken");
    fuzz_check(again.count == topo.count && again.quota == topo.quota, "and is as large");
    for (uint32_t i = 0; i < topo.count; i++) {
        const struct topo_thread *a = &topo.threads[i], *b = &again.threads[i];
        fuzz_check(a->os == b->os && a->usable == b->usable &&
                       memcmp(a->object, b->object, sizeof(a->object)) == 0,
                   "and has the same threads");
    }
    free(printed);
    topo_fini(&again);
    topo_fini(&topo);
}

static void check_reason(const char *reason)
{
    fuzz_check(memchr(reason, 0, REASON_MAX) && strncmp(reason, "f:", 2) == 0,
               "an error names the file");
}

static void rankfile(const char *text, size_t size)
{
    char *reason = calloc(1, REASON_MAX);
    struct placement placement = {0};
    if (rankfile_parse(&placement, "f", text, size, reason, REASON_MAX) != ORTE_SUCCESS) {
        check_reason(reason);
    } else {
        fuzz_check(placement.rank_count > 0, "there are ranks");
    }
    for (uint32_t i = 0; i < placement.rank_count; i++) {
        const struct rank_place *place = &placement.ranks[i];
        fuzz_check(place->host && place->line > 0, "each has its host and line");
        fuzz_check(!place->cpus || rank_cpus_ok(place->cpus), "and processors that are a list");
    }
    placement_fini(&placement);
    free(reason);
}

static void app_file(const char *text)
{
    char *reason = calloc(1, REASON_MAX);
    struct app_file file = {0};
    if (app_file_parse(&file, "f", text, reason, REASON_MAX) != ORTE_SUCCESS) {
        check_reason(reason);
    } else {
        size_t count = strings_count(file.words);
        fuzz_check(count > 0, "there is a program");
        for (size_t i = 0; i < count; i++) {
            fuzz_check(file.lines[i] > 0, "each word is on a line");
        }
    }
    app_file_fini(&file);
    free(reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    char *text = feed_text(&feed);
    topology(text);
    app_file(text);
    rankfile((const char *) data, size);
    free(text);
    return 0;
}
