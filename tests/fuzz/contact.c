/* Contact strings: what is taken prints to a text that is taken for the same. */
#include <config.h>

#include <oob/contact.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static bool same(const struct contact *a, const struct contact *b)
{
    bool same =
        a->name.jobid == b->name.jobid && a->name.vpid == b->name.vpid && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        char one[256], other[256];
        same = a->addrs[i].length == b->addrs[i].length &&
               strcmp(sock_addr_print(&a->addrs[i], one, sizeof(one)),
                      sock_addr_print(&b->addrs[i], other, sizeof(other))) == 0;
    }
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    char *text = feed_text(&feed);
    char reason[128] = "";
    struct contact contact, again, untouched;
    memset(&contact, 0x5a, sizeof(contact));
    untouched = contact;
    if (contact_parse(&contact, text, reason, sizeof(reason)) == ORTE_SUCCESS) {
        fuzz_check(contact.count >= 1 && contact.count <= CONTACT_ADDRS_MAX, "1 to 16 addresses");
        char *printed = contact_print(&contact);
        if (printed) { /* the canonical text of an address may be longer than what was written */
            fuzz_check(contact_parse(&again, printed, reason, sizeof(reason)) == ORTE_SUCCESS &&
                           same(&contact, &again),
                       "a printed contact parses to the same");
            char *twice = contact_print(&again);
            fuzz_check(twice && strcmp(printed, twice) == 0, "the printed text is canonical");
            free(twice);
        }
        free(printed);
    } else {
        fuzz_check(memchr(reason, 0, sizeof(reason)) && *reason, "an error has its reason");
        fuzz_check(memcmp(&contact, &untouched, sizeof(contact)) == 0, "an error has no effect");
    }
    free(text);
    return 0;
}
