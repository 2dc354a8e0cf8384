#include <string.h>
#include <tests/unit/pml/ranks.h>

struct keel_pml_context *ctx[WORLD_RANKS];
char source[1 << 16], target[1 << 16];

const struct world_rules calm = {
    .ranks = 2, .flags = MCA_PTL_FLAGS_EXTENDED, .first = FIRST, .min = 16, .max = MAX, .seed = 1};
const struct world_rules immediate = {.ranks = 2,
                                      .flags = MCA_PTL_FLAGS_EXTENDED,
                                      .first = FIRST,
                                      .min = 16,
                                      .max = MAX,
                                      .immediate = true,
                                      .seed = 1};
const struct world_rules fetching = {.ranks = 2,
                                     .flags = MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET,
                                     .first = FIRST,
                                     .min = 16,
                                     .max = MAX,
                                     .seed = 1};

void start(const struct world_rules *rules)
{
    world_open(rules);
    for (int i = 0; i < rules->ranks; i++) {
        ck_assert_int_eq(
            pml_context_open(world.pml[i], 7, world.members, (size_t) rules->ranks, i, &ctx[i]),
            OPAL_SUCCESS);
    }
    for (size_t i = 0; i < sizeof(source); i++) {
        source[i] = (char) (i * 31 + i / 256 + 1);
    }
    memset(target, 0, sizeof(target));
}

void stop(void)
{
    for (int i = 0; i < world.rules.ranks; i++) {
        if (!world.dead[i]) {
            ck_assert_int_eq(keel_pml_context_free(&ctx[i]), OPAL_SUCCESS);
            ck_assert_ptr_null(ctx[i]);
        }
    }
    world_close();
}

opal_convertor_t of(void *memory, size_t size)
{
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, memory, size);
    return convertor;
}

struct keel_pml_request *isend(int from, int to, int32_t tag, size_t size, int mode)
{
    struct keel_pml_request *request = NULL;
    opal_convertor_t data = of(source, size);
    ck_assert_int_eq(keel_pml_isend(ctx[from], &data, to, tag, (keel_pml_mode_t) mode, &request),
                     OPAL_SUCCESS);
    return request;
}

struct keel_pml_request *irecv(int me, int32_t from, int32_t tag, size_t room)
{
    struct keel_pml_request *request = NULL;
    opal_convertor_t data = of(target, room);
    ck_assert_int_eq(keel_pml_irecv(ctx[me], &data, from, tag, &request), OPAL_SUCCESS);
    return request;
}

void isend_and_forget(int from, int to, int32_t tag, size_t size)
{
    struct keel_pml_request *send = isend(from, to, tag, size, STANDARD);
    ck_assert_int_eq(keel_pml_request_free(&send), OPAL_SUCCESS);
}

bool is_done(struct keel_pml_request **request, struct keel_pml_status *status)
{
    bool done = false;
    (void) keel_pml_test(request, &done, status);
    return done;
}

struct keel_pml_status ends(struct keel_pml_request **request, int error)
{
    struct keel_pml_status status;
    for (int i = 0; !is_done(request, &status); i++) {
        ck_assert_int_lt(i, 10000);
        world_progress();
    }
    ck_assert_int_eq(status.error, error);
    ck_assert_ptr_null(*request);
    return status;
}

void never_ends(struct keel_pml_request **request)
{
    for (int i = 0; i < 20; i++) {
        world_progress();
        ck_assert(!is_done(request, NULL));
    }
}

void expect(const struct keel_pml_status *status, int32_t from, int32_t tag, size_t bytes)
{
    ck_assert_int_eq(status->source, from);
    ck_assert_int_eq(status->tag, tag);
    ck_assert_uint_eq(status->bytes, bytes);
    ck_assert(!status->truncated);
    ck_assert_mem_eq(target, source, bytes);
}
