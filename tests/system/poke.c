/* Strangers at a daemon's door: connects to the addresses of a contact string and misbehaves, until
 * it is killed.
 *
 *   poke garbage|idle|http CONTACT
 *
 * Prints "poking" once every address was reached (idle and http stay connected as long as they
 * may; garbage comes again and again). */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS = 16, ADDRESSES = 16, PAUSE_MS = 5 };

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof(address.sun_path)) {
        return -1;
    }
    memcpy(address.sun_path, path, length + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* text: ADDRESS:PORT */
static int connect_tcp(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t) (colon - text) >= sizeof(host)) {
        return -1;
    }
    snprintf(host, sizeof(host), "%.*s", (int) (colon - text), text);
    address.sin_port = htons((uint16_t) atoi(colon + 1));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        return -1;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int connect_to(const char *address)
{
    if (strncmp(address, "unix://", 7) == 0) {
        return connect_unix(address + 7);
    }
    return strncmp(address, "tcp://", 6) == 0 ? connect_tcp(address + 6) : -1;
}

static void say(int fd, const char *how, unsigned round)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    uint8_t noise[512];
    if (strcmp(how, "idle") == 0) {
        return;
    }
    if (strcmp(how, "http") == 0) {
        (void) !send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL);
        return;
    }
    for (size_t i = 0; i < sizeof(noise); i++) {
        noise[i] = (uint8_t) random();
    }
    (void) !send(fd, noise, 1 + round * 37 % sizeof(noise), MSG_NOSIGNAL);
}

int main(int argc, char **argv)
{
    char *addresses[ADDRESSES];
    int fds[CONNECTIONS], count = 0;
    char *rest = NULL;
    if (argc != 3) {
        return 2;
    }
    strtok_r(argv[2], ";", &rest); /* the name */
    for (char *word; count < ADDRESSES && (word = strtok_r(NULL, ";", &rest));) {
        if (strncmp(word, "tcp6:", 5) != 0) {
            addresses[count++] = word;
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = -1;
    }
    bool stays = strcmp(argv[1], "garbage") != 0;
    int reached = 0;
    for (unsigned round = 0; count > 0; round++) {
        int *fd = &fds[round % CONNECTIONS];
        if (*fd < 0 || !stays) {
            close(*fd);
            *fd = connect_to(addresses[round % (unsigned) count]);
            reached += *fd >= 0;
            say(*fd, argv[1], round);
        }
        if (round + 1 == (unsigned) count) {
            printf(reached == count ? "poking\n" : "not reached\n");
            fflush(stdout);
        }
        poll(NULL, 0, PAUSE_MS);
    }
    return 1;
}
