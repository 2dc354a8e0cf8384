/* suite [PARAMETER=VALUE]... simulation|MODULES RANKS [CASE]...: see suite.h. */
#include <config.h>

#include <base/settings/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <tests/conformance/tagged/suite.h>

enum { CASES_MOST = 64, TARGET_BYTES = 1 << 19, PATTERN = 3 };

const struct ground *ground;
struct minihost *host;
const char *module_names;
int ranks, last, myself = -1;
unsigned seed;
size_t limits[LIMITS_MOST], limit_count, most, long_bytes;

static struct keel_pml_context *contexts[RANKS_MOST];
static uint8_t source[TARGET_BYTES], targets[RANKS_MOST][TARGET_BYTES];
static uint32_t next_id;
static uint64_t drawn;

bool plays(int rank)
{
    return myself < 0 || rank == myself;
}

struct keel_pml_context *context_of(int rank)
{
    return contexts[rank];
}

void meet(void)
{
    ground->meet();
}

void draw_from(unsigned start)
{
    drawn = start * 7919u + 1;
}

uint32_t draw(uint32_t bound)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (drawn >> 33) % bound;
}

struct keel_pml_context *context_open(int rank, uint32_t id, opal_proc_t *const *members,
                                      size_t count, int32_t me)
{
    struct keel_pml_context *context = NULL;
    succeeds(ground->context(rank, id, members, count, me, &context));
    return context;
}

void begin(void)
{
    opal_proc_t *all[RANKS_MOST];
    next_id = next_id % KEEL_PML_CONTEXT_MAX + 1;
    pattern_fill(source, sizeof(source), PATTERN);
    for (int i = 0; i < ranks; i++) {
        all[i] = ground->proc(i);
    }
    for (int i = 0; i < ranks; i++) {
        memset(targets[i], 0, sizeof(targets[i]));
        contexts[i] = plays(i) ? context_open(i, next_id, all, (size_t) ranks, i) : NULL;
    }
    meet();
}

void end(void)
{
    for (int i = 0; i < ranks; i++) {
        if (contexts[i]) {
            succeeds(keel_pml_context_free(&contexts[i]));
            must(!contexts[i]);
        }
    }
}

void lose(int rank)
{
    ground->lose(rank);
    contexts[rank] = NULL;
}

/* --- buffers --- */

void buffer_open(struct buffer *buffer, size_t size, bool scattered)
{
    buffer->bytes = calloc(1, size + 1);
    must(buffer->bytes);
    for (size_t i = 0; i < PIECES; i++) {
        size_t start = size * (PIECES - 1 - i) / PIECES, stop = size * (PIECES - i) / PIECES;
        buffer->pieces[i] = (struct iovec){buffer->bytes + start, stop - start};
    }
    if (scattered) {
        succeeds(opal_convertor_prepare_iovec(&buffer->data, buffer->pieces, PIECES));
    } else {
        opal_convertor_prepare(&buffer->data, buffer->bytes, size);
    }
}

void buffer_fill(const struct buffer *buffer, size_t size, unsigned pattern)
{
    uint8_t *flat = malloc(size + 1);
    opal_convertor_t data = buffer->data;
    pattern_fill(flat, size, pattern);
    must(opal_convertor_unpack_bytes(&data, flat, size) == size);
    free(flat);
}

bool buffer_is(const struct buffer *buffer, size_t size, unsigned pattern)
{
    uint8_t *flat = malloc(size + 1);
    opal_convertor_t data = buffer->data;
    must(opal_convertor_pack_bytes(&data, flat, size) == size);
    bool good = pattern_is(flat, size, pattern);
    free(flat);
    return good;
}

/* --- steps --- */

opal_convertor_t source_data(size_t size)
{
    opal_convertor_t data;
    must(size <= sizeof(source));
    opal_convertor_prepare(&data, source, size);
    return data;
}

opal_convertor_t target_data(int me, size_t size)
{
    opal_convertor_t data;
    must(size <= sizeof(targets[me]));
    opal_convertor_prepare(&data, targets[me], size);
    return data;
}

uint8_t *target_of(int me)
{
    return targets[me];
}

struct keel_pml_request *isend(int from, int to, int32_t tag, size_t size, keel_pml_mode_t mode)
{
    struct keel_pml_request *request = NULL;
    opal_convertor_t data = source_data(size);
    if (plays(from)) {
        succeeds(keel_pml_isend(contexts[from], &data, to, tag, mode, &request));
    }
    return request;
}

struct keel_pml_request *irecv(int me, int32_t from, int32_t tag, size_t room)
{
    struct keel_pml_request *request = NULL;
    opal_convertor_t data = target_data(me, room);
    if (plays(me)) {
        succeeds(keel_pml_irecv(contexts[me], &data, from, tag, &request));
    }
    return request;
}

struct keel_pml_status ends(int me, struct keel_pml_request **request, int error)
{
    struct keel_pml_status status = {.error = OPAL_SUCCESS};
    if (plays(me)) {
        must(keel_pml_wait(request, &status) == error);
        must(status.error == error && !*request);
    }
    return status;
}

void sent(int me, struct keel_pml_request **request)
{
    (void) ends(me, request, OPAL_SUCCESS);
}

void expect(int me, const struct keel_pml_status *status, int from, int32_t tag, size_t bytes)
{
    if (plays(me)) {
        must(status->source == from && status->tag == tag);
        must(status->bytes == bytes && !status->truncated);
        must(pattern_is(targets[me], bytes, PATTERN));
    }
}

void received(int me, struct keel_pml_request **request, int from, int32_t tag, size_t bytes)
{
    struct keel_pml_status status = ends(me, request, OPAL_SUCCESS);
    expect(me, &status, from, tag, bytes);
}

/* --- the run --- */

static const struct pml_case *chosen[CASES_MOST];
static size_t chosen_count;
static size_t *reached; /* of them, shared by all processes; each ends with a meeting */

static void choose(const struct pml_case *cases, char *const *names)
{
    for (; cases->name; cases++) {
        char *const *name = names;
        while (*name && strcmp(*name, cases->name) != 0) {
            name++;
        }
        if (*name || !*names) {
            chosen[chosen_count++] = cases;
        }
    }
}

static int run_rank(struct minihost *mine, void *unused)
{
    (void) unused;
    host = mine;
    ground->open();
    for (size_t i = *reached; i < chosen_count; i++) {
        *reached = i;
        ground->cover(chosen[i]);
    }
    ground->close();
    return 0;
}

static void tell(size_t number, bool good, const char *reason)
{
    printf("%s %zu - %s, %d ranks: %s\n%s%s%s", good ? "ok" : "not ok", number + 1, module_names,
           ranks, chosen[number]->name, good ? "" : "# ", good ? "" : reason, good ? "" : "\n");
}

/* All that are chosen; after one that failed the others in processes of their own. */
static size_t run_all(void)
{
    size_t failed = 0;
    for (size_t first = 0; first < chosen_count; first = *reached + 1) {
        char reason[512] = "";
        struct minihost_options options = {.size = myself < 0 ? 1 : ranks, .timeout_ms = 120000};
        *reached = first;
        bool good = minihost_run(&options, run_rank, NULL, reason, sizeof(reason));
        for (; first < *reached; first++) {
            tell(first, true, NULL);
        }
        tell(first, good, reason);
        failed += !good;
        fflush(stdout);
    }
    printf("1..%zu\n", chosen_count);
    return failed;
}

static bool set_parameter(char *setting)
{
    char *value = strchr(setting, '=');
    *value = '\0';
    return param_override(setting, value + 1) == ORTE_SUCCESS;
}

int main(int argc, char **argv)
{
    bool good = true;
    for (; argc > 1 && strchr(argv[1], '='); argv++, argc--) {
        good = good && set_parameter(argv[1]);
    }
    ranks = argc > 2 ? atoi(argv[2]) : 0;
    if (!good || ranks < 1 || ranks > RANKS_MOST) {
        fprintf(stderr, "usage: suite [PARAMETER=VALUE]... simulation|MODULES RANKS [CASE]...\n");
        return 2;
    }
    module_names = argv[1];
    last = ranks - 1;
    ground = strcmp(module_names, "simulation") == 0 ? &simulation : &modules;
    myself = ground == &simulation ? -1 : 0;
    choose(message_cases, argv + 3);
    choose(request_cases, argv + 3);
    choose(plan_cases, argv + 3);
    choose(end_cases, argv + 3);
    reached =
        mmap(NULL, sizeof(*reached), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reached == MAP_FAILED || chosen_count == 0) {
        fprintf(stderr, "suite: no memory, or no such case\n");
        return 2;
    }
    return run_all() > 0;
}
