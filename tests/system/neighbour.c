/* neighbour KIND PORT NSPACE: a bad neighbour of a PMIx server on 127.0.0.1. It does its worst,
 * says "ready" on standard output, and waits to be killed.
 *
 *   idle     a connection that says nothing           crowd    64 of them
 *   byte     one byte of a message                    half     a message's header and half its body
 *   dribble  5 messages, a byte in 50 ms              huge     a message of 2 GiB
 *   http     20 requests for a page                   random   20 times random bytes
 *   none     a message without security               user     a message that names another user
 *   job      one that names another job               rank     one of a rank that is not there
 *   liar     one of a tool, with two users            deserter 20 tools that are gone at once
 *   truant   a tool that says no more                 silent   rank 0's, which says no more
 *   foreign  another user's connections, with well-made messages (needs root)
 *   orphan   the same, closed at once (needs root) */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in server = {.sin_family = AF_INET};

struct message {
    uint8_t bytes[512];
    size_t size;
};

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &server, sizeof(server)) < 0) {
        perror("connect");
        exit(1);
    }
    return fd;
}

/* The server may have closed it already. */
static void say(int fd, const void *data, size_t size)
{
    (void) !send(fd, data, size, MSG_NOSIGNAL);
}

static void put(struct message *message, const void *data, size_t size)
{
    memcpy(message->bytes + message->size, data, size);
    message->size += size;
}

enum { CLIENT = 0, TOOL = 3 };

static struct message make(const char *security, uint32_t uid, uint8_t flag, const char *nspace,
                           uint32_t rank)
{
    struct message message = {.size = 16};
    uint32_t gid = getegid(), size = htonl(8), network_rank = htonl(rank);
    uint32_t ids[2] = {htonl(geteuid()), htonl(gid)};
    memset(message.bytes, 0xff, 8);
    put(&message, security, strlen(security) + 1);
    put(&message, &size, 4);
    put(&message, &uid, 4);
    put(&message, &gid, 4);
    put(&message, &flag, 1);
    if (flag == TOOL) {
        put(&message, ids, sizeof(ids));
    } else {
        put(&message, nspace, strlen(nspace) + 1);
        put(&message, &network_rank, 4);
    }
    put(&message, "4.2.2rc2\0v41\0\x01hash\0", 20);
    uint32_t body = (uint32_t) message.size - 16;
    memcpy(message.bytes + 8, &body, 4);
    return message;
}

static void many(int count, const void *data, size_t size)
{
    for (int i = 0; i < count; i++) {
        say(dial(), data, size);
    }
}

/* Gone with a reset, before anybody can answer. */
static void desert(int count, const struct message *message)
{
    struct linger reset = {.l_onoff = 1};
    for (int i = 0; i < count; i++) {
        int fd = dial();
        say(fd, message->bytes, message->size);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fd);
    }
}

/* In the background: the first bytes come before "ready". */
static void dribble(const struct message *message)
{
    int fds[5];
    for (int i = 0; i < 5; i++) {
        fds[i] = dial();
    }
    puts("ready");
    fflush(stdout);
    for (size_t at = 0; at < message->size; at++) {
        for (int i = 0; i < 5; i++) {
            say(fds[i], message->bytes + at, 1);
        }
        usleep(50000);
    }
}

static int be_nobody(void)
{
    if (setgid(65534) < 0 || setuid(65534) < 0) {
        perror("setuid");
        return -1;
    }
    return 0;
}

/* Those that send one message and stay; 0: it is not one of them. */
static int send_message(const char *kind, const char *nspace)
{
    uint32_t uid = geteuid();
    const struct {
        const char *kind;
        struct message message;
    } kinds[] = {
        {"none", make("none", uid, CLIENT, nspace, 0)},
        {"user", make("native", uid + 1, CLIENT, nspace, 0)},
        {"job", make("native", uid, CLIENT, "another", 0)},
        {"rank", make("native", uid, CLIENT, nspace, 1000000)},
        {"liar", make("native", uid + 1, TOOL, nspace, 0)},
        {"truant", make("native", uid, TOOL, nspace, 0)},
        {"silent", make("native", uid, CLIENT, nspace, 0)},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kind, kinds[i].kind) == 0) {
            many(1, kinds[i].message.bytes, kinds[i].message.size);
            return 1;
        }
    }
    return 0;
}

static int act(const char *kind, const char *nspace)
{
    struct message message = make("native", geteuid(), CLIENT, nspace, 0);
    struct message tool = make("native", geteuid(), TOOL, nspace, 0);
    uint8_t noise[300];
    if (send_message(kind, nspace)) {
        return 0;
    }
    if (strcmp(kind, "idle") == 0) {
        many(1, "", 0);
    } else if (strcmp(kind, "crowd") == 0) {
        many(64, "", 0);
    } else if (strcmp(kind, "byte") == 0) {
        many(1, message.bytes, 1);
    } else if (strcmp(kind, "half") == 0) {
        many(5, message.bytes, message.size / 2);
    } else if (strcmp(kind, "dribble") == 0) {
        dribble(&message);
    } else if (strcmp(kind, "huge") == 0) {
        memcpy(message.bytes + 8, "\xff\xff\xff\x7f", 4);
        many(1, message.bytes, message.size);
    } else if (strcmp(kind, "http") == 0) {
        many(20, "GET / HTTP/1.0\r\n\r\n", 18);
    } else if (strcmp(kind, "random") == 0 &&
               getrandom(noise, sizeof(noise), 0) == (ssize_t) sizeof(noise)) {
        many(20, noise, sizeof(noise));
    } else if (strcmp(kind, "deserter") == 0) {
        desert(20, &tool);
    } else if (strcmp(kind, "foreign") == 0 && be_nobody() == 0) {
        many(5, message.bytes, message.size);
    } else if (strcmp(kind, "orphan") == 0 && be_nobody() == 0) {
        for (int i = 0; i < 5; i++) {
            int fd = dial();
            say(fd, message.bytes, message.size);
            close(fd);
        }
    } else {
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4 || strlen(argv[3]) > 256) {
        return 2;
    }
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t) atoi(argv[2]));
    if (act(argv[1], argv[3]) < 0) {
        return 2;
    }
    puts("ready");
    fflush(stdout);
    sleep(60);
    return 0;
}
