/* Two processes that measure ZeroMQ between them: PAIR sockets over TCP.
 *
 *   rml_zmq plain|curve */
#include <config.h>

#include <bench/ends.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

enum { KEY_TEXT = 41, LIMIT_MS = 10000 };

static bool send_to(void *arg, const void *data, size_t size)
{
    bool good = zmq_send(arg, data, size, 0) == (int) size;
    if (!good) {
        fprintf(stderr, "rml_zmq: send: %s\n", zmq_strerror(zmq_errno()));
    }
    return good;
}

static bool recv_from(void *arg, void *data, size_t size)
{
    bool good = zmq_recv(arg, data, size, 0) == (int) size;
    if (!good) {
        fprintf(stderr, "rml_zmq: recv: %s\n", zmq_strerror(zmq_errno()));
    }
    return good;
}

/* End 1 listens and is CURVE's server; both have made their keys before they fork. */
struct keys {
    char public[2][KEY_TEXT], secret[2][KEY_TEXT];
};

static bool set_curve(void *socket, unsigned end, const struct keys *keys)
{
    int server = end == 1;
    return zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret[end], KEY_TEXT) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public[end], KEY_TEXT) == 0 &&
           (server ? zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &server, sizeof(server)) == 0
                   : zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, keys->public[1], KEY_TEXT) == 0);
}

/* End 1 tells end 0 through the pipe where it listens. */
static bool join(void *socket, unsigned end, const int pipe[2])
{
    char address[128] = "";
    size_t size = sizeof(address);
    if (end == 1) {
        return zmq_bind(socket, "tcp://127.0.0.1:*") == 0 &&
               zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address, &size) == 0 &&
               write(pipe[1], address, sizeof(address)) == sizeof(address);
    }
    return read(pipe[0], address, sizeof(address)) == sizeof(address) &&
           zmq_connect(socket, address) == 0;
}

static bool run(unsigned end, const struct keys *keys, const int pipe[2])
{
    int limit = LIMIT_MS;
    ends_bind(end);
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_PAIR);
    struct ends ends = {socket, end, send_to, recv_from};
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &limit, sizeof(limit));
    zmq_setsockopt(socket, ZMQ_LINGER, &limit, sizeof(limit));
    bool good =
        (!keys || set_curve(socket, end, keys)) && join(socket, end, pipe) && ends_run(&ends);
    zmq_close(socket);
    zmq_ctx_term(context);
    return good;
}

int main(int argc, char **argv)
{
    struct keys keys;
    int pipe_fds[2], status = 1;
    bool curve = argc == 2 && strcmp(argv[1], "curve") == 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("ZeroMQ %d.%d.%d\n", ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR, ZMQ_VERSION_PATCH);
        return 0;
    }
    if (argc != 2 || (!curve && strcmp(argv[1], "plain") != 0)) {
        fputs("Usage: rml_zmq plain|curve\n", stderr);
        return 2;
    }
    for (unsigned end = 0; end < 2 && curve; end++) {
        if (zmq_curve_keypair(keys.public[end], keys.secret[end]) < 0) {
            fputs("rml_zmq: this ZeroMQ has no CURVE\n", stderr);
            return 1;
        }
    }
    if (pipe(pipe_fds) < 0) {
        return 1;
    }
    pid_t child = fork();
    if (child <= 0) {
        return child < 0 || !run(1, curve ? &keys : NULL, pipe_fds);
    }
    bool good = run(0, curve ? &keys : NULL, pipe_fds);
    waitpid(child, &status, 0);
    return !good || status != 0;
}
