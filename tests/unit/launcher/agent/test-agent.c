/* What an agent is called with, what it says, and what is made of its end. */
#include <config.h>

#include <base/data/strings.h>
#include <fcntl.h>
#include <launcher/agent/agent.h>
#include <launcher/agent/said.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(test_split)
{
    char **words = NULL;
    ck_assert(agent_split(&words, " ssh -x\t-o  A=b "));
    ck_assert_uint_eq(strings_count(words), 4);
    ck_assert_str_eq(words[0], "ssh");
    ck_assert_str_eq(words[3], "A=b");
    strings_free(words);
    words = NULL;
    ck_assert(agent_split(&words, " \t"));
    ck_assert_ptr_null(words);
}
END_TEST

static const char *explain(int wait_status, const char *said)
{
    static char text[512];
    agent_explain_end(text, sizeof(text), wait_status, "/opt/keel/bin/keeld", said);
    return text;
}

START_TEST(test_ends)
{
    ck_assert_str_eq(explain(7 << 8, NULL),
                     "the agent ended with code 7 before the daemon called home");
    ck_assert_str_eq(explain(9, NULL),
                     "the agent was killed by signal 9 before the daemon called home");
    ck_assert_str_eq(explain(255 << 8, "ssh: no route"),
                     "ssh: no route (the agent ended with code 255 before the daemon called home)");
    ck_assert_ptr_nonnull(strstr(explain(127 << 8, NULL), "no /opt/keel/bin/keeld there"));
    ck_assert_ptr_nonnull(strstr(explain(127 << 8, "sh: keeld: not found"),
                                 "(code 127): sh: keeld: not found: Keel has to be"));
    ck_assert_str_eq(explain(126 << 8, NULL),
                     "/opt/keel/bin/keeld cannot be executed there (code 126)");
}
END_TEST

static struct loop *loop;
static struct said said;
static int writer;
static char heard[8192];

static void hear(struct said *which, const char *line)
{
    ck_assert_ptr_eq(which, &said);
    strcat(strcat(heard, line), "|");
}

static void open_said(void)
{
    int fds[2];
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    said_open(&said, fds[0]);
    writer = fds[1];
}

static void begin(void)
{
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    said_init(&said, loop, hear);
    open_said();
}

static void writes(const char *text)
{
    ck_assert_int_eq(write(writer, text, strlen(text)), (ssize_t) strlen(text));
    lines_read(&said.lines);
}

static void end(void)
{
    close(writer);
    said_fini(&said);
    loop_destroy(loop);
}

START_TEST(test_kept_until_it_may_pass)
{
    begin();
    writes("Welcome\nto n1\n");
    ck_assert_str_eq(heard, "");
    said_pass(&said);
    ck_assert_str_eq(heard, "Welcome|to n1|");
    writes("later\n");
    ck_assert_str_eq(heard, "Welcome|to n1|later|");
    ck_assert_ptr_null(said_last(&said));
    end();
}
END_TEST

START_TEST(test_the_last_line)
{
    begin();
    said_open(&said, -1);
    ck_assert_ptr_null(said_last(&said));
    writes("banner\n  why\033[31m \r\n\n \t\n");
    char *last = said_last(&said);
    ck_assert_str_eq(last, "why?[31m");
    free(last);
    close(writer);
    said_close(&said);
    said_fini(&said); /* the next try */
    ck_assert_ptr_null(said_last(&said));
    open_said();
    writes("again");
    said_close(&said); /* its line has not ended */
    last = said_last(&said);
    ck_assert_str_eq(last, "again");
    free(last);
    end();
}
END_TEST

START_TEST(test_of_many_lines_the_last_is_kept)
{
    char line[32];
    begin();
    for (int i = 0; i < 2 * SAID_MAX; i++) {
        snprintf(line, sizeof(line), "line %d\n", i);
        writes(line);
    }
    ck_assert_uint_eq(strings_count(said.kept), SAID_MAX);
    char *last = said_last(&said);
    ck_assert_str_eq(last, "line 127");
    free(last);
    ck_assert_str_eq(said.kept[0], "line 0");
    end();
}
END_TEST

UNIT_MAIN("agent")
