/* Two processes that measure NNG between them: pair0 sockets over TCP. */
#include <config.h>

#include <bench/ends.h>
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 10000 };

static bool well(const char *what, int error)
{
    if (error != 0) {
        fprintf(stderr, "rml_nng: %s: %s\n", what, nng_strerror(error));
    }
    return error == 0;
}

static bool send_to(void *arg, const void *data, size_t size)
{
    return well("send", nng_send(*(nng_socket *) arg, (void *) (size_t) data, size, 0));
}

static bool recv_from(void *arg, void *data, size_t size)
{
    size_t got = size;
    return well("recv", nng_recv(*(nng_socket *) arg, data, &got, 0)) && got == size;
}

/* End 1 listens and tells end 0 through the pipe where. */
static bool join(nng_socket socket, unsigned end, const int pipe[2])
{
    nng_listener listener;
    char address[64];
    int port = 0;
    if (end == 1) {
        return well("listen", nng_listen(socket, "tcp://127.0.0.1:0", &listener, 0)) &&
               well("port", nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port)) &&
               write(pipe[1], &port, sizeof(port)) == sizeof(port);
    }
    if (read(pipe[0], &port, sizeof(port)) != sizeof(port)) {
        return false;
    }
    snprintf(address, sizeof(address), "tcp://127.0.0.1:%d", port);
    return well("dial", nng_dial(socket, address, NULL, 0));
}

static bool run(unsigned end, const int pipe[2])
{
    nng_socket socket;
    ends_bind(end);
    if (!well("open", nng_pair0_open(&socket))) {
        return false;
    }
    struct ends ends = {&socket, end, send_to, recv_from};
    bool good = well("limit", nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0)) &&
                well("limit", nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, LIMIT_MS)) &&
                well("delay", nng_socket_set_bool(socket, NNG_OPT_TCP_NODELAY, true)) &&
                join(socket, end, pipe) && ends_run(&ends);
    if (end == 1) { /* its last message has left when the other end has taken it */
        char done;
        (void) !read(pipe[0], &done, 1);
    }
    nng_close(socket);
    return good;
}

int main(int argc, char **argv)
{
    int to_0[2], to_1[2], status = 1;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("NNG %s\n", nng_version());
        return 0;
    }
    if (pipe(to_0) < 0 || pipe(to_1) < 0) {
        return 1;
    }
    pid_t child = fork();
    if (child <= 0) {
        int pipes[] = {to_1[0], to_0[1]};
        close(to_1[1]);
        return child < 0 || !run(1, pipes);
    }
    int pipes[] = {to_0[0], to_1[1]};
    bool good = run(0, pipes);
    close(to_1[1]);
    waitpid(child, &status, 0);
    return !good || status != 0;
}
