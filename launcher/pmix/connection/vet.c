#include <config.h>

#include <arpa/inet.h>
#include <base/data/clock.h>
#include <errno.h>
#include <launcher/pmix/connection/vet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- the first message --- */

/* What is left of the bytes; bad once something was missing. */
struct cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static const uint8_t *take(struct cursor *cursor, size_t size)
{
    if (cursor->bad || size > cursor->left) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += size;
    cursor->left -= size;
    return bytes;
}

static uint32_t take_u32(struct cursor *cursor)
{
    const uint8_t *bytes = take(cursor, 4);
    uint32_t number = 0;
    if (bytes) {
        memcpy(&number, bytes, sizeof(number));
    }
    return ntohl(number);
}

static uint8_t take_u8(struct cursor *cursor)
{
    const uint8_t *bytes = take(cursor, 1);
    return bytes ? *bytes : 0;
}

/* A text with its ending zero, of at most max bytes with it; "" when it is not there. */
static const char *take_text(struct cursor *cursor, size_t max)
{
    size_t limit = cursor->left < max ? cursor->left : max;
    const uint8_t *end = cursor->bad || limit == 0 ? NULL : memchr(cursor->at, '\0', limit);
    if (!end) {
        cursor->bad = true;
        return "";
    }
    return (const char *) take(cursor, (size_t) (end - cursor->at) + 1);
}

static bool known_buffers(const char *bfrops)
{
    static const char *const known[] = {"v12", "v20", "v21", "v3", "v4", "v41"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(bfrops, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Is it one of these, which commas separate? */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* "4.2.2" and more: libpmix reads behind the end of one with fewer parts. */
static bool is_version(const char *text)
{
    for (int part = 0; part < 2; part++) {
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || text[digits] != '.') {
            return false;
        }
        text += digits + 1;
    }
    return true;
}

/* Its security mode and credential. */
static const char *read_credential(struct cursor *body, struct vet_hello *hello)
{
    const char *security = take_text(body, 16);
    if (body->bad || strcmp(security, "native") != 0) {
        return "its security mode is not native";
    }
    if (take_u32(body) != 2 * sizeof(uint32_t)) {
        return "its credential has not the size of one";
    }
    const uint8_t *credential = take(body, 2 * sizeof(uint32_t));
    if (!credential) {
        return "its credential is cut off";
    }
    memcpy(&hello->uid, credential, sizeof(hello->uid)); /* in the host's order */
    memcpy(&hello->gid, credential + sizeof(hello->uid), sizeof(hello->gid));
    return NULL;
}

/* What it is, and its name if it has one. libpmix knows more kinds: tools that name themselves
 * (they could take a rank's name), launchers, which start processes of their own, and those of
 * version 2. */
static const char *read_identity(struct cursor *body, struct vet_hello *hello)
{
    enum { FLAG_CLIENT = 0, FLAG_TOOL = 3, FLAG_TOOL_CLIENT = 5 };
    uint8_t flag = take_u8(body);
    if (body->bad || (flag != FLAG_CLIENT && flag != FLAG_TOOL && flag != FLAG_TOOL_CLIENT)) {
        return "it is neither a client nor a tool that is served";
    }
    hello->kind = flag == FLAG_TOOL          ? VET_TOOL
                  : flag == FLAG_TOOL_CLIENT ? VET_TOOL_CLIENT
                                             : VET_CLIENT;
    if (hello->kind != VET_CLIENT &&
        (take_u32(body) != hello->uid || take_u32(body) != hello->gid)) {
        return "it names another user or group than its credential";
    }
    if (hello->kind != VET_TOOL) {
        const char *nspace = take_text(body, sizeof(hello->nspace));
        hello->rank = take_u32(body);
        memcpy(hello->nspace, nspace, strlen(nspace) + 1);
    }
    return body->bad || (hello->kind != VET_TOOL && hello->nspace[0] == '\0')
               ? "its name is cut off"
               : NULL;
}

/* How it stores and packs. */
static const char *read_formats(struct cursor *body)
{
    const char *version = take_text(body, 64);
    const char *bfrops = take_text(body, 16);
    uint8_t buffer_type = take_u8(body);
    const char *gds = take_text(body, 64);
    if (body->bad || !is_version(version)) {
        return "its version is not one, or its formats are cut off";
    }
    if (!has_word(gds, "hash")) {
        return "its storage is not the one that is offered";
    }
    return !known_buffers(bfrops) || buffer_type > 2 ? "its buffer format is unknown" : NULL;
}

/* The part behind the header. What a tool says after that, libpmix leaves alone; so does a
 * client's, if there were any. */
static const char *read_body(struct cursor *body, struct vet_hello *hello)
{
    const char *why = read_credential(body, hello);
    if (!why) {
        why = read_identity(body, hello);
    }
    return why ? why : read_formats(body);
}

enum vet_result vet_hello(const uint8_t *bytes, size_t size, struct vet_hello *out, size_t *need,
                          const char **why)
{
    static const uint8_t first[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    if (memcmp(bytes, first, size < sizeof(first) ? size : sizeof(first)) != 0) {
        *why = "this is not PMIx";
        return VET_BAD;
    }
    if (size < VET_HEADER_BYTES) {
        *need = VET_HEADER_BYTES;
        return VET_MORE;
    }
    uint32_t body_size;
    memcpy(&body_size, bytes + sizeof(first), sizeof(body_size)); /* in the host's order */
    if (body_size > VET_HELLO_MAX - VET_HEADER_BYTES) {
        *why = "its first message is too long";
        return VET_BAD;
    }
    if (size < VET_HEADER_BYTES + body_size) {
        *need = VET_HEADER_BYTES + body_size;
        return VET_MORE;
    }
    struct cursor body = {bytes + VET_HEADER_BYTES, body_size, false};
    struct vet_hello hello = {0};
    *why = read_body(&body, &hello);
    if (!*why && size > VET_HEADER_BYTES + body_size) {
        *why = "it says more before it was answered";
    }
    if (*why) {
        return VET_BAD;
    }
    *out = hello;
    return VET_WELL;
}

/* --- the owner of a connection --- */

/* The connection as its other end sees it. */
struct ends {
    struct sockaddr_in local, remote;
};

/* What the kernel knows of a socket. One that nobody holds any more has no inode, and passes for
 * root's. */
struct owner {
    uint32_t state; /* TCP_ESTABLISHED and so on */
    uid_t uid;
    unsigned long inode;
};

static int find_ends(int fd, struct ends *ends)
{
    socklen_t local_length = sizeof(ends->local), remote_length = sizeof(ends->remote);
    if (getpeername(fd, (struct sockaddr *) &ends->local, &local_length) < 0 ||
        getsockname(fd, (struct sockaddr *) &ends->remote, &remote_length) < 0) {
        return -errno;
    }
    return ends->local.sin_family == AF_INET && ends->remote.sin_family == AF_INET ? 0
                                                                                   : -EAFNOSUPPORT;
}

struct diag_request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 body;
};

static struct diag_request make_request(const struct ends *ends)
{
    return (struct diag_request){
        .header = {.nlmsg_len = sizeof(struct diag_request),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_INET,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = ~0u,
                 .id = {.idiag_sport = ends->local.sin_port,
                        .idiag_dport = ends->remote.sin_port,
                        .idiag_src = {ends->local.sin_addr.s_addr},
                        .idiag_dst = {ends->remote.sin_addr.s_addr},
                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
}

/* By sock_diag, for exactly this socket. The kernel answers within the send; a second's limit
 * stands against the unforeseen. */
static int ask_kernel(const struct ends *ends, struct owner *owner)
{
    union {
        struct nlmsghdr header;
        char bytes[1024];
    } reply;
    struct diag_request request = make_request(ends);
    struct inet_diag_msg answer;
    struct timeval limit = {.tv_sec = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        return -errno;
    }
    ssize_t size = -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
        send(fd, &request, sizeof(request), 0) == (ssize_t) sizeof(request)) {
        size = recv(fd, &reply, sizeof(reply), 0);
    }
    int error = size < 0 ? -errno : 0;
    close(fd);
    if (error != 0) {
        return error;
    }
    if ((size_t) size < NLMSG_LENGTH(sizeof(answer)) ||
        reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
        return -ENOENT; /* an error message: there is no such socket, or no such service */
    }
    memcpy(&answer, NLMSG_DATA(&reply.header), sizeof(answer));
    *owner = (struct owner){answer.idiag_state, answer.idiag_uid, answer.idiag_inode};
    return 0;
}

/* A line of /proc/net/tcp, with addresses as they stand in memory and ports as numbers. */
static bool read_line(const char *line, const struct ends *ends, struct owner *owner)
{
    unsigned local, local_port, remote, remote_port, state, uid;
    unsigned long inode;
    if (sscanf(line, " %*u: %8X:%4X %8X:%4X %2X %*X:%*X %*X:%*X %*X %u %*u %lu", &local,
               &local_port, &remote, &remote_port, &state, &uid, &inode) != 7 ||
        local != ends->local.sin_addr.s_addr || local_port != ntohs(ends->local.sin_port) ||
        remote != ends->remote.sin_addr.s_addr || remote_port != ntohs(ends->remote.sin_port)) {
        return false;
    }
    *owner = (struct owner){state, uid, inode};
    return true;
}

/* Closed connections between the same ends may be listed beside the established one. */
static int search_table(const struct ends *ends, uint64_t deadline_us, struct owner *owner)
{
    FILE *table = fopen("/proc/self/net/tcp", "re");
    char line[256];
    int error = table ? -ENOENT : -errno;
    struct owner found;
    while (table && clock_us() < deadline_us && fgets(line, sizeof(line), table)) {
        if (read_line(line, ends, &found)) {
            *owner = found;
            error = 0;
            if (found.state == TCP_ESTABLISHED) {
                break;
            }
        }
    }
    if (table) {
        fclose(table);
    }
    return error;
}

/* Where the kernel has no sock_diag for TCP, or a sandbox does not allow it. The table is read in
 * pieces: a line may be passed over when others before it go meanwhile. */
static int search_tables(const struct ends *ends, struct owner *owner)
{
    enum { TRIES = 3, LIMIT_US = 1000000 };
    uint64_t deadline_us = clock_us() + LIMIT_US;
    int error = -ENOENT;
    for (int i = 0; i < TRIES && error == -ENOENT && clock_us() < deadline_us; i++) {
        error = search_table(ends, deadline_us, owner);
    }
    return error;
}

int vet_owner(int fd, uid_t user, const char **why)
{
    struct ends ends;
    struct owner owner = {0};
    int error = find_ends(fd, &ends);
    if (error == 0 && ask_kernel(&ends, &owner) != 0) {
        error = search_tables(&ends, &owner);
    }
    if (error != 0) {
        *why = "the kernel does not say whose it is";
        return error;
    }
    if (owner.inode == 0 || owner.state != TCP_ESTABLISHED) {
        *why = "its sender is gone already";
        return -EPIPE;
    }
    if (owner.uid != user) {
        *why = "it belongs to another user";
        return -EPERM;
    }
    return 0;
}
