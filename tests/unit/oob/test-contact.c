/* oob/contact.h: what is read, what is refused, and that printing and reading agree. */
#include <netinet/in.h>
#include <oob/contact.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static char reason[200];

static int parse(struct contact *contact, const char *text)
{
    reason[0] = '\0';
    return contact_parse(contact, text, reason, sizeof reason);
}

START_TEST(reads_all_kinds)
{
    struct contact contact;
    ck_assert_int_eq(
        parse(&contact, "65536.7;unix:///tmp/a b/s;tcp://10.0.0.1:80;tcp6://[::1]:65535"),
        ORTE_SUCCESS);
    ck_assert_uint_eq(contact.name.jobid, 65536);
    ck_assert_uint_eq(contact.name.vpid, 7);
    ck_assert_uint_eq(contact.count, 3);
    ck_assert_int_eq(contact.addrs[0].storage.ss_family, AF_UNIX);
    ck_assert_int_eq(contact.addrs[1].storage.ss_family, AF_INET);
    ck_assert_int_eq(contact.addrs[2].storage.ss_family, AF_INET6);
    ck_assert_uint_eq(sock_addr_port(&contact.addrs[1]), 80);
    ck_assert_uint_eq(sock_addr_port(&contact.addrs[2]), 65535);
}
END_TEST

START_TEST(prints_what_it_reads)
{
    static const char *const texts[] = {
        "0.0;tcp://127.0.0.1:1",
        "4294967293.4294967293;unix:///x",
        "1.2;tcp6://[fd00::1:2]:9;tcp://1.2.3.4:5;unix:///tmp/keel-0/s",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct contact contact;
        ck_assert_int_eq(parse(&contact, texts[i]), ORTE_SUCCESS);
        char *printed = contact_print(&contact);
        ck_assert_str_eq(printed, texts[i]);
        free(printed);
    }
}
END_TEST

static void refuse(const char *text)
{
    struct contact contact, before;
    memset(&contact, 0x5a, sizeof contact);
    before = contact;
    ck_assert_msg(parse(&contact, text) == ORTE_ERR_BAD_PARAM, "accepted: %s", text);
    ck_assert_msg(memcmp(&contact, &before, sizeof contact) == 0, "changed by: %s", text);
    ck_assert_msg(strstr(reason, "character "), "no reason for: %s", text);
}

START_TEST(refuses_hostile_names)
{
    static const char *const texts[] = {
        "",
        "1",
        "1.",
        "1.2",
        "1.2;",
        ".2;tcp://1.2.3.4:5",
        "-1.2;tcp://1.2.3.4:5",
        "+1.2;tcp://1.2.3.4:5",
        "01.2;tcp://1.2.3.4:5",
        "1.2.3;tcp://1.2.3.4:5",
        "1 .2;tcp://1.2.3.4:5",
        "*.2;tcp://1.2.3.4:5",
        "4294967294.2;tcp://1.2.3.4:5", /* wildcard */
        "1.4294967295;tcp://1.2.3.4:5", /* invalid */
        "4294967296.0;tcp://1.2.3.4:5",
        "99999999999999999999999999.0;tcp://1.2.3.4:5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        refuse(texts[i]);
    }
    struct contact contact;
    ck_assert_int_eq(parse(&contact, NULL), ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(refuses_hostile_addresses)
{
    static const char *const texts[] = {
        "1.2;;tcp://1.2.3.4:5",
        "1.2;tcp://1.2.3.4:5;",
        "1.2,tcp://1.2.3.4:5",
        "1.2;udp://1.2.3.4:5",
        "1.2;TCP://1.2.3.4:5",
        "1.2;tcp:/1.2.3.4:5",
        "1.2;tcp://",
        "1.2;tcp://:5",
        "1.2;tcp://1.2.3.4",
        "1.2;tcp://1.2.3.4:",
        "1.2;tcp://1.2.3.4:0",
        "1.2;tcp://1.2.3.4:65536",
        "1.2;tcp://1.2.3.4:05",
        "1.2;tcp://1.2.3.4:5x",
        "1.2;tcp://1.2.3.4:5 ",
        "1.2;tcp://1.2.3:5",
        "1.2;tcp://localhost:5",
        "1.2;tcp://[::1]:5",
        "1.2;tcp6://::1:5",
        "1.2;tcp6://[::1:5",
        "1.2;tcp6://::1]:5",
        "1.2;tcp6://[]:5",
        "1.2;tcp6://[:5",
        "1.2;tcp6://:5",
        "1.2;tcp6://[fe80::1%lo]:5",
        "1.2;tcp6://[1.2.3.4]:5",
        "1.2;unix://",
        "1.2;unix://relative",
        "1.2;unix:///a\n",
        "1.2;unix:///a\x7f",
        "1.2;unix:///\xc3\xa4",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        refuse(texts[i]);
    }
}
END_TEST

START_TEST(says_where)
{
    struct contact contact;
    ck_assert_int_eq(parse(&contact, "1.2;tcp://1.2.3.4:5;nonsense"), ORTE_ERR_BAD_PARAM);
    ck_assert_str_eq(reason,
                     "contact string, character 21: unix://, tcp:// or tcp6:// is expected");
    /* A short buffer for the reason is cut, not overrun. */
    char small[8];
    memset(small, 'x', sizeof small);
    ck_assert_int_eq(contact_parse(&contact, "?", small, 4), ORTE_ERR_BAD_PARAM);
    ck_assert_str_eq(small, "con");
    ck_assert_int_eq(small[4], 'x');
}
END_TEST

START_TEST(keeps_the_limits)
{
    char text[2048] = "1.2";
    struct contact contact;
    for (int i = 0; i < CONTACT_ADDRS_MAX; i++) {
        strcat(text, ";tcp://1.2.3.4:5");
    }
    ck_assert_int_eq(parse(&contact, text), ORTE_SUCCESS);
    ck_assert_uint_eq(contact.count, CONTACT_ADDRS_MAX);
    strcat(text, ";tcp://1.2.3.4:5");
    ck_assert_int_eq(parse(&contact, text), ORTE_ERR_BAD_PARAM);

    /* A unix path may have 107 characters. */
    memset(text, 'a', sizeof text);
    memcpy(text, "1.2;unix:///", 12);
    text[11 + 107] = '\0';
    ck_assert_int_eq(parse(&contact, text), ORTE_SUCCESS);
    text[11 + 107] = 'a';
    text[11 + 108] = '\0';
    ck_assert_int_eq(parse(&contact, text), ORTE_ERR_BAD_PARAM);

    /* 1024 characters in all, for reader and printer. */
    size_t used = 3;
    memcpy(text, "1.2", 4);
    while (used + 114 <= CONTACT_TEXT_MAX) {
        used += (size_t) sprintf(text + used, ";unix:///%0105d", 0);
    }
    used += (size_t) sprintf(text + used, ";unix:///%0*d", (int) (CONTACT_TEXT_MAX - used - 9), 0);
    ck_assert_uint_eq(used, CONTACT_TEXT_MAX);
    ck_assert_int_eq(parse(&contact, text), ORTE_SUCCESS);
    char *printed = contact_print(&contact);
    ck_assert_str_eq(printed, text);
    free(printed);
    strcat(text, "0");
    ck_assert_int_eq(parse(&contact, text), ORTE_ERR_BAD_PARAM);
    ck_assert(sock_addr_unix(&contact.addrs[contact.count++], "/one/more") == 0);
    ck_assert_ptr_null(contact_print(&contact));
}
END_TEST

START_TEST(survives_every_cut_and_flip)
{
    static const char good[] = "12.34;unix:///a/b;tcp://10.1.2.3:456;tcp6://[fd00::1]:7";
    char text[sizeof good];
    struct contact contact;
    for (size_t cut = 0; cut < sizeof good; cut++) {
        memcpy(text, good, sizeof good);
        text[cut] = '\0';
        int status = parse(&contact, text);
        ck_assert(status == ORTE_SUCCESS || status == ORTE_ERR_BAD_PARAM);
    }
    for (size_t at = 0; at + 1 < sizeof good; at++) {
        for (int byte = 1; byte < 256; byte++) {
            memcpy(text, good, sizeof good);
            text[at] = (char) byte;
            int status = parse(&contact, text);
            ck_assert(status == ORTE_SUCCESS || status == ORTE_ERR_BAD_PARAM);
            if (status == ORTE_SUCCESS) {
                ck_assert_uint_le(contact.count, CONTACT_ADDRS_MAX);
            }
        }
    }
}
END_TEST

UNIT_MAIN("contact")
