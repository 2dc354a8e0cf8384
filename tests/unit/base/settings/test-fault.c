#include <config.h>

#include <base/data/clock.h>
#include <base/settings/fault_points.h>
#include <base/settings/fault_rules.h>
#include <base/settings/param.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct fault pass(const char *point)
{
    return fault_at(point);
}

START_TEST(unnamed_points_do_nothing)
{
    ck_assert(!fault_enabled);
    ck_assert_int_eq(pass("oob.send").action, FAULT_NONE);
    ck_assert_int_eq(fault_set("oob.send:drop"), ORTE_SUCCESS);
    ck_assert(fault_enabled);
    ck_assert_int_eq(pass("oob.recv").action, FAULT_NONE);
    ck_assert_int_eq(pass("oob.send").action, FAULT_DROP);
    ck_assert_int_eq(fault_set(NULL), ORTE_SUCCESS);
    ck_assert(!fault_enabled);
    ck_assert_int_eq(pass("oob.send").action, FAULT_NONE);
}
END_TEST

START_TEST(actions_carry_values)
{
    ck_assert_int_eq(fault_set("a:error=EAGAIN; b:short=4k ;c:error=EWOULDBLOCK;; d:delay=30;"),
                     ORTE_SUCCESS);
    struct fault fault = pass("a");
    ck_assert_int_eq(fault.action, FAULT_ERROR);
    ck_assert_int_eq(fault.value, EAGAIN);
    fault = pass("b");
    ck_assert_int_eq(fault.action, FAULT_SHORT);
    ck_assert_int_eq(fault.value, 4096);
    ck_assert_int_eq(pass("c").value, EAGAIN);
    uint64_t begin = clock_us();
    ck_assert_int_eq(pass("d").action, FAULT_DELAY);
    ck_assert_uint_ge(clock_us() - begin, 30000);
}
END_TEST

static unsigned fires(const char *point, unsigned passes, uint64_t *pattern)
{
    unsigned count = 0;
    for (unsigned i = 0; i < passes; i++) {
        bool fired = pass(point).action != FAULT_NONE;
        count += fired;
        if (i < 64) {
            *pattern = *pattern << 1 | fired;
        }
    }
    return count;
}

START_TEST(probability_follows_the_seed)
{
    uint64_t first = 0, again = 0, other = 0;
    ck_assert_int_eq(fault_set("x:drop:p=0.25:seed=7"), ORTE_SUCCESS);
    unsigned count = fires("x", 10000, &first);
    ck_assert_uint_gt(count, 2300);
    ck_assert_uint_lt(count, 2700);
    ck_assert_int_eq(fault_set("x:drop:p=.25:seed=7"), ORTE_SUCCESS);
    ck_assert_uint_eq(fires("x", 10000, &again), count);
    ck_assert_uint_eq(again, first);
    ck_assert_int_eq(fault_set("x:drop:seed=8:p=0.25"), ORTE_SUCCESS);
    fires("x", 64, &other);
    ck_assert_uint_ne(other, first);
    ck_assert_int_eq(fault_set("x:drop:p=0"), ORTE_SUCCESS);
    ck_assert_uint_eq(fires("x", 1000, &other), 0);
    ck_assert_int_eq(fault_set("x:drop:p=1.0"), ORTE_SUCCESS);
    ck_assert_uint_eq(fires("x", 1000, &other), 1000);
}
END_TEST

START_TEST(some_points_delay_by_themselves)
{
    ck_assert_int_eq(fault_set("a:delay=5000;b:early;c:duplicate"), ORTE_SUCCESS);
    uint64_t begin = clock_us();
    struct fault fault = fault_ask("a");
    ck_assert_uint_lt(clock_us() - begin, 4000000);
    ck_assert_int_eq(fault.action, FAULT_DELAY);
    ck_assert_int_eq(fault.value, 5000);
    ck_assert_int_eq(fault_ask("b").action, FAULT_EARLY);
    ck_assert_int_eq(fault_ask("c").action, FAULT_DUPLICATE);
}
END_TEST

START_TEST(names_are_found_by_their_beginning)
{
    ck_assert(!fault_names("x."));
    ck_assert_int_eq(fault_set("a:drop;x.y:drop"), ORTE_SUCCESS);
    ck_assert(fault_names("x."));
    ck_assert(fault_names("a"));
    ck_assert(!fault_names("y"));
    ck_assert(!fault_names("x.y.z"));
}
END_TEST

START_TEST(after_lets_passes_go)
{
    ck_assert_int_eq(fault_set("x:error=EPIPE:after=3"), ORTE_SUCCESS);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pass("x").action, FAULT_NONE);
    }
    ck_assert_int_eq(pass("x").value, EPIPE);
    ck_assert_int_eq(pass("x").value, EPIPE);
}
END_TEST

START_TEST(kill_ends_the_process)
{
    ck_assert_int_eq(fault_set("x:kill:after=1"), ORTE_SUCCESS);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        pass("x");
        pass("x");
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

START_TEST(bad_rules_change_nothing)
{
    static const char *const bad[] = {
        "x",
        "x:",
        ":drop",
        "x:explode",
        "x:error",
        "x:early=1",
        "x:duplicate=2",
        "x:error=",
        "x:error=ENOSUCH",
        "x:error=11",
        "x:drop=1",
        "x:kill=9",
        "x:delay=-1",
        "x:delay=60001",
        "x:delay=fast",
        "x:short=",
        "x:drop:p=1.1",
        "x:drop:p=",
        "x:drop:p=.",
        "x:drop:p=0.5.5",
        "x:drop:p=nan",
        "x:drop:seed=-1",
        "x:drop:after",
        "x:drop:what=1",
        "x y:drop",
        "y:drop;x",
        "a-name-of-a-point-that-is-much-longer-than-any-point-is:drop",
    };
    ck_assert_int_eq(fault_set("good:drop"), ORTE_SUCCESS);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(fault_set(bad[i]) == ORTE_ERR_BAD_PARAM, "accepted: %s", bad[i]);
    }
    ck_assert_int_eq(pass("good").action, FAULT_DROP);
    ck_assert_int_eq(pass("y").action, FAULT_NONE);
}
END_TEST

START_TEST(rules_are_bounded)
{
    char rules[1024] = "";
    for (int i = 0; i < 33; i++) {
        strcat(rules, "x:drop;");
    }
    ck_assert_int_eq(fault_set(rules), ORTE_ERR_BAD_PARAM);
    rules[strlen(rules) - strlen("x:drop;")] = '\0';
    ck_assert_int_eq(fault_set(rules), ORTE_SUCCESS);
}
END_TEST

START_TEST(rules_come_from_the_parameter)
{
    char reason[512] = "";
    param_set_files(NULL, NULL);
    setenv("KEEL_MCA_fault", "oob.send:error=ECONNRESET; btl.any.put:early", 1);
    ck_assert_int_eq(fault_open(reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_eq(reason, "");
    ck_assert_int_eq(pass("oob.send").value, ECONNRESET);
}
END_TEST

START_TEST(an_error_in_the_parameter_has_a_reason)
{
    char reason[512] = "";
    param_set_files(NULL, NULL);
    setenv("KEEL_MCA_fault", "oob.recv:short=1;oob.sned:drop", 1);
    ck_assert_int_eq(fault_open(reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
    ck_assert_msg(strstr(reason, "point oob.sned") != NULL, "%s", reason);
    ck_assert(!fault_enabled);
}
END_TEST

START_TEST(reasons_name_what_is_wrong_and_what_is_there)
{
    static const struct {
        const char *rules, *words[3];
    } table[] = {
        {"btl.tcp.send:short=9; oob.send:eror=1",
         {"bad rule \"oob.send:eror=1\"", "error=, drop, delay=, short="}},
        {"nonsense", {"bad rule \"nonsense\"", "an action has to follow"}},
        {":drop", {"bad rule \":drop\"", "name of a point"}},
        {"oob.send:error=ENOSUCH", {"error= wants an errno's name"}},
        {"oob.send:error", {"error= wants an errno's name"}},
        {"oob.send:delay=60001", {"delay= wants milliseconds, 0 to 60000"}},
        {"rml.frame:drop=1", {"drop has no value"}},
        {"rml.frame:drop:p=1.5", {"p=1.5: p= from 0 to 1 is wanted"}},
        {"rml.frame:drop:after=-1", {"after=-1: a whole number is wanted"}},
        {"rml.frame:drop:often=2", {"often=2: p=, seed= or after= is wanted"}},
        {"oob.sned:drop", {"point oob.sned", "oob.accept, oob.connect, oob.recv, oob.send"}},
        {"btl.tcp.sned:drop", {"no such point; there are btl.tcp.connect, btl.tcp.recv"}},
        {"btl.tpc.send:drop", {"there are btl.any.alloc, ", "btl.sm.cma, ", "btl.tcp.send"}},
        {"send:drop",
         {"points begin with btl.any., btl.sm., btl.tcp., btl.ofi., btl.usnic., "
          "launcher., oob."}},
        {"oob.send:drop", {"does not know drop; it knows error=, delay=, short=, kill"}},
        {"rml.frame:drop; launcher.spawn:early", {"point launcher.spawn", "does not know early"}},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct fault_rule rules[FAULT_RULES_MAX];
        size_t count;
        char reason[512] = "";
        int status = fault_rules_parse(table[i].rules, rules, &count, reason, sizeof(reason));
        if (status == ORTE_SUCCESS) {
            status = fault_rules_check(rules, count, reason, sizeof(reason));
        }
        ck_assert_int_eq(status, ORTE_ERR_BAD_PARAM);
        ck_assert_ptr_eq(strstr(reason, "parameter fault: "), reason);
        for (size_t w = 0; w < 3 && table[i].words[w]; w++) {
            ck_assert_msg(strstr(reason, table[i].words[w]) != NULL, "%s", reason);
        }
    }
}
END_TEST

START_TEST(points_are_found)
{
    char text[600];
    fault_points_near("btl.x", text, sizeof(text));
    ck_assert_uint_lt(strlen(text), sizeof(text) - 1); /* none is cut off */
    ck_assert_ptr_null(fault_point_find("btl"));
    ck_assert_ptr_null(fault_point_find(""));
    const struct fault_point *point = fault_point_find("btl.any.register");
    ck_assert_ptr_nonnull(point);
    ck_assert(fault_point_knows(point, FAULT_ERROR) && fault_point_knows(point, FAULT_DELAY) &&
              fault_point_knows(point, FAULT_KILL) && !fault_point_knows(point, FAULT_DROP));
}
END_TEST

UNIT_MAIN("fault")
