/* Slurm's lists: what is taken prints to a list of the same names. Hostfiles: what is taken has
 * names and numbers in their limits. */
#include <config.h>

#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/nodes/hostlist.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { NODES = 8, MAX = 1000 };

static void names(const char *text)
{
    char reason[128] = "";
    struct hostlist list = {NULL, 0}, again;
    if (hostlist_expand(&list, text, reason, sizeof(reason)) != ORTE_SUCCESS) {
        fuzz_check(*reason && memchr(reason, 0, sizeof(reason)), "an error has its reason");
        fuzz_check(!list.names && list.count == 0, "an error has no effect");
        return;
    }
    fuzz_check(list.count <= HOSTLIST_MAX, "a list has its limit");
    char *printed = hostlist_print((const char *const *) list.names, list.count);
    fuzz_check(printed && hostlist_expand(&again, printed, reason, sizeof(reason)) == ORTE_SUCCESS,
               "a printed list is taken");
    fuzz_check(again.count == list.count, "and has as many names");
    for (uint32_t i = 0; i < list.count; i++) {
        fuzz_check(strlen(list.names[i]) <= HOSTLIST_NAME_MAX, "a name has its limit");
        fuzz_check(strcmp(list.names[i], again.names[i]) == 0, "and the same names");
    }
    free(printed);
    hostlist_fini(&again);
    hostlist_fini(&list);
}

static void numbers(const char *text)
{
    char reason[128] = "";
    uint32_t *each = calloc(NODES, sizeof(*each));
    if (hostlist_numbers(each, NODES, MAX, text, reason, sizeof(reason)) == ORTE_SUCCESS) {
        for (unsigned i = 0; i < NODES; i++) {
            fuzz_check(each[i] >= 1 && each[i] <= MAX, "numbers have their range");
        }
    } else {
        fuzz_check(*reason != '\0', "an error has its reason");
    }
    free(each);
}

static void hostfile(const char *text)
{
    char reason[256] = "";
    struct node_list list = {0};
    if (hostfile_parse(&list, "f", text, strlen(text), reason, sizeof(reason)) != ORTE_SUCCESS) {
        fuzz_check(*reason && memchr(reason, 0, sizeof(reason)), "an error has its reason");
    }
    fuzz_check(list.count <= NODES_MAX, "a list has its limit");
    for (size_t i = 0; i < list.count; i++) {
        fuzz_check(*list.nodes[i].name && strlen(list.nodes[i].name) <= HOSTLIST_NAME_MAX + 2,
                   "a name has its limit");
    }
    node_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    char *text = feed_text(&feed);
    names(text);
    numbers(text);
    hostfile(text);
    free(text);
    return 0;
}
