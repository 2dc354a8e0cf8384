/* PMI-1's lines: what a request's parts are lies in its line; and the lines of a spawn. */
#include <config.h>

#include <launcher/pmi1/pmi1_spawn.h>
#include <launcher/pmi1/pmi1_wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static bool lies_in(const char *text, const char *line, size_t size)
{
    return text >= line && text <= line + size &&
           memchr(text, 0, (size_t) (line + size - text) + 1);
}

static void read_spawn(char *lines)
{
    struct pmi1_spawn spawn = {0};
    char *rest;
    int status = pmi1_spawn_begin(&spawn);
    for (char *line = strtok_r(lines, "\n", &rest); line && status == ORTE_SUCCESS;
         line = strtok_r(NULL, "\n", &rest)) {
        status = spawn.open ? pmi1_spawn_line(&spawn, line) : pmi1_spawn_begin(&spawn);
    }
    fuzz_check(spawn.bytes <= 2 * PMI1_SPAWN_BYTES_MAX, "what is kept has its limit");
    (void) pmi1_spawn_ranks(&spawn);
    pmi1_spawn_fini(&spawn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size}, again = {data, size};
    char *line = feed_text(&feed), *lines = feed_text(&again);
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
    read_spawn(lines);
    free(lines);
    return 0;
}
