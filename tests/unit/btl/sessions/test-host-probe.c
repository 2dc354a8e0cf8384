/* Hosts that are asked whether they live. */
#include <config.h>

#include <btl/sessions/host_probe.h>
#include <poll.h>
#include <sched.h>
#include <tests/lib/unit.h>

static struct host_probe probe;

static void ask(int family, const char *from, const char *to)
{
    struct sock_addr local, peer;

    host_probe_init(&probe);
    ck_assert_int_eq(host_probe_answer(&probe), HOST_NOT_ASKED);
    ck_assert_int_eq(sock_addr_ip(&local, family, from, 7), 0);
    ck_assert_int_eq(sock_addr_ip(&peer, family, to, 7), 0);
    host_probe_ask(&probe, &local, &peer);
    for (int ms = 0; ms < 100 && host_probe_answer(&probe) == HOST_NO_ANSWER; ms++) {
        poll(NULL, 0, 1);
    }
}

static void forget(void)
{
    host_probe_clear(&probe);
    ck_assert_int_eq(probe.fd, -1);
    ck_assert_int_eq(host_probe_answer(&probe), HOST_NOT_ASKED);
}

START_TEST(test_one_that_lives)
{
    ask(AF_INET, "127.0.0.1", "127.0.0.2");
    ck_assert_int_eq(host_probe_answer(&probe), HOST_ANSWERS);
    ck_assert_int_eq(probe.fd, -1);
    ck_assert_int_eq(host_probe_answer(&probe), HOST_ANSWERS); /* until it is forgotten */
    forget();
}
END_TEST

START_TEST(test_one_that_lives_at_an_ipv6_address)
{
    struct sock_addr local;
    ck_assert_int_eq(sock_addr_ip(&local, AF_INET6, "::1", 0), 0);
    int fd = sock_listen(&local, 1);
    if (fd >= 0) { /* else there is none */
        ask(AF_INET6, "::1", "::1");
        ck_assert_int_eq(host_probe_answer(&probe), HOST_ANSWERS);
        forget();
    }
    fd_close(&fd);
}
END_TEST

START_TEST(test_one_that_no_way_leads_to)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
        ask(AF_INET, "0.0.0.0", "192.0.2.1");
        ck_assert_int_eq(host_probe_answer(&probe), HOST_UNREACHABLE);
        forget();
    }
}
END_TEST

START_TEST(test_an_address_that_this_process_does_not_have)
{
    ask(AF_INET, "192.0.2.1", "127.0.0.1");
    ck_assert_int_eq(host_probe_answer(&probe), HOST_NOT_ASKED);
    forget();
}
END_TEST

UNIT_MAIN("host-probe")
