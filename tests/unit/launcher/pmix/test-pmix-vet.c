/* The first message of a PMIx client: a captured one, every way to cut it, and lies in it; and
 * whose a connection is. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <launcher/pmix/connection/vet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

/* What libpmix 4.2.2 of Open MPI 4.1.4 sends: root, rank 3 of "keeljob". */
static const uint8_t golden[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x34\0\0\0\0\0\0\0"
                                "native\0\0\0\0\x08\0\0\0\0\0\0\0\0\0keeljob\0\0\0\0\x03"
                                "4.2.2rc2\0v41\0\x01hash\0";
enum { GOLDEN_BYTES = sizeof(golden) }; /* the last zero belongs to it */

enum {
    AT_SIZE = 8,
    AT_SECURITY = 16,
    AT_LENGTH = 23,
    AT_UID = 27,
    AT_FLAG = 35,
    AT_NSPACE = 36,
    AT_VERSION = 48,
    AT_BFROPS = 57,
    AT_BUFFER = 61,
    AT_GDS = 62
};

/* What pps of libpmix 4.2.2 sends: root; behind the formats, what it says of its process. */
static const uint8_t tool[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x41\0\0\0\0\0\0\0"
                              "native\0\0\0\0\x08\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0"
                              "4.2.2rc2\0v41\0\x01hash\0"
                              "\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0";
enum { TOOL_BYTES = sizeof(tool), AT_TOOL_UID = 36 };
/* The same, started as a rank: rank 3 of "keeljob". */
static const uint8_t tool_client[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x3c\0\0\0\0\0\0\0"
                                     "native\0\0\0\0\x08\0\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\0"
                                     "keeljob\0\0\0\0\x03"
                                     "4.2.2rc2\0v41\0\x01hash\0";

static struct vet_hello hello;
static size_t need;
static const char *why;

static enum vet_result vet(const void *bytes, size_t size)
{
    hello.rank = 77;
    need = 0;
    why = NULL;
    /* a copy of the exact size, so that a sanitizer sees every byte too many */
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    enum vet_result result = vet_hello(copy, size, &hello, &need, &why);
    free(copy);
    return result;
}

START_TEST(a_client)
{
    ck_assert_int_eq(GOLDEN_BYTES, 68);
    ck_assert_int_eq(vet(golden, GOLDEN_BYTES), VET_WELL);
    ck_assert_str_eq(hello.nspace, "keeljob");
    ck_assert_uint_eq(hello.rank, 3);
    ck_assert_uint_eq(hello.uid, 0);
    ck_assert_uint_eq(hello.gid, 0);
}
END_TEST

START_TEST(every_beginning)
{
    for (size_t size = 1; size < GOLDEN_BYTES; size++) {
        ck_assert_int_eq(vet(golden, size), VET_MORE);
        ck_assert_uint_eq(need, size < VET_HEADER_BYTES ? VET_HEADER_BYTES : GOLDEN_BYTES);
        ck_assert_uint_eq(hello.rank, 77);
    }
    uint8_t more[GOLDEN_BYTES + 1] = {0};
    memcpy(more, golden, GOLDEN_BYTES);
    ck_assert_int_eq(vet(more, sizeof(more)), VET_BAD);
}
END_TEST

/* A body that ends early, with a header that says so. */
START_TEST(every_cut)
{
    for (size_t size = VET_HEADER_BYTES; size < GOLDEN_BYTES - 1; size++) {
        uint8_t bytes[GOLDEN_BYTES];
        memcpy(bytes, golden, GOLDEN_BYTES);
        bytes[AT_SIZE] = (uint8_t) (size - VET_HEADER_BYTES);
        ck_assert_int_eq(vet(bytes, size), VET_BAD);
        ck_assert_uint_eq(hello.rank, 77);
        ck_assert_ptr_nonnull(why);
    }
}
END_TEST

static void changed(size_t at, uint8_t value, enum vet_result expected)
{
    uint8_t bytes[GOLDEN_BYTES];
    memcpy(bytes, golden, GOLDEN_BYTES);
    bytes[at] = value;
    ck_assert_int_eq(vet(bytes, GOLDEN_BYTES), expected);
}

START_TEST(lies)
{
    changed(0, 0, VET_BAD);
    changed(7, 'x', VET_BAD);
    changed(AT_SIZE + 3, 0x7f, VET_BAD); /* two gigabytes to come */
    changed(AT_SIZE + 1, 0x0f, VET_MORE);
    changed(AT_SIZE + 1, 0x10, VET_BAD);
    changed(AT_SECURITY, 'N', VET_BAD);
    changed(AT_SECURITY + 6, '!', VET_BAD);
    changed(AT_LENGTH + 3, 9, VET_BAD);
    changed(AT_LENGTH, 0xff, VET_BAD);
    changed(AT_LENGTH + 3, 0, VET_BAD);
    for (int flag = 1; flag < 256; flag++) {
        changed(AT_FLAG, (uint8_t) flag,
                VET_BAD); /* a launcher, nothing, a tool with other fields */
    }
    changed(AT_NSPACE, 0, VET_BAD);
    changed(AT_VERSION, 0, VET_BAD);
    changed(AT_VERSION, '.', VET_BAD);
    changed(AT_VERSION + 1, '1', VET_BAD);
    changed(AT_VERSION + 1, 0, VET_BAD);
    changed(AT_VERSION + 3, 'x', VET_BAD);
    changed(AT_BFROPS + 1, '9', VET_BAD);
    changed(AT_BUFFER, 9, VET_BAD);
    changed(AT_GDS, 'x', VET_BAD); /* a storage that the server does not have */
    changed(AT_UID, 1, VET_WELL);  /* whose, the caller decides */
    ck_assert_uint_eq(hello.uid, 1);
}
END_TEST

START_TEST(tools)
{
    ck_assert_int_eq(TOOL_BYTES, 16 + 0x41);
    ck_assert_int_eq(vet(tool, TOOL_BYTES), VET_WELL);
    ck_assert_int_eq(hello.kind, VET_TOOL);
    ck_assert_str_eq(hello.nspace, "");
    ck_assert_int_eq(sizeof(tool_client), 16 + 0x3c);
    ck_assert_int_eq(vet(tool_client, sizeof(tool_client)), VET_WELL);
    ck_assert_int_eq(hello.kind, VET_TOOL_CLIENT);
    ck_assert_str_eq(hello.nspace, "keeljob");
    ck_assert_uint_eq(hello.rank, 3);
    ck_assert_int_eq(vet(golden, GOLDEN_BYTES), VET_WELL);
    ck_assert_int_eq(hello.kind, VET_CLIENT);
}
END_TEST

/* libpmix registers the user that a tool names a second time, and compares it with the first. */
START_TEST(tools_that_lie)
{
    uint8_t bytes[TOOL_BYTES];
    for (size_t at = AT_TOOL_UID; at < AT_TOOL_UID + 8; at++) {
        memcpy(bytes, tool, TOOL_BYTES);
        bytes[at] ^= 1;
        ck_assert_int_eq(vet(bytes, TOOL_BYTES), VET_BAD);
    }
    for (int flag = 0; flag < 256; flag++) {
        memcpy(bytes, tool, TOOL_BYTES);
        bytes[AT_FLAG] = (uint8_t) flag;
        ck_assert_int_eq(vet(bytes, TOOL_BYTES), flag == 3 ? VET_WELL : VET_BAD);
    }
    for (size_t size = 1; size < TOOL_BYTES; size++) {
        ck_assert_int_eq(vet(tool, size), VET_MORE);
    }
}
END_TEST

START_TEST(security_modes)
{
    static const char none[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x09\0\0\0\0\0\0\0none\0\0\0\0";
    static const char http[] = "GET / HTTP/1.0\r\n\r\n";
    ck_assert_int_eq(vet(none, sizeof(none)), VET_BAD);
    ck_assert_int_eq(vet(http, sizeof(http)), VET_BAD);
    ck_assert_int_eq(vet(http, 1), VET_BAD);
}
END_TEST

START_TEST(random_bytes)
{
    uint8_t bytes[256];
    srandom(1);
    for (int turn = 0; turn < 200000; turn++) {
        memcpy(bytes, golden, GOLDEN_BYTES);
        for (int i = 0; i < 4; i++) {
            bytes[AT_SIZE + random() % (GOLDEN_BYTES - AT_SIZE)] = (uint8_t) random();
        }
        (void) vet(bytes, (size_t) random() % sizeof(bytes));
    }
}
END_TEST

/* --- owners --- */

static struct sockaddr_in address;

static int open_listener(void)
{
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ck_assert_int_eq(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &address, &length), 0);
    return fd;
}

static int connect_to(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    return fd;
}

static void check_my_own(void)
{
    int listener = open_listener(), client = connect_to();
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_eq(vet_owner(fd, geteuid(), &why), 0);
    ck_assert_int_eq(vet_owner(fd, geteuid() + 1, &why), -EPERM);
    close(client);
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&gone, 1, 5000), 1);
    ck_assert_int_ne(vet_owner(fd, geteuid(), &why), 0);
    ck_assert_int_ne(vet_owner(fd, 0, &why), 0); /* the kernel calls such a socket root's */
    close(fd);
    close(listener);
}

START_TEST(my_own)
{
    check_my_own();
}
END_TEST

static void check_what_is_no_connection(void)
{
    int pair[2], listener = open_listener();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_ne(vet_owner(pair[0], geteuid(), &why), 0);
    ck_assert_int_ne(vet_owner(listener, geteuid(), &why), 0);
    ck_assert_int_ne(vet_owner(-1, geteuid(), &why), 0);
}

START_TEST(what_is_no_connection)
{
    check_what_is_no_connection();
}
END_TEST

/* Another user, who is root's guest. */
static void check_a_stranger(void)
{
    if (geteuid() != 0) {
        return;
    }
    int listener = open_listener(), go[2];
    ck_assert_int_eq(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(go[1]);
        if (setgid(65534) < 0 || setuid(65534) < 0) {
            _exit(1);
        }
        connect_to();
        _exit(read(go[0], &byte, 1) == 0 ? 0 : 2);
    }
    close(go[0]);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_eq(vet_owner(fd, 0, &why), -EPERM);
    ck_assert_int_eq(vet_owner(fd, 65534, &why), 0);
    close(go[1]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(a_stranger)
{
    check_a_stranger();
}
END_TEST

/* From here on this process has no sock_diag, as on a kernel that was built without it. */
static void forbid_sock_diag(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_SOCK_DIAG, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    ck_assert_int_eq(socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG), -1);
}

START_TEST(without_sock_diag)
{
    forbid_sock_diag();
    check_my_own();
    check_what_is_no_connection();
    check_a_stranger();
}
END_TEST

UNIT_MAIN("pmix-vet")
