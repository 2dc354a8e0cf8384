/* stranger KIND CONTACT: a stranger at the OOB port of the process with this contact string. It
 * does its worst, says "ready" on standard output, and goes on until its parent ends.
 *
 *   idle      a connection that says nothing          crowd      64 of them
 *   thousand  1000 of them                            sources    500, of 125 sources
 *   here      64, of the address that honest processes come from
 *   byte      one byte                                dribble    8 hellos, a byte in 50 ms
 *   http      20 requests for a page                  random     20 times random bytes
 *   cut       a handshake that ends, at every byte    oversize   messages that claim too much
 *   version   a hello of version 9                    wrong      hellos and proofs without the key
 *   replay    the same ones again                     storm      random bytes, again and again
 *   hellos    500 right hellos a second, of 100 sources, and no proof
 *   foreign   another user, at the unix socket and the port (needs root) */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HELLO_SIZE = 104, ANSWER_SIZE = 136, PROOF_SIZE = 48 };

static struct sockaddr_in server = {.sin_family = AF_INET};
static uint32_t jobid, vpid;
static const char *unix_path;

/* From an address of the loopback network. */
static int dial_from(uint32_t source)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &from, sizeof(from)) < 0 ||
        connect(fd, (struct sockaddr *) &server, sizeof(server)) < 0) {
        perror("connect");
        exit(1);
    }
    return fd;
}

static int dial(void)
{
    return dial_from(0x7f000042);
}

static void say(int fd, const void *data, size_t size)
{
    (void) !send(fd, data, size, MSG_NOSIGNAL);
}

static void many(int count, const void *data, size_t size)
{
    for (int i = 0; i < count; i++) {
        say(dial(), data, size);
    }
}

/* A hello as an honest process sends it, and a proof without the key. */
static void make_messages(uint8_t hello[HELLO_SIZE], uint8_t proof[PROOF_SIZE])
{
    const uint32_t names[4] = {jobid, 9, jobid, vpid};
    (void) !getrandom(hello, HELLO_SIZE, 0);
    memcpy(hello, "KEEL-OOB\x02\x01\x68\x00\x00\x02\x06\x00", 16);
    memcpy(hello + 16, names, sizeof(names));
    (void) !getrandom(proof, PROOF_SIZE, 0);
    memcpy(proof, "KEEL-OOB\x02\x03\x30\x00\x00\x00\x00\x00", 16);
}

static void shake(const uint8_t *hello, const uint8_t *proof)
{
    uint8_t answer[ANSWER_SIZE];
    int fd = dial();
    struct timeval limit = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    say(fd, hello, HELLO_SIZE);
    (void) !recv(fd, answer, sizeof(answer), MSG_WAITALL);
    say(fd, proof, PROOF_SIZE);
    (void) !recv(fd, answer, sizeof(answer), MSG_WAITALL);
    close(fd);
}

static void cut(const uint8_t *hello, const uint8_t *proof)
{
    uint8_t both[HELLO_SIZE + PROOF_SIZE];
    memcpy(both, hello, HELLO_SIZE);
    memcpy(both + HELLO_SIZE, proof, PROOF_SIZE);
    for (size_t size = 0; size < sizeof(both); size++) {
        int fd = dial();
        say(fd, both, size);
        close(fd);
    }
}

static void claim_too_much(uint8_t *hello)
{
    static const uint16_t sizes[] = {0, 103, 105, 0x7fff, 0xffff};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        memcpy(hello + 10, &sizes[i], 2);
        many(2, hello, HELLO_SIZE);
    }
}

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void dribble(const uint8_t *hello)
{
    int fds[8];
    for (int i = 0; i < 8; i++) {
        fds[i] = dial();
    }
    ready();
    for (size_t at = 0; at < HELLO_SIZE; at++) {
        for (int i = 0; i < 8; i++) {
            say(fds[i], hello + at, 1);
        }
        usleep(50000);
    }
}

static _Noreturn void storm(void)
{
    uint8_t noise[300];
    ready();
    for (;;) {
        int fd = dial();
        (void) !getrandom(noise, sizeof(noise), 0);
        say(fd, noise, sizeof(noise));
        close(fd);
        usleep(500);
    }
}

static _Noreturn void flood(const uint8_t *hello)
{
    enum { HELD = 1000 };
    static int fds[HELD];
    ready();
    for (uint32_t i = 0;; i++) {
        int *fd = &fds[i % HELD];
        if (*fd > 0) {
            close(*fd);
        }
        *fd = dial_from(0x7f000101 + i % 100);
        say(*fd, hello, HELLO_SIZE);
        usleep(2000);
    }
}

/* The folder of the socket lets nobody else in. */
static int be_foreign(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (!unix_path || strlen(unix_path) >= sizeof(addr.sun_path) || setgid(65534) < 0 ||
        setuid(65534) < 0) {
        perror("setuid");
        return -1;
    }
    strcpy(addr.sun_path, unix_path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &addr, sizeof(addr)) == 0 || errno != EACCES) {
        fprintf(stderr, "stranger: the unix socket of another user can be reached\n");
        return -1;
    }
    return 0;
}

static int crowd(const char *kind)
{
    int count = strcmp(kind, "idle") == 0 ? 1 : strcmp(kind, "crowd") == 0 ? 64 : 1000;
    if (strcmp(kind, "here") == 0) {
        for (int i = 0; i < 64; i++) {
            dial_from(INADDR_LOOPBACK);
        }
    } else if (strcmp(kind, "sources") == 0) {
        for (uint32_t i = 0; i < 500; i++) {
            dial_from(0x7f000101 + i % 125);
        }
    } else if (strcmp(kind, "idle") == 0 || strcmp(kind, "crowd") == 0 ||
               strcmp(kind, "thousand") == 0) {
        many(count, "", 0);
    } else {
        return 0;
    }
    return 1;
}

static int act(const char *kind)
{
    uint8_t hello[HELLO_SIZE], proof[PROOF_SIZE], noise[300];
    make_messages(hello, proof);
    (void) !getrandom(noise, sizeof(noise), 0);
    if (crowd(kind)) {
        return 0;
    } else if (strcmp(kind, "byte") == 0) {
        many(1, hello, 1);
    } else if (strcmp(kind, "dribble") == 0) {
        dribble(hello);
    } else if (strcmp(kind, "http") == 0) {
        many(20, "GET / HTTP/1.0\r\n\r\n", 18);
    } else if (strcmp(kind, "random") == 0) {
        many(20, noise, sizeof(noise));
    } else if (strcmp(kind, "cut") == 0) {
        cut(hello, proof);
    } else if (strcmp(kind, "oversize") == 0) {
        claim_too_much(hello);
    } else if (strcmp(kind, "version") == 0) {
        hello[8] = 9;
        many(5, hello, HELLO_SIZE);
    } else if (strcmp(kind, "wrong") == 0) {
        shake(hello, proof);
    } else if (strcmp(kind, "replay") == 0) {
        for (int i = 0; i < 5; i++) {
            shake(hello, proof);
        }
    } else if (strcmp(kind, "hellos") == 0) {
        flood(hello);
    } else if (strcmp(kind, "storm") == 0) {
        storm();
    } else if (strcmp(kind, "foreign") == 0) {
        if (be_foreign() < 0) {
            return -1;
        }
        shake(hello, proof);
    } else {
        return -1;
    }
    return 0;
}

/* "JOBID.VPID;unix:///PATH;tcp://HOST:PORT;...": the first of each kind */
static int parse(char *contact)
{
    static const char tcp[] = "tcp://", unix_scheme[] = "unix://";
    for (char *part = strtok(contact, ";"); part; part = strtok(NULL, ";")) {
        char *port = strrchr(part, ':');
        if (strncmp(part, tcp, sizeof(tcp) - 1) == 0 && !server.sin_port) {
            *port = '\0';
            server.sin_port = htons((uint16_t) atoi(port + 1));
            if (inet_pton(AF_INET, part + sizeof(tcp) - 1, &server.sin_addr) != 1) {
                return -1;
            }
        } else if (strncmp(part, unix_scheme, sizeof(unix_scheme) - 1) == 0) {
            unix_path = part + sizeof(unix_scheme) - 1;
        } else if (part == contact && sscanf(part, "%u.%u", &jobid, &vpid) != 2) {
            return -1;
        }
    }
    return server.sin_port ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct rlimit limit = {4096, 4096};
    (void) setrlimit(RLIMIT_NOFILE, &limit);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 3 || parse(argv[2]) < 0 || act(argv[1]) < 0) {
        return 2;
    }
    ready();
    sleep(60);
    return 0;
}
