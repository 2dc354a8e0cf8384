/* PMI-1's lines: what a request's parts are lies in its line. */
#include <config.h>

#include <launcher/pmi1/pmi1_wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static bool lies_in(const char *text, const char *line, size_t size)
{
    return text >= line && text <= line + size &&
           memchr(text, 0, (size_t) (line + size - text) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    char *line = feed_text(&feed);
    struct pmi1_request request;
    if (pmi1_request_read(&request, line, size) == ORTE_SUCCESS) {
        fuzz_check(request.count <= PMI1_PAIRS_MAX, "pairs have their limit");
        for (size_t i = 0; i < request.count; i++) {
            const char *name = request.pairs[i].name, *value = request.pairs[i].value;
            fuzz_check(lies_in(name, line, size) && lies_in(value, line, size),
                       "pairs lie in the line");
            fuzz_check(strlen(name) <= PMI1_NAME_MAX, "a name has its limit");
            fuzz_check(pmi1_request_value(&request, name) != NULL, "a pair is found");
            int number;
            (void) pmi1_request_number(&request, name, &number);
        }
    }
    free(line);
    return 0;
}
