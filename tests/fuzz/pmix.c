/* The first message of a PMIx client: more of the same bytes never takes back what was said of
 * them. */
#include <config.h>

#include <launcher/pmix/connection/vet.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t wanted = 0;
    for (size_t there = 0; there <= size && there <= VET_HELLO_MAX; there++) {
        struct vet_hello hello;
        size_t need = 0;
        const char *why = NULL;
        struct feed feed = {data, there};
        uint8_t *exact = feed_copy(&feed, there, &there);
        enum vet_result result = vet_hello(exact, there, &hello, &need, &why);
        if (result == VET_MORE) {
            fuzz_check(need > there && need <= VET_HELLO_MAX, "more is needed than is there");
            fuzz_check(need >= wanted, "it does not need less than before");
            wanted = need;
        } else if (result == VET_BAD) {
            fuzz_check(why && *why, "a refusal has its reason");
        } else {
            fuzz_check(there >= wanted, "not before all is there");
            fuzz_check(hello.kind <= VET_TOOL_CLIENT &&
                           memchr(hello.nspace, 0, sizeof(hello.nspace)),
                       "a hello has a kind and a namespace");
        }
        free(exact);
        if (result != VET_MORE) {
            break;
        }
        there = need - 1 > there ? need - 1 : there; /* nothing changes before */
    }
    return 0;
}
