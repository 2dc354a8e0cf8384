/* Rails that fail, and what takes their place: with a registry of this test's own. */
#include <tests/lib/unit.h>

#include <btl/interface/base.h>
#include <btl/plane/bml.h>
#include <stdlib.h>
#include <string.h>

/* Three modules that reach everybody: two equal ones and a lesser one. */
enum { FAST, TWIN, SLOW, MODULES };

static int asked[MODULES], added[MODULES], deleted[MODULES], deletions[MODULES];
static bool reaches[MODULES] = {true, true, true};
static int ended[MODULES];
static struct mca_btl_base_endpoint_t *const some_endpoint = (void *) 64;
static struct btl_component components[MODULES];
static mca_btl_base_module_t modules[MODULES];

static int add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                     struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    (void) procs;
    ck_assert_ptr_null(reachable);
    for (size_t i = 0; i < count; i++) {
        endpoints[i] = reaches[btl - modules] ? some_endpoint : NULL;
        asked[btl - modules]++;
        if (endpoints[i]) {
            added[btl - modules]++;
        }
    }
    return OPAL_SUCCESS;
}

static int del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                     struct mca_btl_base_endpoint_t **endpoints)
{
    (void) procs, (void) endpoints;
    deleted[btl - modules] += (int) count;
    deletions[btl - modules]++;
    return OPAL_SUCCESS;
}

static int finalize(mca_btl_base_module_t *btl)
{
    (void) btl;
    return OPAL_SUCCESS;
}

static mca_btl_base_module_t **give(int which, int *count)
{
    static const uint32_t exclusivity[] = {100, 100, 50};
    mca_btl_base_module_t **made = malloc(sizeof(*made));
    modules[which] = (mca_btl_base_module_t){
        .btl_component = &components[which].component,
        .btl_exclusivity = exclusivity[which],
        .btl_latency = (uint32_t) which,
        .btl_bandwidth = which == FAST ? 300 : 100,
        .btl_flags = MCA_BTL_FLAGS_SEND,
        .btl_add_procs = add_procs,
        .btl_del_procs = del_procs,
        .btl_finalize = finalize,
    };
    made[0] = &modules[which];
    *count = 1;
    return made;
}

static mca_btl_base_module_t **fast_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    return give(FAST, count);
}

static mca_btl_base_module_t **twin_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    return give(TWIN, count);
}

static mca_btl_base_module_t **slow_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    return give(SLOW, count);
}

static int no_progress(mca_btl_base_module_t *btl)
{
    (void) btl;
    return 0;
}

static bool may_reach(mca_btl_base_module_t *btl, const opal_proc_t *proc)
{
    (void) proc;
    return reaches[btl - modules];
}

static void hear_of_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    ck_assert_ptr_eq(endpoint, some_endpoint);
    ended[btl - modules]++;
}

static bool retried[MODULES]; /* whether the last peer that it lost is tried again */

static void retry(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, bool on)
{
    ck_assert_ptr_eq(endpoint, some_endpoint);
    retried[btl - modules] = on;
}

static struct btl_component components[MODULES] = {
    [FAST] = {.component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("fast")},
                            .btl_init = fast_init},
              .progress = no_progress,
              .reaches = may_reach,
              .ended = hear_of_end,
              .retry = retry},
    [TWIN] = {.component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("twin")},
                            .btl_init = twin_init},
              .progress = no_progress,
              .reaches = may_reach,
              .retry = retry},
    [SLOW] = {.component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("slow")},
                            .btl_init = slow_init},
              .progress = no_progress,
              .reaches = may_reach},
};

const struct btl_component *const btl_components[] = {&components[FAST], &components[TWIN],
                                                      &components[SLOW], NULL};

static const struct keel_host_ops ops;
static struct bml *bml;
static opal_proc_t procs[3];
static int changes[3];

static void changed(opal_proc_t *proc)
{
    changes[proc - procs]++;
}

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) btl, (void) flags, (void) proc, (void) text;
}

/* Nobody has asked for rails; the second peer stands there twice, and is not in its order. */
static int add_three(void)
{
    char reason[100];
    opal_proc_t *list[] = {&procs[1], &procs[2], &procs[0], &procs[1]};
    for (uint32_t i = 0; i < 3; i++) {
        procs[i] = (opal_proc_t){.proc_name = {7, i}};
    }
    ck_assert_int_eq(btl_open(&ops, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(bml_create(&bml), ORTE_SUCCESS);
    for (int i = 0; i < MODULES; i++) {
        ck_assert_int_eq(btl_register_error_fn(&modules[i], on_error), OPAL_SUCCESS);
    }
    int status = bml_add_procs(bml, list, 2, reason, sizeof(reason));
    int again = bml_add_procs(bml, list, 4, reason, sizeof(reason));
    ck_assert_int_eq(status, again);
    ck_assert_int_eq(added[FAST] + added[TWIN] + added[SLOW], 0);
    return status;
}

/* They were asked for. */
static void begin(void)
{
    size_t count;
    ck_assert_int_eq(add_three(), ORTE_SUCCESS);
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_nonnull(bml_rails(bml, &procs[i], &count));
    }
}

static void end(void)
{
    bml_destroy(bml);
    btl_close();
    for (int i = 0; i < MODULES; i++) {
        ck_assert_int_eq(added[i], deleted[i]);
        ck_assert_int_eq(deletions[i], added[i] > 0); /* all of them together */
    }
}

/* The modules of a peer's rails, one letter each, best first. */
static const char *rails_of(int peer)
{
    static char text[8];
    size_t count;
    const struct keel_rail *rails = bml_rails(bml, &procs[peer], &count);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        text[i] = "FTS"[rails[i].btl - modules];
        sum += rails[i].weight;
    }
    text[count] = '\0';
    ck_assert(count == 0 || (sum > 0.999 && sum < 1.001));
    ck_assert((count == 0) == (rails == NULL));
    return text;
}

static void break_rail(int module, int peer)
{
    ck_assert(!bml_has_news);
    btl_report_error(&modules[module],
                     peer < 0 ? MCA_BTL_ERROR_FLAGS_FATAL : MCA_BTL_ERROR_FLAGS_NONFATAL,
                     peer < 0 ? NULL : &procs[peer], "on purpose");
    ck_assert(bml_has_news);
    bml_settle(bml, changed);
    ck_assert(!bml_has_news);
}

START_TEST(the_others_share_what_a_failed_rail_carried)
{
    begin();
    ck_assert_str_eq(rails_of(1), "FT");
    size_t count;
    const struct keel_rail *before = bml_rails(bml, &procs[1], &count);
    break_rail(FAST, 1);
    ck_assert_str_eq(rails_of(1), "T");
    ck_assert_str_eq(rails_of(0), "FT");
    ck_assert_ptr_eq(before[0].btl, &modules[FAST]); /* who had them may look */
    ck_assert_int_eq(changes[1], 1);
    ck_assert_int_eq(changes[0] + changes[2], 0);
    break_rail(FAST, 1); /* again: nothing new */
    ck_assert_int_eq(changes[1], 1);
    end();
}
END_TEST

START_TEST(a_lesser_module_takes_the_place_of_the_last)
{
    begin();
    break_rail(TWIN, 2);
    break_rail(FAST, 2);
    ck_assert_str_eq(rails_of(2), "S");
    ck_assert_int_eq(changes[2], 2);
    break_rail(SLOW, 2);
    ck_assert_str_eq(rails_of(2), "");
    end();
}
END_TEST

START_TEST(nobody_else_may_reach_it)
{
    begin();
    reaches[SLOW] = false;
    break_rail(FAST, 0);
    break_rail(TWIN, 0);
    ck_assert_str_eq(rails_of(0), "");
    end();
}
END_TEST

START_TEST(a_module_lost_for_all_is_lost_for_each)
{
    begin();
    break_rail(FAST, -1);
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(rails_of(i), "T");
        ck_assert_int_eq(changes[i], 1);
    }
    end();
}
END_TEST

START_TEST(a_restart_brings_them_back)
{
    begin();
    for (int round = 1; round <= 3; round++) {
        break_rail(TWIN, 2);
        break_rail(FAST, 2);
        ck_assert_str_eq(rails_of(2), "S");
        bml_restore(bml, changed);
        ck_assert_str_eq(rails_of(2), "FT");
        ck_assert_int_eq(changes[2], 3 * round);
    }
    ck_assert_int_eq(changes[0] + changes[1], 0);
    end();
}
END_TEST

START_TEST(an_ended_peer_gets_no_other_rail)
{
    begin();
    bml_peer_ended(bml, &procs[1]);
    bml_peer_ended(bml, &procs[1]); /* one is enough */
    ck_assert_int_eq(ended[FAST], 1);
    ck_assert_str_eq(rails_of(1), "FT"); /* until they fail */
    break_rail(FAST, 1);
    break_rail(TWIN, 1);
    ck_assert_str_eq(rails_of(1), "");
    bml_restore(bml, changed);
    ck_assert_str_eq(rails_of(1), "");
    break_rail(FAST, 2);
    break_rail(TWIN, 2);
    ck_assert_str_eq(rails_of(2), "S");
    end();
}
END_TEST

static void bring_back(int module, int peer)
{
    btl_report_return(&modules[module], &procs[peer]);
    ck_assert(bml_has_news);
    bml_settle(bml, changed);
}

START_TEST(a_rail_that_failed_is_tried_again_and_returns)
{
    begin();
    break_rail(FAST, 1);
    ck_assert(retried[FAST] && !retried[TWIN]);
    bring_back(FAST, 1);
    ck_assert_str_eq(rails_of(1), "FT");
    ck_assert_int_eq(changes[1], 2);
    bring_back(FAST, 1); /* it is there */
    ck_assert_int_eq(changes[1], 2);
    end();
}
END_TEST

START_TEST(rails_that_come_and_go_cost_no_memory)
{
    size_t count;
    begin();
    const struct keel_rail *both = bml_rails(bml, &procs[1], &count), *one = NULL;
    for (int round = 0; round < 3; round++) {
        break_rail(FAST, 1);
        const struct keel_rail *now = bml_rails(bml, &procs[1], &count);
        ck_assert(!one || now == one);
        one = now;
        bring_back(FAST, 1);
        ck_assert_ptr_eq(bml_rails(bml, &procs[1], &count), both);
        ck_assert_str_eq(rails_of(1), "FT");
    }
    end();
}
END_TEST

START_TEST(who_stood_in_stands_by_again)
{
    begin();
    break_rail(FAST, 2);
    break_rail(TWIN, 2);
    ck_assert_str_eq(rails_of(2), "S");
    bring_back(TWIN, 2);
    ck_assert_str_eq(rails_of(2), "T");
    break_rail(TWIN, 2);
    ck_assert_str_eq(rails_of(2), "S");
    ck_assert_int_eq(added[SLOW], 1); /* it was not asked again */
    bring_back(FAST, 2);
    bring_back(TWIN, 2);
    ck_assert_str_eq(rails_of(2), "FT");
    end();
}
END_TEST

START_TEST(a_standby_that_fails_is_none)
{
    begin();
    break_rail(FAST, 0);
    break_rail(TWIN, 0);
    bring_back(FAST, 0);
    ck_assert_str_eq(rails_of(0), "F");
    int before = changes[0];
    break_rail(SLOW, 0); /* its failures are for good */
    ck_assert_int_eq(changes[0], before);
    break_rail(FAST, 0);
    ck_assert_str_eq(rails_of(0), "");
    end();
}
END_TEST

START_TEST(what_comes_together_is_taken_in_its_order)
{
    begin();
    break_rail(FAST, 1);
    btl_report_return(&modules[FAST], &procs[1]);
    btl_report_error(&modules[FAST], MCA_BTL_ERROR_FLAGS_NONFATAL, &procs[1], "on purpose");
    bml_settle(bml, changed);
    ck_assert_str_eq(rails_of(1), "T");
    end();
}
END_TEST

START_TEST(an_ended_peer_is_not_tried_again)
{
    begin();
    break_rail(FAST, 1);
    ck_assert(retried[FAST]);
    bml_peer_ended(bml, &procs[1]);
    ck_assert(!retried[FAST]);
    break_rail(TWIN, 1);
    ck_assert(!retried[TWIN]);
    break_rail(FAST, -1); /* a module that lost all is not tried again either */
    ck_assert(!retried[FAST]);
    end();
}
END_TEST

START_TEST(who_is_never_asked_for_costs_no_module)
{
    ck_assert_int_eq(add_three(), ORTE_SUCCESS);
    break_rail(FAST, 0); /* of an endpoint that is somebody else's */
    ck_assert_int_eq(changes[0], 0);
    ck_assert_str_eq(rails_of(0), "FT");
    ck_assert_int_eq(added[FAST], 1);
    ck_assert_int_eq(added[TWIN], 1);
    ck_assert_int_eq(added[SLOW], 0);
    end();
}
END_TEST

START_TEST(what_was_lost_for_all_is_not_asked_later)
{
    ck_assert_int_eq(add_three(), ORTE_SUCCESS);
    break_rail(FAST, -1);
    ck_assert_str_eq(rails_of(2), "T");
    ck_assert_int_eq(added[FAST], 0);
    bml_restore(bml, changed);
    ck_assert_str_eq(rails_of(2), "FT");
    ck_assert_int_eq(changes[2], 1);
    ck_assert_str_eq(rails_of(0), "FT");
    end();
}
END_TEST

START_TEST(who_comes_by_itself_is_added_where_it_came)
{
    const orte_process_name_t stranger = {8, 1};
    ck_assert_int_eq(add_three(), ORTE_SUCCESS);
    btl_met(&modules[SLOW], &stranger);
    ck_assert_int_eq(added[SLOW], 0);
    btl_met(&modules[TWIN], &procs[1].proc_name);
    btl_met(&modules[TWIN], &procs[1].proc_name);
    ck_assert_int_eq(added[TWIN], 1);
    ck_assert_int_eq(added[FAST], 0);
    break_rail(TWIN, 1); /* its first event makes its rails */
    ck_assert(retried[TWIN]);
    ck_assert_int_eq(changes[1], 1);
    ck_assert_str_eq(rails_of(1), "F");
    btl_met(&modules[SLOW], &procs[2].proc_name);
    ck_assert_str_eq(rails_of(2), "FT");
    end();
}
END_TEST

START_TEST(who_has_ended_before_is_not_asked_for)
{
    ck_assert_int_eq(add_three(), ORTE_SUCCESS);
    bml_peer_ended(bml, &procs[0]);
    ck_assert_str_eq(rails_of(0), "");
    ck_assert_int_eq(added[FAST] + added[TWIN] + added[SLOW], 0);
    btl_met(&modules[FAST], &procs[1].proc_name);
    bml_peer_ended(bml, &procs[1]); /* which came by itself */
    ck_assert_int_eq(ended[FAST], 1);
    ck_assert_str_eq(rails_of(1), "F"); /* until it fails */
    break_rail(FAST, 1);
    ck_assert_str_eq(rails_of(1), "");
    ck_assert_int_eq(changes[1], 1);
    end();
}
END_TEST

START_TEST(whom_nobody_reaches_is_told_at_once)
{
    reaches[FAST] = reaches[TWIN] = reaches[SLOW] = false;
    ck_assert_int_eq(add_three(), ORTE_ERR_UNREACH);
    ck_assert_str_eq(rails_of(0), "");
    end();
}
END_TEST

START_TEST(whom_nobody_reaches_any_more_has_no_rails)
{
    ck_assert_int_eq(add_three(), ORTE_SUCCESS);
    reaches[FAST] = reaches[TWIN] = false;
    ck_assert_str_eq(rails_of(0), "S");
    reaches[SLOW] = false;
    ck_assert_str_eq(rails_of(1), "");
    end();
}
END_TEST

START_TEST(others_that_lead_to_a_peer_are_asked_whether_they_connect)
{
    begin();
    ck_assert(btl_connects_elsewhere(&modules[FAST], &procs[0]));
    ck_assert_int_eq(asked[SLOW], 0); /* one of the class is connected */
    break_rail(TWIN, 0);
    ck_assert(btl_connects_elsewhere(&modules[FAST], &procs[0])); /* a standby */
    ck_assert(btl_connects_elsewhere(&modules[TWIN], &procs[0]));
    ck_assert_int_eq(added[SLOW], 1);
    end();
    ck_assert(!btl_connects_elsewhere(&modules[FAST], &procs[0]));
}
END_TEST

START_TEST(one_that_does_not_lead_to_a_peer_is_asked_once_whether_it_connects)
{
    begin();
    reaches[SLOW] = false;
    break_rail(TWIN, 0);
    for (int i = 0; i < 5; i++) {
        ck_assert(!btl_connects_elsewhere(&modules[FAST], &procs[0]));
    }
    ck_assert_int_eq(asked[SLOW], 1);
    reaches[SLOW] = true;
    break_rail(FAST, 0); /* it is asked anew when rails are chosen */
    ck_assert_str_eq(rails_of(0), "S");
    ck_assert(btl_connects_elsewhere(&modules[FAST], &procs[0]));
    end();
}
END_TEST

UNIT_MAIN("rails")
