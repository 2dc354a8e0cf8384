/* Pings: who answers one, and what it leaves behind (nothing). */
#include "side.h"

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct side a, b;

static struct {
    const char *contact;
    uint64_t timeout_us;
    int returned, status;
    char reason[640];
} ping;

static int pings_done;

static void pinged(void *arg, int status, const char *reason)
{
    struct side *side = arg;
    pthread_mutex_lock(&side->lock);
    ping.status = status;
    snprintf(ping.reason, sizeof ping.reason, "%s", reason);
    pings_done++;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void ping_on_loop(struct side *side, void *arg)
{
    (void) arg;
    ping.returned = oob_ping(side->oob, ping.contact, ping.timeout_us, pinged, side);
}

/* What comes of it, with a time limit. */
static int try_ping(const char *contact, int ms)
{
    int done = pings_done;
    ping.contact = contact;
    ping.timeout_us = (uint64_t) ms * 1000;
    side_call(&a, ping_on_loop, NULL);
    if (ping.returned != ORTE_SUCCESS) {
        return ping.returned;
    }
    side_wait_int(&a, &pings_done, done + 1);
    return ping.status;
}

static char *open_both(enum side_transport transport)
{
    char *contact = side_open_two(&a, &b, transport);
    side_run(&a);
    side_run(&b);
    return contact;
}

static void close_both(char *contact)
{
    ck_assert_int_eq(a.ups + b.ups, 0);
    side_close_two(&a, &b, contact);
}

/* The address of a listener that says nothing, and its descriptor. */
static int open_silent(char *text, size_t size)
{
    struct sock_addr addr, bound;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int fd = sock_listen(&addr, 5);
    ck_assert_int_eq(sock_local_addr(fd, &bound), 0);
    sock_addr_print(&bound, text, size);
    return fd;
}

START_TEST(over_every_transport)
{
    for (int transport = 0; transport < SIDE_TRANSPORTS; transport++) {
        char *contact = open_both((enum side_transport) transport);
        int fds = side_count_fds();
        for (int i = 0; i < 20; i++) {
            ck_assert_msg(try_ping(contact, 5000) == ORTE_SUCCESS, "%s", ping.reason);
        }
        for (int i = 0; i < 1000 && side_count_fds() > fds; i++) {
            usleep(1000); /* b closes its ends */
        }
        ck_assert_int_le(side_count_fds(), fds);
        close_both(contact);
    }
}
END_TEST

/* A live link is no answer, and is not touched. */
START_TEST(beside_a_link)
{
    char *contact = open_both(SIDE_TCP);
    ck_assert_int_eq(side_connect(&a, contact, OOB_KEY_APP), ORTE_SUCCESS);
    side_wait_int(&b, &b.ups, 1);
    side_wait_int(&a, &a.connects_done, 1);
    ck_assert_msg(try_ping(contact, 5000) == ORTE_SUCCESS, "%s", ping.reason);
    side_send(a.link, OOB_CONTROL, "still there", 11);
    side_wait_size(&b, &b.frames, 1);
    ck_assert(a.ups == 1 && b.ups == 1 && a.downs == 0 && b.downs == 0);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(nobody_and_bad_strings)
{
    char *contact = open_both(SIDE_TCP);
    ck_assert_int_eq(try_ping("nonsense", 100), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(try_ping("65536.2;tcp://127.0.0.1:1;unix:///nobody", 5000), ORTE_ERR_UNREACH);
    ck_assert_ptr_nonnull(strstr(ping.reason, "127.0.0.1:1"));
    ck_assert_ptr_nonnull(strstr(ping.reason, "/nobody"));
    close_both(contact);
}
END_TEST

START_TEST(another_process_there)
{
    char *contact = open_both(SIDE_TCP), other[CONTACT_TEXT_MAX];
    snprintf(other, sizeof other, "65536.7%s", strchr(contact, ';'));
    ck_assert_int_eq(try_ping(other, 5000), ORTE_ERR_UNREACH);
    close_both(contact);
}
END_TEST

static void take_other_key(struct side *side, void *arg)
{
    static const uint8_t key[KEY_BYTES] = {9};
    (void) arg;
    oob_set_key(side->oob, OOB_KEY_APP, key);
}

START_TEST(another_key)
{
    char *contact = open_both(SIDE_TCP);
    side_call(&b, take_other_key, NULL);
    ck_assert_int_eq(try_ping(contact, 5000), ORTE_ERR_UNREACH);
    close_both(contact);
}
END_TEST

START_TEST(one_who_would_not_have_a_link)
{
    char *contact = open_both(SIDE_TCP);
    b.admit_status = ORTE_ERR_PERM;
    ck_assert_int_eq(try_ping(contact, 5000), ORTE_ERR_UNREACH);
    ck_assert_ptr_nonnull(strstr(ping.reason, "admitted"));
    close_both(contact);
}
END_TEST

START_TEST(silence_has_its_time)
{
    char silent[128], text[CONTACT_TEXT_MAX];
    int fd = open_silent(silent, sizeof silent);
    char *contact = open_both(SIDE_TCP);
    snprintf(text, sizeof text, "65536.2;%s", silent);
    uint64_t begin = clock_us();
    ck_assert_int_eq(try_ping(text, 300), ORTE_ERR_TIMEOUT);
    ck_assert_uint_ge(clock_us() - begin, 300000);
    ck_assert_int_eq(try_ping(text, 0), ORTE_ERR_TIMEOUT);
    /* The one that answers is behind it, and has its share. */
    snprintf(text, sizeof text, "65536.2;%s%s", silent, strchr(contact, ';'));
    ck_assert_msg(try_ping(text, 1000) == ORTE_SUCCESS, "%s", ping.reason);
    close(fd);
    close_both(contact);
}
END_TEST

START_TEST(the_end_of_the_endpoint)
{
    char silent[128], text[CONTACT_TEXT_MAX];
    int fd = open_silent(silent, sizeof silent), done = pings_done;
    side_open(&a, 1, SIDE_TCP);
    side_run(&a);
    snprintf(text, sizeof text, "65536.2;%s", silent);
    ping.contact = text;
    ping.timeout_us = 60000000;
    side_call(&a, ping_on_loop, NULL);
    ck_assert_int_eq(ping.returned, ORTE_SUCCESS);
    side_close(&a);
    ck_assert_int_eq(pings_done, done + 1);
    ck_assert_int_eq(ping.status, ORTE_ERR_COMM_FAILURE);
    close(fd);
}
END_TEST

static void look_at_pending(struct side *side, void *arg)
{
    *(unsigned *) arg = side->oob->pending_count;
}

/* Strangers of this host hold its eight places at the door: the ping comes again. */
START_TEST(one_who_is_busy)
{
    enum { PLACES = 8 };
    char *contact = open_both(SIDE_TCP);
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", side_port_of(contact)), 0);
    int fds[PLACES];
    unsigned pending = 0;
    for (int i = 0; i < PLACES; i++) {
        fds[i] = sock_connect(&addr);
        ck_assert_int_ge(fds[i], 0);
    }
    for (int i = 0; i < 1000 && pending < PLACES; i++) {
        side_call(&b, look_at_pending, &pending);
    }
    char text[64];
    snprintf(text, sizeof text, "65536.2;tcp://127.0.0.1:%u", side_port_of(contact));
    ck_assert_msg(try_ping(text, 5000) == ORTE_SUCCESS, "%s", ping.reason);
    for (int i = 0; i < PLACES; i++) {
        close(fds[i]);
    }
    close_both(contact);
}
END_TEST

UNIT_MAIN("oob/ping")
