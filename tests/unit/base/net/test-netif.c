#include <config.h>

#include <base/net/netif.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static bool has(const char *text, const char *host)
{
    struct netif_block block;
    struct sock_addr addr;
    ck_assert_int_eq(netif_block_parse(&block, text), ORTE_SUCCESS);
    ck_assert_int_eq(sock_addr_ip(&addr, strchr(host, ':') ? AF_INET6 : AF_INET, host, 0), 0);
    return netif_block_has(&block, &addr);
}

START_TEST(blocks_match_their_prefix)
{
    ck_assert(has("10.0.0.0/8", "10.255.1.2"));
    ck_assert(!has("10.0.0.0/8", "11.0.0.1"));
    ck_assert(has("10.9.9.9/8", "10.1.1.1")); /* bits behind the prefix do not count */
    ck_assert(has("192.168.4.0/22", "192.168.7.255"));
    ck_assert(!has("192.168.4.0/22", "192.168.8.0"));
    ck_assert(has("192.168.4.128/25", "192.168.4.128"));
    ck_assert(!has("192.168.4.128/25", "192.168.4.127"));
    ck_assert(has("0.0.0.0/0", "1.2.3.4"));
    ck_assert(!has("0.0.0.0/0", "::1"));
    ck_assert(has("1.2.3.4", "1.2.3.4"));
    ck_assert(!has("1.2.3.4/32", "1.2.3.5"));
    ck_assert(has("fd00::/8", "fdff::1"));
    ck_assert(!has("fd00::/8", "fe00::1"));
    ck_assert(has("2001:db8::/33", "2001:db8:7fff::1"));
    ck_assert(!has("2001:db8::/33", "2001:db8:8000::1"));
    ck_assert(has("::/0", "::1"));
    ck_assert(!has("::/0", "1.2.3.4"));
    ck_assert(has("::1", "::1"));
    ck_assert(!has("::1/128", "::2"));
}
END_TEST

START_TEST(bad_blocks)
{
    static const char *const bad[] = {
        "",
        "eth0",
        "10.0.0/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "1.2.3.4/x",
        "1.2.3.4/-1",
        "1.2.3.4/+8",
        "1.2.3.4/8/8",
        "fd00::/129",
        "fd00::g/8",
        "1.2.3.4/ 8",
        "/8",
        "1.2.3.4/4294967304",
        "[::1]/8",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:1111:2222:3333:4444/8",
    };
    struct netif_block block;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(netif_block_parse(&block, bad[i]) == ORTE_ERR_BAD_PARAM, "accepted: %s",
                      bad[i]);
    }
}
END_TEST

static void set(struct netif *netif, const char *name, const char *host, bool loopback)
{
    *netif = (struct netif){.prefix = 24, .loopback = loopback};
    strcpy(netif->name, name);
    ck_assert_int_eq(sock_addr_ip(&netif->addr, strchr(host, ':') ? AF_INET6 : AF_INET, host, 0),
                     0);
}

/* The names of what is chosen among eth0 (10.1.0.1), eth1 (10.2.0.1), eth0 (fd00::1), lo. */
static const char *choose(const char *include, const char *exclude)
{
    static char names[128];
    char reason[128] = "";
    struct netif list[4];
    size_t count = 4;
    set(&list[0], "eth0", "10.1.0.1", false);
    set(&list[1], "eth1", "10.2.0.1", false);
    set(&list[2], "eth0", "fd00::1", false);
    set(&list[3], "lo", "127.0.0.1", true);
    int rc = netif_choose(include, exclude, list, &count, reason, sizeof(reason));
    if (rc != ORTE_SUCCESS) {
        ck_assert_uint_eq(count, 4);
        ck_assert_str_ne(reason, "");
        return rc == ORTE_ERR_NOT_FOUND ? "not found" : "bad";
    }
    names[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        bool in6 = list[i].addr.storage.ss_family == AF_INET6;
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%.15s%s", i ? " " : "", list[i].name,
                 in6 ? "/6" : "");
    }
    return names;
}

START_TEST(choices)
{
    ck_assert_str_eq(choose(NULL, NULL), "eth0 eth1 eth0/6");
    ck_assert_str_eq(choose("", ""), "eth0 eth1 eth0/6");
    ck_assert_str_eq(choose("eth0", NULL), "eth0 eth0/6");
    ck_assert_str_eq(choose(" eth1 , fd00::/8 ", ""), "eth1 eth0/6");
    ck_assert_str_eq(choose("10.0.0.0/8", NULL), "eth0 eth1");
    ck_assert_str_eq(choose("lo,eth1", NULL), "eth1 lo");
    ck_assert_str_eq(choose("127.0.0.0/8", NULL), "lo");
    ck_assert_str_eq(choose(NULL, "eth0"), "eth1");
    ck_assert_str_eq(choose(NULL, "lo"), "eth0 eth1 eth0/6");
    ck_assert_str_eq(choose(NULL, "eth0,eth1"), "lo");
    ck_assert_str_eq(choose(NULL, "eth0,eth1,lo"), "not found");
    ck_assert_str_eq(choose("eth7", NULL), "not found");
    ck_assert_str_eq(choose("eth7,eth1", NULL), "eth1");
}
END_TEST

START_TEST(bad_choices)
{
    char many[1024] = "";
    ck_assert_str_eq(choose("eth0", "eth1"), "bad");
    ck_assert_str_eq(choose("eth0,,eth1", NULL), "bad");
    ck_assert_str_eq(choose(",", NULL), "bad");
    ck_assert_str_eq(choose(" ", NULL), "bad");
    ck_assert_str_eq(choose("10.0.0.0/99", NULL), "bad");
    ck_assert_str_eq(choose(NULL, "a name"), "bad");
    ck_assert_str_eq(choose(NULL, "interface-name-too-long"), "bad");
    for (int i = 0; i < 65; i++) {
        strcat(many, "eth0,");
    }
    ck_assert_str_eq(choose(many, NULL), "bad");
    memset(many, 'x', sizeof(many) - 1);
    ck_assert_str_eq(choose(many, NULL), "bad");
}
END_TEST

START_TEST(the_systems_interfaces)
{
    struct netif *list = NULL;
    size_t count = 0;
    char reason[128] = "", text[80];
    int rc = netif_list(NULL, NULL, &list, &count, reason, sizeof(reason));
    ck_assert_msg(rc == ORTE_SUCCESS, "%s", reason);
    ck_assert((count > 0) == (list != NULL));
    bool loopback = false, in6 = false;
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_ne(list[i].name, "");
        ck_assert_uint_eq(list[i].index, if_nametoindex(list[i].name));
        ck_assert_uint_ge(list[i].mtu_bytes, 68);
        ck_assert_int_ge(list[i].numa_node, -1);
        ck_assert_uint_eq(sock_addr_port(&list[i].addr), 0);
        ck_assert_str_ne(sock_addr_print(&list[i].addr, text, sizeof(text)), "?");
        bool is_in6 = list[i].addr.storage.ss_family == AF_INET6;
        ck_assert_uint_le(list[i].prefix, is_in6 ? 128 : 32);
        ck_assert(!(loopback && !list[i].loopback));
        ck_assert(!(in6 && !is_in6) || (list[i].loopback && !loopback));
        in6 = is_in6;
        loopback = list[i].loopback;
    }
    free(list);

    rc = netif_list("127.0.0.0/8", NULL, &list, &count, reason, sizeof(reason));
    if (rc == ORTE_SUCCESS) {
        ck_assert_uint_ge(count, 1);
        ck_assert(list[0].loopback);
        ck_assert_uint_eq(list[0].prefix, 8);
        free(list);
    } else {
        ck_assert_int_eq(rc, ORTE_ERR_NOT_FOUND); /* a network namespace whose lo is down */
    }
    ck_assert_int_eq(netif_list("no-such", NULL, &list, &count, reason, sizeof(reason)),
                     ORTE_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(reason, "no-such"));
}
END_TEST

UNIT_MAIN("netif")
