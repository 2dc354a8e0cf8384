/* Who gets a link and who does not: connects, refusals, name collisions, strangers at the listener.
 */
#include "side.h"

#include <arpa/inet.h>
#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/clock.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct side a, b, c;

/* A raw socket to a port, from one of the loopback's addresses; blocking. */
static int stranger(uint16_t port, uint32_t from)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *) &addr, sizeof addr), 0);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    addr.sin_port = htons(port);
    ck_assert_int_eq(connect(fd, (struct sockaddr *) &addr, sizeof addr), 0);
    return fd;
}

/* Milliseconds until the other end closed the connection; -1: it did not within that time. What it
 * says before is thrown away. */
static int closed_within(int fd, int ms)
{
    uint64_t begin = clock_us();
    for (;;) {
        int passed = (int) ((clock_us() - begin) / 1000);
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (passed >= ms || poll(&wait, 1, ms - passed) == 0) {
            return -1;
        }
        char data[256];
        if (recv(fd, data, sizeof data, 0) <= 0) {
            return (int) ((clock_us() - begin) / 1000);
        }
    }
}

static void close_now(struct side *side, void *arg)
{
    (void) arg;
    oob_link_close(side->link, false);
}

/* --- connecting --- */

START_TEST(both_ends_know_the_other)
{
    for (int transport = 0; transport < SIDE_TRANSPORTS; transport++) {
        side_pair(&a, &b, (enum side_transport) transport);
        bool is_unix = transport == SIDE_UNIX || transport == SIDE_UNIX_ENCRYPT;
        ck_assert(a.peer.name.vpid == 2 && a.peer.epoch == 1002 && a.peer.key == OOB_KEY_APP);
        ck_assert(b.peer.name.vpid == 1 && b.peer.epoch == 1001 && b.peer.key == OOB_KEY_APP);
        ck_assert_int_eq(a.peer.pid, is_unix ? getpid() : 0);
        ck_assert_int_eq(b.peer.pid, is_unix ? getpid() : 0);
        ck_assert(strncmp(a.peer.address, is_unix ? "unix://" : "tcp://127.0.0.1:", 7) == 0);
        side_talk(&a, &b);
        side_talk(&b, &a);
        side_close(&a);
        side_close(&b);
    }
}
END_TEST

START_TEST(contact_strings_list_unix_first)
{
    side_open(&a, 1, SIDE_UNIX);
    ck_assert_ptr_null(oob_contact(a.oob));
    free(side_listen(&a, SIDE_TCP));
    char *contact = side_listen(&a, SIDE_UNIX);
    struct contact parsed;
    char reason[200];
    ck_assert_int_eq(contact_parse(&parsed, contact, reason, sizeof reason), ORTE_SUCCESS);
    ck_assert_uint_ge(parsed.count, 2);
    ck_assert_int_eq(parsed.addrs[0].storage.ss_family, AF_UNIX);
    for (size_t i = 1; i < parsed.count; i++) {
        ck_assert_int_ne(parsed.addrs[i].storage.ss_family, AF_UNIX);
    }
    /* The listener's file goes with it. */
    char path[128];
    snprintf(path, sizeof path, "%.*s", (int) strcspn(strchr(contact, '/') + 2, ";"),
             strchr(contact, '/') + 2);
    ck_assert_int_eq(access(path, F_OK), 0);
    side_run(&a);
    side_close(&a);
    ck_assert_int_ne(access(path, F_OK), 0);
    free(contact);
}
END_TEST

START_TEST(bad_contacts_are_refused_at_once)
{
    side_open(&a, 1, SIDE_TCP);
    char reason[200];
    ck_assert_int_eq(oob_listen_unix(a.oob, "relative", reason, sizeof reason), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(oob_listen_unix(a.oob, "/tmp/a;b", reason, sizeof reason), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(oob_listen_unix(a.oob, "/no/such/folder/s", reason, sizeof reason),
                     ORTE_ERR_SOCKET_NOT_AVAILABLE);
    ck_assert_ptr_nonnull(strstr(reason, "/no/such/folder/s"));
    side_run(&a);
    ck_assert_int_eq(side_connect(&a, "nonsense", OOB_KEY_APP), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(side_connect(&a, "65536.1;tcp://127.0.0.1:1", OOB_KEY_APP),
                     ORTE_ERR_BAD_PARAM); /* itself */
    ck_assert_int_eq(a.connects_done, 0);
    side_close(&a);
}
END_TEST

START_TEST(a_second_connect_gets_the_same_link)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    side_run(&a);
    side_run(&b);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(side_connect(&a, contact, OOB_KEY_APP), ORTE_SUCCESS);
    }
    side_wait_int(&a, &a.connects_done, 5);
    ck_assert_int_eq(a.ups, 1);
    ck_assert_int_eq(a.connect_status, ORTE_SUCCESS);
    /* With the link up: before the call returns. */
    ck_assert_int_eq(side_connect(&a, contact, OOB_KEY_APP), ORTE_SUCCESS);
    ck_assert_int_eq(a.connects_done, 6);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(silence_has_a_deadline)
{
    side_open(&a, 1, SIDE_TCP);
    a.oob->connect_timeout_us = 200000;
    side_run(&a);
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int silent = sock_listen(&addr, 5);
    ck_assert_int_eq(sock_local_addr(silent, &addr), 0);
    char contact[64];
    snprintf(contact, sizeof contact, "65536.2;tcp://127.0.0.1:%u", sock_addr_port(&addr));
    uint64_t begin = clock_us();
    side_expect_failure(&a, contact, OOB_KEY_APP, ORTE_ERR_TIMEOUT, "no answer in time");
    ck_assert_uint_gt(clock_us() - begin, 150000);
    ck_assert_uint_lt(clock_us() - begin, 3000000);
    close(silent);
    side_close(&a);
}
END_TEST

START_TEST(a_refusal_says_why)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    side_open(&c, 3, SIDE_TCP_AUTH);
    side_run(&a);
    side_run(&b);
    side_run(&c);
    side_expect_failure(&a, side_with_name(contact, 7, ""), OOB_KEY_APP, ORTE_ERR_ADDRESSEE_UNKNOWN,
                        "another process listens there");
    side_expect_failure(&a, contact, OOB_KEY_TOOL, ORTE_ERR_PERM, "not held");
    uint8_t key[KEY_BYTES] = {9};
    oob_set_key(a.oob, OOB_KEY_TOOL, key);
    side_expect_failure(&a, contact, OOB_KEY_TOOL, ORTE_ERR_PERM, "does not take that kind of key");
    oob_set_key(a.oob, OOB_KEY_APP, key);
    side_expect_failure(&a, contact, OOB_KEY_APP, ORTE_ERR_PERM, "it has another key");
    ck_assert_int_eq(side_connect(&a, contact, OOB_KEY_PEERCRED), ORTE_ERR_UNREACH);
    side_expect_failure(&c, contact, OOB_KEY_APP, ORTE_ERR_PERM, "encrypt there, auth here");
    ck_assert_int_eq(b.ups, 0);
    ck_assert(list_empty(&a.oob->connects));
    side_close_two(&a, &b, contact);
    side_close(&c);
}
END_TEST

START_TEST(admission_is_the_owners)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    b.admit_status = ORTE_ERR_NODE_FULLY_USED;
    /* The peer itself has said no: its other addresses are not asked. */
    char twice[CONTACT_TEXT_MAX];
    snprintf(twice, sizeof twice, "%s%s", contact, strchr(contact, ';'));
    side_run(&a);
    side_run(&b);
    side_expect_failure(&a, twice, OOB_KEY_APP, ORTE_ERR_NODE_FULLY_USED,
                        opal_strerror(ORTE_ERR_NODE_FULLY_USED));
    ck_assert_ptr_null(strstr(a.connect_reason, "; tcp"));
    ck_assert_int_eq(b.ups, 0);
    b.admit_status = ORTE_SUCCESS;
    side_expect_link(&a, contact, OOB_KEY_APP);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(peercred_needs_no_key)
{
    char *contact = side_open_two(&a, &b, SIDE_UNIX);
    side_run(&a);
    side_run(&b);
    side_expect_link(&a, contact, OOB_KEY_PEERCRED);
    side_wait_int(&b, &b.ups, 1);
    ck_assert_int_eq(b.peer.key, OOB_KEY_PEERCRED);
    side_talk(&a, &b);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(another_user_is_not_heard)
{
    if (geteuid() != 0) {
        return; /* only root can be another user */
    }
    side_open(&b, 2, SIDE_UNIX);
    char *contact = side_listen(&b, SIDE_UNIX);
    struct contact parsed;
    char reason[200], path[128];
    ck_assert_int_eq(contact_parse(&parsed, contact, reason, sizeof reason), ORTE_SUCCESS);
    sock_addr_print(&parsed.addrs[0], path, sizeof path);
    ck_assert_int_eq(chmod(path + strlen("unix://"), 0666), 0);
    clock_keep_real(); /* two processes */
    pid_t pid = fork();
    if (pid == 0) {
        int fd = setuid(65534) == 0 ? sock_connect(&parsed.addrs[0]) : -1;
        _exit(fd < 0 ? 2 : closed_within(fd, 2000) < 0);
    }
    side_run(&b);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    free(contact);
    side_close(&b);
}
END_TEST

/* --- one name, one link --- */

START_TEST(a_live_name_is_not_taken)
{
    side_pair(&a, &b, SIDE_TCP);
    side_talk(&a, &b);
    char *contact = oob_contact(b.oob);
    side_open(&c, 1, SIDE_TCP); /* a's name and epoch */
    side_run(&c);
    side_expect_failure(&c, contact, OOB_KEY_APP, ORTE_EXISTS, "live link");
    ck_assert_int_eq(a.downs, 0);
    ck_assert_int_eq(b.downs, 0);
    side_talk(&a, &b);
    /* Nor with another epoch, by another kind of key. */
    uint8_t key[KEY_BYTES] = {9};
    oob_set_key(b.oob, OOB_KEY_TOOL, key);
    oob_set_key(c.oob, OOB_KEY_TOOL, key);
    c.oob->epoch++;
    side_expect_failure(&c, contact, OOB_KEY_TOOL, ORTE_EXISTS, "live link");
    side_talk(&a, &b);
    side_close_two(&a, &b, contact);
    side_close(&c);
}
END_TEST

/* Nor where nothing was said over it. */
START_TEST(a_link_that_was_made_here_stays)
{
    char *to_b = side_open_two(&a, &b, SIDE_TCP), *to_a = side_listen(&a, SIDE_TCP);
    side_run(&a);
    side_run(&b);
    side_expect_link(&a, to_b, OOB_KEY_APP);
    side_open(&c, 2, SIDE_TCP); /* b's name and epoch */
    side_run(&c);
    side_expect_failure(&c, to_a, OOB_KEY_APP, ORTE_EXISTS, "live link");
    side_wait_int(&b, &b.ups, 1);
    side_talk(&b, &a);
    ck_assert_int_eq(a.downs + b.downs, 0);
    free(to_a);
    side_close_two(&a, &b, to_b);
    side_close(&c);
}
END_TEST

/* Another incarnation; or the same one, that has said nothing over its link: it gave up before the
 * verdict came. */
START_TEST(a_newer_link_takes_the_place)
{
    for (uint64_t epochs = 0; epochs < 2; epochs++) {
        side_pair(&a, &b, SIDE_TCP);
        char *contact = oob_contact(b.oob);
        side_open(&c, 1, SIDE_TCP);
        c.oob->epoch += epochs;
        side_run(&c);
        side_expect_link(&c, contact, OOB_KEY_APP);
        side_wait_int(&a, &a.downs, 1);
        side_wait_int(&b, &b.ups, 2);
        ck_assert_int_eq(b.downs, 1);
        ck_assert_uint_eq(b.peer.epoch, 1001 + epochs);
        side_talk(&c, &b);
        side_close_two(&a, &b, contact);
        side_close(&c);
    }
}
END_TEST

START_TEST(a_name_is_free_once_its_link_has_ended)
{
    side_pair(&a, &b, SIDE_TCP);
    char *contact = oob_contact(b.oob);
    for (int i = 0; i < 50; i++) {
        side_call(&a, close_now, NULL);
        side_expect_link(&a, contact, OOB_KEY_APP);
    }
    side_wait_int(&b, &b.ups, 51);
    side_talk(&a, &b);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(simultaneous_connects_make_one_link)
{
    int fds = side_count_fds();
    for (int round = 0; round < 100; round++) {
        enum side_transport transport = round % 2 ? SIDE_TCP : SIDE_UNIX;
        side_open(&a, 1, transport);
        side_open(&b, 2, transport);
        char *to_a = side_listen(&a, transport), *to_b = side_listen(&b, transport);
        side_run(&a);
        side_run(&b);
        ck_assert_int_eq(side_connect(&a, to_b, OOB_KEY_APP), ORTE_SUCCESS);
        ck_assert_int_eq(side_connect(&b, to_a, OOB_KEY_APP), ORTE_SUCCESS);
        side_wait_int(&a, &a.connects_done, 1);
        side_wait_int(&b, &b.connects_done, 1);
        ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
        ck_assert_msg(b.connect_status == ORTE_SUCCESS, "%s", b.connect_reason);
        side_talk(&a, &b);
        side_talk(&b, &a);
        ck_assert_int_eq(a.ups, 1);
        ck_assert_int_eq(b.ups, 1);
        ck_assert_int_eq(a.downs + b.downs, 0);
        free(to_a);
        free(to_b);
        side_close(&a);
        side_close(&b);
    }
    ck_assert_int_eq(side_count_fds(), fds);
}
END_TEST

/* The higher name's own connect leads nowhere: the lower one's, which had to wait, is taken. */
START_TEST(a_failed_connect_gives_way)
{
    side_open(&a, 1, SIDE_TCP);
    side_open(&b, 2, SIDE_TCP);
    b.oob->connect_timeout_us = 300000;
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int silent = sock_listen(&addr, 5);
    ck_assert_int_eq(sock_local_addr(silent, &addr), 0);
    char contact[64];
    snprintf(contact, sizeof contact, "65536.1;tcp://127.0.0.1:%u", sock_addr_port(&addr));
    char *to_b = side_listen(&b, SIDE_TCP);
    side_run(&a);
    side_run(&b);
    ck_assert_int_eq(side_connect(&b, contact, OOB_KEY_APP), ORTE_SUCCESS);
    side_expect_link(&a, to_b, OOB_KEY_APP);
    side_wait_int(&b, &b.connects_done, 1);
    ck_assert_int_eq(b.connect_status, ORTE_ERR_TIMEOUT);
    side_wait_int(&b, &b.ups, 1);
    side_talk(&a, &b);
    close(silent);
    free(to_b);
    side_close(&a);
    side_close(&b);
}
END_TEST

/* On the loop that reads them last. */
static void set_faults(struct side *side, void *arg)
{
    (void) side;
    ck_assert_int_eq(fault_set(arg), ORTE_SUCCESS);
}

START_TEST(injected_faults_fail_the_connect)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    side_run(&a);
    side_run(&b);
    side_call(&b, set_faults, (char *) "oob.connect:error=ENETUNREACH");
    side_expect_failure(&a, contact, OOB_KEY_APP, ORTE_ERR_CONNECTION_FAILED, "unreachable");
    side_call(&b, set_faults, (char *) "oob.accept:drop");
    side_expect_failure(&a, contact, OOB_KEY_APP, ORTE_ERR_CONNECTION_FAILED, "");
    side_call(&b, set_faults, (char *) "oob.connect:drop");
    a.oob->connect_timeout_us = 100000;
    side_expect_failure(&a, contact, OOB_KEY_APP, ORTE_ERR_TIMEOUT, "no answer in time");
    side_call(&b, set_faults, NULL);
    side_expect_link(&a, contact, OOB_KEY_APP);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(a_cut_handshake_is_tried_again)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    side_run(&a);
    side_run(&b);
    side_call(&b, set_faults, (char *) "oob.accept:drop:p=0.9:seed=3");
    a.limit_us = 20000000;
    side_expect_link(&a, contact, OOB_KEY_APP);
    side_call(&b, set_faults, NULL);
    /* But where nobody listens, nobody is waited for. */
    uint64_t begin = clock_us();
    side_expect_failure(&a, "65536.7;tcp://127.0.0.1:1;unix:///nobody", OOB_KEY_APP,
                        ORTE_ERR_CONNECTION_FAILED, "tcp://127.0.0.1:1: Connection refused");
    ck_assert_uint_lt(clock_us() - begin, 2000000);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(a_refusal_is_not_waited_out)
{
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    a.oob->tcp_security = OOB_SECURITY_NONE;
    a.limit_us = 20000000;
    side_run(&a);
    side_run(&b);
    uint64_t begin = clock_us();
    side_expect_failure(&a, contact, OOB_KEY_APP, ORTE_ERR_PERM, "its oob_security differs");
    ck_assert_uint_lt(clock_us() - begin, 2000000);
    side_close_two(&a, &b, contact);
}
END_TEST

/* --- strangers --- */

START_TEST(strangers_disturb_nothing)
{
    static const char *const greetings[] = {
        "", "x", "GET / HTTP/1.1\r\nHost: here\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "KEEL-OOB",
    };
    enum { KINDS = sizeof greetings / sizeof *greetings + 2 };
    int before = side_count_fds();
    side_pair(&a, &b, SIDE_TCP);
    b.oob->accept_timeout_us = 400000;
    char *contact = oob_contact(b.oob);
    int fds[KINDS];
    for (int i = 0; i < KINDS; i++) {
        fds[i] = stranger(side_port_of(contact), INADDR_LOOPBACK);
        uint8_t data[20000];
        size_t size = 0;
        if (i < KINDS - 2) {
            size = strlen(greetings[i]);
            memcpy(data, greetings[i], size);
        } else {
            size = i == KINDS - 1 ? sizeof data : 300;
            crypto_random(data, size);
            memcpy(data, "KEEL-OOB\x02\x01\x68\x00\x01", i == KINDS - 1 ? 0 : 13);
        }
        ck_assert_int_eq((int) send(fds[i], data, size, MSG_NOSIGNAL), (int) size);
        side_talk(&a, &b);
        side_talk(&b, &a);
    }
    for (int i = 0; i < KINDS; i++) {
        ck_assert_msg(closed_within(fds[i], 5000) >= 0, "kind %d is still there", i);
        close(fds[i]);
        side_talk(&a, &b);
    }
    ck_assert_int_eq(a.downs + b.downs, 0);
    side_open(&c, 3, SIDE_TCP);
    side_run(&c);
    side_expect_link(&c, contact, OOB_KEY_APP);
    side_close_two(&a, &b, contact);
    side_close(&c);
    ck_assert_int_eq(side_count_fds(), before);
}
END_TEST

START_TEST(a_trickle_does_not_move_the_deadline)
{
    side_open(&b, 2, SIDE_TCP);
    b.oob->accept_timeout_us = 300000;
    char *contact = side_listen(&b, SIDE_TCP);
    side_run(&b);
    int fd = stranger(side_port_of(contact), INADDR_LOOPBACK);
    uint64_t begin = clock_us();
    bool closed = false;
    for (int i = 0; i < 100 && !closed; i++) {
        /* A valid beginning, one byte at a time. */
        static const char hello[] = "KEEL-OOB\x02\x01\x68\x00\x01\x02\x04";
        closed = send(fd, hello + (i < 14 ? i : 14), i < 14 ? 1 : 0, MSG_NOSIGNAL) < 0 ||
                 closed_within(fd, 50) >= 0;
    }
    ck_assert(closed);
    ck_assert_uint_gt(clock_us() - begin, 250000);
    ck_assert_uint_lt(clock_us() - begin, 2000000);
    close(fd);
    free(contact);
    side_close(&b);
}
END_TEST

static unsigned pending;

static void look_at_pending(struct side *side, void *arg)
{
    (void) arg;
    pending = side->oob->pending_count;
}

static unsigned pending_of(struct side *side)
{
    side_call(side, look_at_pending, NULL);
    return pending;
}

static void wait_pending(struct side *side, unsigned count)
{
    for (int i = 0; pending_of(side) != count; i++) {
        ck_assert_msg(i < 5000, "%u are pending, not %u", pending, count);
        usleep(1000);
    }
}

/* How many of them the other end has closed. */
static int count_closed(const int *fds, int count, int ms)
{
    int closed = 0;
    for (int i = 0; i < count; i++) {
        closed += closed_within(fds[i], ms) >= 0;
    }
    return closed;
}

START_TEST(a_crowd_of_one_source_gives_up_its_own_places)
{
    enum { MANY = 96, OTHERS = 20 };
    side_open(&b, 2, SIDE_TCP);
    char *contact = side_listen(&b, SIDE_TCP);
    side_run(&b);
    int others[OTHERS], fds[MANY];
    for (int i = 0; i < OTHERS; i++) {
        others[i] = stranger(side_port_of(contact), 0x7f000102 + (uint32_t) i);
    }
    for (int i = 0; i < MANY; i++) {
        fds[i] = stranger(side_port_of(contact), 0x7f000002);
    }
    wait_pending(&b, 64);
    ck_assert_int_eq(count_closed(fds, MANY, 20), MANY + OTHERS - 64);
    ck_assert_int_eq(count_closed(others, OTHERS, 0), 0);
    side_open(&a, 1, SIDE_TCP);
    side_run(&a);
    side_expect_link(&a, contact, OOB_KEY_APP);
    side_talk(&a, &b);
    ck_assert_int_eq(count_closed(others, OTHERS, 0), 0);
    for (int i = 0; i < MANY; i++) {
        close(fds[i]);
    }
    for (int i = 0; i < OTHERS; i++) {
        close(others[i]);
    }
    wait_pending(&b, 0);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(sixty_four_places_in_all)
{
    enum { MANY = 96 };
    side_open(&b, 2, SIDE_TCP);
    free(side_listen(&b, SIDE_UNIX));
    char *contact = side_listen(&b, SIDE_TCP);
    side_run(&b);
    int fds[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = stranger(side_port_of(contact), 0x7f000002 + (uint32_t) i);
    }
    wait_pending(&b, 64);
    /* The last ones are there, most of them: whoever was there before had to go. */
    ck_assert_int_ge(count_closed(fds, 64, 10), 12);
    ck_assert_int_eq(closed_within(fds[MANY - 1], 0), -1);
    /* An own process comes in over the unix socket, and others over TCP, at once. */
    side_open(&a, 1, SIDE_UNIX);
    side_run(&a);
    uint64_t begin = clock_us();
    side_expect_link(&a, contact, OOB_KEY_APP);
    ck_assert(strncmp(a.peer.address, "unix://", 7) == 0);
    side_open(&c, 3, SIDE_TCP);
    side_run(&c);
    side_expect_link(&c, side_with_name(strstr(contact, ";tcp"), 2, ""), OOB_KEY_APP);
    ck_assert_uint_lt(clock_us() - begin, 1000000);
    for (int i = 0; i < MANY; i++) {
        close(fds[i]);
    }
    wait_pending(&b, 0);
    side_close_two(&a, &b, contact);
    side_close(&c);
}
END_TEST

/* Strangers with a right hello, of a hundred sources, and no proof: as fast as they are let. */
static atomic_bool flood_ends;

static void *flood(void *arg)
{
    enum { HELD = 400 };
    static const uint8_t head[] = "KEEL-OOB\x02\x01\x68\x00\x01\x02\x04";
    static const uint32_t names[] = {65536, 9, 65536, 2};
    uint8_t hello[104];
    int fds[HELD], at = 0;
    memset(fds, -1, sizeof fds);
    crypto_random(hello, sizeof hello);
    memcpy(hello, head, sizeof head);
    memcpy(hello + 16, names, sizeof names);
    while (!atomic_load(&flood_ends)) {
        close(fds[at]);
        fds[at] = stranger(*(uint16_t *) arg, 0x7f000101 + (uint32_t) at % 100);
        (void) !send(fds[at], hello, sizeof hello, MSG_NOSIGNAL);
        at = (at + 1) % HELD;
        usleep(1000);
    }
    for (int i = 0; i < HELD; i++) {
        close(fds[i]);
    }
    return NULL;
}

START_TEST(a_flood_of_hellos_keeps_nobody_out)
{
    pthread_t thread;
    char *contact = side_open_two(&a, &b, SIDE_TCP);
    uint16_t port = side_port_of(contact);
    side_run(&a);
    side_run(&b);
    ck_assert_int_eq(pthread_create(&thread, NULL, flood, &port), 0);
    wait_pending(&b, 64);
    for (int i = 0; i < 50; i++) {
        int downs = b.downs;
        side_expect_link(&a, contact, OOB_KEY_APP);
        side_call(&a, close_now, NULL);
        side_wait_int(&b, &b.downs, downs + 1);
    }
    atomic_store(&flood_ends, true);
    pthread_join(thread, NULL);
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(own_processes_wait_in_the_backlog)
{
    enum { MANY = 100 };
    side_open(&b, 2, SIDE_UNIX);
    b.oob->accept_timeout_us = 1000000;
    char *contact = side_listen(&b, SIDE_UNIX);
    side_run(&b);
    struct contact parsed;
    char reason[200];
    ck_assert_int_eq(contact_parse(&parsed, contact, reason, sizeof reason), ORTE_SUCCESS);
    int fds[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = sock_connect(&parsed.addrs[0]);
        ck_assert_int_ge(fds[i], 0);
    }
    wait_pending(&b, 64);
    side_open(&a, 1, SIDE_UNIX);
    side_run(&a);
    side_expect_link(&a, contact, OOB_KEY_APP);
    for (int i = 0; i < MANY; i++) {
        close(fds[i]);
    }
    side_close_two(&a, &b, contact);
}
END_TEST

START_TEST(no_descriptors_left)
{
    side_pair(&a, &b, SIDE_TCP);
    side_open(&c, 3, SIDE_TCP);
    side_run(&c);
    char *contact = oob_contact(b.oob);
    struct rlimit limit = {64, 64};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int waiting = socket(AF_INET, SOCK_STREAM, 0), taken[64], count = 0;
    ck_assert_int_ge(waiting, 0);
    while ((taken[count] = dup(0)) >= 0) {
        count++;
    }
    ck_assert_int_eq(errno, EMFILE);
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons(side_port_of(contact))};
    ck_assert_int_eq(connect(waiting, (struct sockaddr *) &addr, sizeof addr), 0);
    ck_assert_int_ge(closed_within(waiting, 2000), 0); /* told so, not left hanging */
    side_talk(&a, &b);
    for (int i = 0; i < count; i++) {
        close(taken[i]);
    }
    close(waiting);
    uint64_t begin = clock_us();
    side_expect_link(&c, contact, OOB_KEY_APP);
    ck_assert_uint_lt(clock_us() - begin, 1000000);
    side_close_two(&a, &b, contact);
    side_close(&c);
}
END_TEST

static atomic_uint log_lines[2]; /* of 127.0.0.1 and 127.0.0.2 */
static atomic_uint left_out;

static void count_line(void *arg, enum log_level level, const char *line)
{
    static const char source[] = "no link for tcp://127.0.0.";
    (void) arg;
    if (level <= LOG_WARN) {
        const char *found = strstr(line, source);
        ck_assert_msg(found, "%s", line);
        atomic_fetch_add(&log_lines[found[sizeof source - 1] == '2'], 1);
        const char *others = strstr(line, "; nor for ");
        atomic_fetch_add(&left_out, others ? (unsigned) atoi(others + 10) : 0);
    }
}

static void scan(uint16_t port, uint32_t from)
{
    int fd = stranger(port, from);
    ck_assert_int_eq((int) send(fd, "scan", 4, MSG_NOSIGNAL), 4);
    ck_assert_int_ge(closed_within(fd, 2000), 0);
    close(fd);
}

START_TEST(a_scan_makes_one_line_a_second_and_source)
{
    enum { SCANS = 300 };
    log_set_sink(count_line, NULL);
    side_open(&b, 2, SIDE_TCP);
    char *contact = side_listen(&b, SIDE_TCP);
    side_run(&b);
    uint64_t begin = clock_us();
    for (uint32_t i = 0; i < SCANS; i++) {
        scan(side_port_of(contact), INADDR_LOOPBACK + i % 2);
    }
    usleep(1100000);
    scan(side_port_of(contact), INADDR_LOOPBACK);
    scan(side_port_of(contact), INADDR_LOOPBACK + 1);
    uint64_t seconds = (clock_us() - begin) / 1000000;
    side_close(&b);
    log_set_sink(NULL, NULL);
    unsigned lines = 0;
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_ge(atomic_load(&log_lines[i]), 2);
        ck_assert_uint_le(atomic_load(&log_lines[i]), 2 + seconds);
        lines += atomic_load(&log_lines[i]);
    }
    ck_assert_uint_eq(lines + atomic_load(&left_out), SCANS + 2);
    free(contact);
}
END_TEST

UNIT_MAIN("door")
