#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <launcher/pmix/vet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
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

struct diag_request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 body;
};

/* The request for exactly the socket at the connection's other end. */
static int make_request(int fd, struct diag_request *request)
{
    struct sockaddr_in mine, theirs;
    socklen_t my_length = sizeof(mine), their_length = sizeof(theirs);
    if (getsockname(fd, (struct sockaddr *) &mine, &my_length) < 0 ||
        getpeername(fd, (struct sockaddr *) &theirs, &their_length) < 0) {
        return -errno;
    }
    if (mine.sin_family != AF_INET || theirs.sin_family != AF_INET) {
        return -EAFNOSUPPORT;
    }
    *request = (struct diag_request){
        .header = {.nlmsg_len = sizeof(*request),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
    };
    struct inet_diag_sockid *id = &request->body.id;
    id->idiag_sport = theirs.sin_port;
    id->idiag_dport = mine.sin_port;
    id->idiag_src[0] = theirs.sin_addr.s_addr;
    id->idiag_dst[0] = mine.sin_addr.s_addr;
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return 0;
}

/* The kernel answers within the send; a second's limit stands against the unforeseen. */
static int ask_kernel(const struct diag_request *request, struct inet_diag_msg *answer)
{
    union {
        struct nlmsghdr header;
        char bytes[1024];
    } reply;
    struct timeval limit = {.tv_sec = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        return -errno;
    }
    ssize_t size = -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
        send(fd, request, sizeof(*request), 0) == (ssize_t) sizeof(*request)) {
        size = recv(fd, &reply, sizeof(reply), 0);
    }
    int error = size < 0 ? -errno : 0;
    close(fd);
    if (error != 0) {
        return error;
    }
    if ((size_t) size < NLMSG_LENGTH(sizeof(*answer)) ||
        reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
        return -ENOENT; /* an error message: there is no such socket, or no such service */
    }
    memcpy(answer, NLMSG_DATA(&reply.header), sizeof(*answer));
    return 0;
}

int vet_owner(int fd, uid_t user, const char **why)
{
    enum { STATE_ESTABLISHED = 1 };
    struct diag_request request;
    struct inet_diag_msg answer = {0};
    int error = make_request(fd, &request);
    if (error == 0) {
        error = ask_kernel(&request, &answer);
    }
    if (error != 0) {
        *why = "the kernel does not say whose it is";
        return error;
    }
    /* a socket that nobody holds any more has no inode, and passes for root's */
    if (answer.idiag_inode == 0 || answer.idiag_state != STATE_ESTABLISHED) {
        *why = "its sender is gone already";
        return -EPIPE;
    }
    if (answer.idiag_uid != user) {
        *why = "it belongs to another user";
        return -EPERM;
    }
    return 0;
}
