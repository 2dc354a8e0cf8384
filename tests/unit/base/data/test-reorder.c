/* Frames of a sender in their order, beside a plain model. */
#include <config.h>

#include <base/data/reorder.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

enum { MOST = 40, FRAMES = 1000, ROUNDS = 60, BEHIND = 60 };

static struct reorder_frame frames[MOST + 1]; /* one each for those that can be kept, and one */
static bool kept[MOST + 1];

static void start(struct reorder *reorder, uint32_t last, uint32_t most, uint32_t first)
{
    reorder_init(reorder, last, most, first);
    for (size_t i = 0; i <= MOST; i++) {
        list_init(&frames[i].link);
        kept[i] = false;
    }
}

static struct reorder_frame *frame_free(void)
{
    size_t i = 0;

    while (kept[i]) {
        i++;
        ck_assert_uint_le(i, MOST);
    }
    return &frames[i];
}

/* ---- one by one ---- */

static enum reorder_verdict put(struct reorder *reorder, uint32_t sequence)
{
    struct reorder_frame *frame = frame_free();
    enum reorder_verdict verdict = reorder_put(reorder, frame, sequence);

    kept[frame - frames] = verdict == REORDER_KEPT;
    return verdict;
}

static void expect(struct reorder *reorder, uint32_t sequence)
{
    struct reorder_frame *frame = reorder_next(reorder);

    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(frame->sequence, sequence);
    ck_assert(list_empty(&frame->link));
    kept[frame - frames] = false;
}

static void check_verdicts(uint32_t last, uint32_t first)
{
    struct reorder order;

    start(&order, last, 4, first);
    ck_assert_int_eq(put(&order, first), REORDER_NOW);
    ck_assert_ptr_null(reorder_next(&order));
    ck_assert_int_eq(put(&order, first), REORDER_AGAIN);
    ck_assert_int_eq(put(&order, (first - 5) & last), REORDER_AGAIN);
    ck_assert_int_eq(put(&order, (first + 4) & last), REORDER_KEPT);
    ck_assert_int_eq(put(&order, (first + 4) & last), REORDER_AGAIN);
    ck_assert_int_eq(put(&order, (first + 6) & last), REORDER_TOO_FAR);
    ck_assert_int_eq(put(&order, (first + last / 2) & last), REORDER_TOO_FAR);
    ck_assert_int_eq(put(&order, (first + 2) & last), REORDER_KEPT);
    ck_assert_int_eq(put(&order, (first + 5) & last), REORDER_KEPT);
    ck_assert_int_eq(put(&order, (first + 2) & last), REORDER_AGAIN);
    ck_assert_ptr_null(reorder_next(&order));
    ck_assert_int_eq(put(&order, (first + 1) & last), REORDER_NOW);
    expect(&order, (first + 2) & last);
    ck_assert_ptr_null(reorder_next(&order));
    ck_assert_int_eq(put(&order, (first + 3) & last), REORDER_NOW);
    expect(&order, (first + 4) & last);
    expect(&order, (first + 5) & last);
    ck_assert_ptr_null(reorder_next(&order));
}

START_TEST(each_frame_has_its_turn)
{
    check_verdicts(UINT16_MAX, 0);
    check_verdicts(UINT16_MAX, UINT16_MAX - 3);
    check_verdicts(UINT32_MAX, UINT16_MAX - 3);
    check_verdicts(UINT32_MAX, UINT32_MAX - 3);
}
END_TEST

/* However many may be ahead, the older half of the numbers is old. */
START_TEST(old_and_new_are_told_apart)
{
    struct reorder order;

    start(&order, UINT16_MAX, UINT32_MAX, 100);
    ck_assert_int_eq(put(&order, 100 + INT16_MAX), REORDER_KEPT);
    ck_assert_int_eq(put(&order, 101 + INT16_MAX), REORDER_AGAIN);
    start(&order, UINT32_MAX, 0, 100);
    ck_assert_int_eq(put(&order, 101), REORDER_TOO_FAR);
    ck_assert_int_eq(put(&order, 100), REORDER_NOW);
}
END_TEST

START_TEST(a_new_session_keeps_nothing)
{
    struct reorder order;

    start(&order, UINT16_MAX, MOST, 0);
    ck_assert_ptr_null(reorder_drop(&order));
    ck_assert_int_eq(put(&order, 2), REORDER_KEPT);
    ck_assert_int_eq(put(&order, 1), REORDER_KEPT);
    for (int i = 0; i < 2; i++) {
        struct reorder_frame *frame = reorder_drop(&order);
        ck_assert_ptr_nonnull(frame);
        ck_assert(list_empty(&frame->link));
    }
    ck_assert_ptr_null(reorder_drop(&order));
    reorder_restart(&order, 70000);
    ck_assert_int_eq(put(&order, 70000 & UINT16_MAX), REORDER_NOW);
    ck_assert_ptr_null(reorder_next(&order));
}
END_TEST

/* ---- against a model ---- */

struct model {
    bool came[FRAMES];
    uint32_t next; /* whose turn it is, counted from the first */
};

static enum reorder_verdict model_put(struct model *model, uint32_t number)
{
    if (number < model->next || (number - model->next <= MOST && model->came[number])) {
        return REORDER_AGAIN;
    }
    if (number - model->next > MOST) {
        return REORDER_TOO_FAR;
    }
    model->came[number] = true;
    model->next += number == model->next;
    return number + 1 == model->next ? REORDER_NOW : REORDER_KEPT;
}

static void check_round(uint32_t last)
{
    struct reorder order;
    static struct model model;
    uint32_t first = (uint32_t) (last - (uint32_t) (rand() % FRAMES)) & last;

    model = (struct model){.next = 0};
    start(&order, last, MOST, first);
    while (model.next < FRAMES) {
        uint32_t low = model.next < BEHIND ? 0 : model.next - BEHIND;
        uint32_t number = rand() % 3 ? model.next : low + (uint32_t) rand() % (2 * BEHIND);
        if (number >= FRAMES) {
            continue;
        }
        ck_assert_int_eq(put(&order, (first + number) & last), model_put(&model, number));
        while (model.next < FRAMES && model.came[model.next]) {
            expect(&order, (first + model.next) & last);
            model.next++;
        }
        ck_assert_ptr_null(reorder_next(&order));
    }
    ck_assert(list_empty(&order.early));
}

START_TEST(every_order_of_arrival)
{
    srand(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        check_round(i % 2 ? UINT16_MAX : UINT32_MAX);
    }
}
END_TEST

UNIT_MAIN("reorder")
