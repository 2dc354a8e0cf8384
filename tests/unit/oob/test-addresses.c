/* Contact strings with several addresses, of both families: the next one on any failure. */
#include "side.h"

#include <base/data/clock.h>
#include <netinet/in.h>
#include <oob/oob_wire.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct side a, b, c;

static void close_now(struct side *side, void *arg)
{
    (void) arg;
    oob_link_close(side->link, false);
}

START_TEST(the_next_address_after_any_failure)
{
    side_open(&a, 1, SIDE_TCP);
    side_open(&b, 2, SIDE_TCP);
    side_open(&c, 3, SIDE_TCP);
    a.oob->connect_timeout_us = 300000;
    char *contact = side_listen(&b, SIDE_TCP), *other = side_listen(&c, SIDE_TCP);
    side_run(&a);
    side_run(&b);
    side_run(&c);
    /* Nobody, silence, chatter, another process, then the right one. */
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int silent = sock_listen(&addr, 5), chatty = sock_listen(&addr, 5);
    struct sock_addr silent_addr, chatty_addr;
    ck_assert_int_eq(sock_local_addr(silent, &silent_addr), 0);
    ck_assert_int_eq(sock_local_addr(chatty, &chatty_addr), 0);
    char front[300];
    snprintf(front, sizeof front,
             ";unix:///nobody;tcp://127.0.0.1:%u;tcp://127.0.0.1:%u;tcp://127.0.0.1:%u",
             sock_addr_port(&silent_addr), sock_addr_port(&chatty_addr), side_port_of(other));
    ck_assert_int_eq(side_connect(&a, side_with_name(contact, 2, front), OOB_KEY_APP),
                     ORTE_SUCCESS);
    struct pollfd wait = {.fd = chatty, .events = POLLIN};
    ck_assert_int_eq(poll(&wait, 1, 5000), 1);
    int fd = accept(chatty, NULL, NULL);
    ck_assert_int_eq((int) write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 28);
    side_wait_int(&a, &a.connects_done, 1);
    ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
    ck_assert_int_eq(c.ups, 0);
    side_talk(&a, &b);
    close(fd);
    close(silent);
    close(chatty);
    free(contact);
    free(other);
    side_close(&a);
    side_close(&b);
    side_close(&c);
}
END_TEST

START_TEST(what_the_kernel_proves_needs_a_unix_socket)
{
    char front[64];
    struct sock_addr addr;
    char *contact = side_open_two(&a, &b, SIDE_UNIX);
    side_run(&a);
    side_run(&b);
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int listener = sock_listen(&addr, 5);
    ck_assert_int_eq(sock_local_addr(listener, &addr), 0);
    snprintf(front, sizeof front, ";tcp://127.0.0.1:%u", sock_addr_port(&addr));
    side_expect_link(&a, side_with_name(contact, 2, front), OOB_KEY_PEERCRED);
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    ck_assert_int_eq(poll(&wait, 1, 0), 0); /* nobody came */
    ck_assert_int_eq(side_connect(&a, side_with_name(front, 3, ""), OOB_KEY_PEERCRED),
                     ORTE_ERR_UNREACH);
    close(listener);
    side_close_two(&a, &b, contact);
}
END_TEST

/* --- who answers at the first address --- */

enum stranger_kind { SAYS_GARBAGE, SAYS_HTTP, SAYS_NOTHING, CLOSES, IS_BUSY, ECHOES, STRANGERS };

static struct answerer {
    pthread_t thread;
    int listener;
    enum stranger_kind kind;
    atomic_bool stop;
    atomic_int asked;
} answerer;

static void answer(int fd)
{
    uint8_t data[WIRE_VERDICT_SIZE];
    if (answerer.kind == SAYS_GARBAGE) {
        crypto_random(data, sizeof data);
        (void) !send(fd, data, sizeof data, MSG_NOSIGNAL);
    } else if (answerer.kind == SAYS_HTTP) {
        (void) !send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
    } else if (answerer.kind == IS_BUSY) {
        handshake_busy(data);
        (void) !send(fd, data, sizeof data, MSG_NOSIGNAL);
    } else if (answerer.kind == ECHOES) {
        uint8_t hello[WIRE_HELLO_SIZE];
        ssize_t got = recv(fd, hello, sizeof hello, MSG_WAITALL);
        (void) !send(fd, hello, got > 0 ? (size_t) got : 0, MSG_NOSIGNAL);
    }
}

static void *answer_all(void *arg)
{
    int silent[100], count = 0;
    (void) arg;
    while (!atomic_load(&answerer.stop)) {
        struct pollfd wait = {.fd = answerer.listener, .events = POLLIN};
        int fd = poll(&wait, 1, 20) > 0 ? accept(answerer.listener, NULL, NULL) : -1;
        if (fd < 0) {
            continue;
        }
        atomic_fetch_add(&answerer.asked, 1);
        answer(fd);
        if (answerer.kind == SAYS_NOTHING && count < 100) {
            silent[count++] = fd;
        } else {
            close(fd);
        }
    }
    while (count > 0) {
        close(silent[--count]);
    }
    return NULL;
}

/* Whoever it is, in either family, the next address is tried; in its time for those who say nothing
 * or put us off, at once for the others. */
static void pass_over(enum stranger_kind kind, int family, const char *contact)
{
    struct sock_addr addr;
    char front[64];
    ck_assert_int_eq(sock_addr_ip(&addr, family, family == AF_INET ? "127.0.0.1" : "::1", 0), 0);
    answerer = (struct answerer){.kind = kind, .listener = sock_listen(&addr, 50)};
    ck_assert_int_ge(answerer.listener, 0);
    ck_assert_int_eq(sock_local_addr(answerer.listener, &addr), 0);
    ck_assert_int_eq(pthread_create(&answerer.thread, NULL, answer_all, NULL), 0);
    snprintf(front, sizeof front, ";%s:%u", family == AF_INET ? "tcp://127.0.0.1" : "tcp6://[::1]",
             sock_addr_port(&addr));
    int downs = b.downs;
    side_expect_link(&a, side_with_name(contact, 2, front), OOB_KEY_APP);
    ck_assert_int_gt(atomic_load(&answerer.asked), 0);
    ck_assert_msg(kind != IS_BUSY || atomic_load(&answerer.asked) > 2, "asked once");
    side_talk(&a, &b);
    side_call(&a, close_now, NULL);
    side_wait_int(&b, &b.downs, downs + 1);
    atomic_store(&answerer.stop, true);
    pthread_join(answerer.thread, NULL);
    close(answerer.listener);
}

START_TEST(a_stranger_at_the_first_address_is_passed_over)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    a.oob->connect_timeout_us = 300000;
    side_run(&a);
    side_run(&b);
    for (int kind = 0; kind < STRANGERS; kind++) {
        pass_over((enum stranger_kind) kind, AF_INET, contact);
        pass_over((enum stranger_kind) kind, AF_INET6, contact);
    }
    side_close_two(&a, &b, contact);
}
END_TEST

/* One that swallows everything costs a second; one that is only slow is asked again. */
START_TEST(a_slow_address_has_a_second_turn)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    side_run(&a);
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int silent = sock_listen(&addr, 5);
    ck_assert_int_eq(sock_local_addr(silent, &addr), 0);
    /* b does not run yet: all are silent, and none is better. */
    char front[64];
    snprintf(front, sizeof front, ";tcp://127.0.0.1:%u", sock_addr_port(&addr));
    uint64_t begin = clock_us();
    ck_assert_int_eq(side_connect(&a, side_with_name(contact, 2, front), OOB_KEY_APP),
                     ORTE_SUCCESS);
    size_t count = 2 + (strstr(contact, "tcp6") != NULL);
    usleep((useconds_t) (count * 1000000 + 300000));
    ck_assert_int_eq(a.connects_done, 0);
    side_run(&b);
    side_wait_int(&a, &a.connects_done, 1);
    ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
    ck_assert_uint_gt(clock_us() - begin, count * 1000000);
    side_wait_int(&b, &b.ups, 1);
    side_talk(&a, &b);
    close(silent);
    side_close_two(&a, &b, contact);
}
END_TEST

/* It has the right name and another job's key. */
START_TEST(a_namesake_with_another_key_is_passed_over)
{
    static const uint8_t other_key[KEY_BYTES] = {9};
    side_open(&a, 1, SIDE_TCP);
    side_open(&b, 2, SIDE_TCP);
    side_open(&c, 2, SIDE_TCP);
    oob_set_key(c.oob, OOB_KEY_APP, other_key);
    char *contact = side_listen(&b, SIDE_TCP), *other = side_listen(&c, SIDE_TCP);
    char both[CONTACT_TEXT_MAX];
    snprintf(both, sizeof both, "%s%s", other, strchr(contact, ';'));
    side_run(&a);
    side_run(&b);
    side_run(&c);
    side_expect_link(&a, both, OOB_KEY_APP);
    side_talk(&a, &b);
    ck_assert_int_eq(c.ups, 0);
    free(contact);
    free(other);
    side_close(&a);
    side_close(&b);
    side_close(&c);
}
END_TEST

/* Over IPv6 alone, and behind ports where nobody listens. */
START_TEST(both_families_and_closed_ports)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    const char *v6 = strstr(contact, ";tcp6://[::1]:");
    if (v6) {
        char text[CONTACT_TEXT_MAX];
        snprintf(text, sizeof text,
                 "65536.2;tcp://127.0.0.1:1;tcp6://[::1]:1;unix:///nobody;tcp6://[::1]:%d",
                 atoi(v6 + 14));
        side_run(&a);
        side_run(&b);
        side_expect_link(&a, text, OOB_KEY_APP);
        ck_assert(strncmp(a.peer.address, "tcp6://[::1]:", 13) == 0);
        side_talk(&a, &b);
        side_talk(&b, &a);
    }
    side_close_two(&a, &b, contact);
}
END_TEST

UNIT_MAIN("addresses")
