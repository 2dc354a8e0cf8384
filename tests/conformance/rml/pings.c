/* Pings. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>
#include <unistd.h>

static const struct timeval enough = {20, 0};

/* My neighbour on the right, and myself. */
void somebody_answers(const struct cell *cell)
{
    orte_rml_tag_t tag = cell_tag(cell);
    char *mine = orte_rml.get_contact_info();
    must(mine != NULL);
    must(orte_rml.ping(mine, &enough) == ORTE_SUCCESS);
    say(&left, tag, false, mine, strlen(mine));
    char contact[2000] = "";
    struct iovec space = {contact, sizeof(contact) - 1};
    must(orte_rml.recv(&right, &space, 1, tag, 0) > 0);
    must(orte_rml.ping(contact, &enough) == ORTE_SUCCESS);
    must(orte_rml.ping(contact, NULL) == ORTE_SUCCESS);
    say(&left, tag, false, "pinged", 6); /* my listener stays until I am */
    hear(&right, tag, false, "pinged", 6);
    free(mine);
}

void wrong_pings(const struct cell *cell)
{
    static const struct timeval wrong[] = {{-1, 0}, {0, -1}, {0, 1000000}};
    (void) cell;
    must(orte_rml.ping(NULL, &enough) == ORTE_ERR_BAD_PARAM);
    must(orte_rml.ping("", &enough) == ORTE_ERR_BAD_PARAM);
    must(orte_rml.ping("1.2", &enough) == ORTE_ERR_BAD_PARAM);
    must(orte_rml.ping("1.2;gopher://127.0.0.1:1", &enough) == ORTE_ERR_BAD_PARAM);
    must(orte_rml.ping("*.2;tcp://127.0.0.1:1", &enough) == ORTE_ERR_BAD_PARAM);
    for (int i = 0; i < 3; i++) {
        must(orte_rml.ping("1.2;tcp://127.0.0.1:1", &wrong[i]) == ORTE_ERR_BAD_PARAM);
    }
}

/* A socket that listens, and its contact string for a name. */
static int open_listener(const orte_process_name_t *name, char *contact, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *) &address, length) == 0 && listen(fd, 5) == 0);
    must(getsockname(fd, (struct sockaddr *) &address, &length) == 0);
    snprintf(contact, size, "%u.%u;tcp://127.0.0.1:%d", name->jobid, name->vpid,
             ntohs(address.sin_port));
    return fd;
}

void nobody_answers(const struct cell *cell)
{
    char contact[128];
    orte_process_name_t name = {me.jobid, ranks};
    (void) cell;
    int fd = open_listener(&name, contact, sizeof(contact));
    close(fd);
    must(orte_rml.ping(contact, &enough) == ORTE_ERR_UNREACH);
    must(orte_rml.ping("1.2;unix:///nobody/is/here", &enough) == ORTE_ERR_UNREACH);
}

/* A listener that says nothing is not a live process of that name. */
void nobody_answers_in_time(const struct cell *cell)
{
    char contact[128];
    const struct timeval little = {0, 100000}, nothing = {0, 0};
    orte_process_name_t name = {me.jobid, ranks};
    (void) cell;
    int fd = open_listener(&name, contact, sizeof(contact));
    must(orte_rml.ping(contact, &little) == ORTE_ERR_TIMEOUT);
    must(orte_rml.ping(contact, &nothing) == ORTE_ERR_TIMEOUT);
    close(fd);
}

/* My daemon, whose address keelrun has told me. */
void pings_before(const struct cell *cell)
{
    const char *daemon = getenv("KEEL_DAEMON");
    (void) cell;
    must(orte_rml.ping("1.2;unix:///nobody/is/here", &enough) == ORTE_ERR_UNREACH);
    must(orte_rml.ping("nonsense", &enough) == ORTE_ERR_BAD_PARAM);
    if (daemon) {
        must(orte_rml.ping(daemon, &enough) == ORTE_SUCCESS);
        must(orte_rml.ping(daemon, &enough) == ORTE_SUCCESS);
    }
}

void pings_after(const struct cell *cell)
{
    (void) cell;
    must(orte_rml.ping("1.2;tcp://127.0.0.1:1", &enough) == ORTE_ERR_COMM_DISABLED);
}
