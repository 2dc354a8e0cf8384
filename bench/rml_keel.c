/* Two ranks under keelrun that measure the RML between them.
 *
 *   rml_keel routed   over whatever daemons are between them
 *   rml_keel tcp      directly, with each other's contact strings, of which only the addresses of
 *   rml_keel unix     that kind are told */
#include <config.h>

#include <bench/ends.h>
#include <keel/keel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = ORTE_RML_TAG_MAX + 1 };

static bool send_to(void *arg, const void *data, size_t size)
{
    struct iovec part = {(void *) (uintptr_t) data, size};
    int status = orte_rml.send(arg, &part, 1, TAG, 0);
    if (status < 0) {
        fprintf(stderr, "rml_keel: send: %s\n", opal_strerror(status));
    }
    return status >= 0;
}

static bool recv_from(void *arg, void *data, size_t size)
{
    struct iovec part = {data, size};
    int status = orte_rml.recv(arg, &part, 1, TAG, 0);
    if (status < 0) {
        fprintf(stderr, "rml_keel: recv: %s\n", opal_strerror(status));
    }
    return status >= 0;
}

/* Leaves the name and the addresses that begin like this. */
static void keep_addresses(char *contact, const char *scheme)
{
    char *to = contact + strcspn(contact, ";"), *rest = *to ? to + 1 : to;
    for (char *address; (address = strtok_r(NULL, ";", &rest));) {
        if (strncmp(address, scheme, strlen(scheme)) == 0) {
            size_t size = strlen(address);
            *to++ = ';';
            memmove(to, address, size);
            to += size;
        }
    }
    *to = '\0';
}

/* Each learns the other's addresses, and end 0 makes the link: its next message goes that way. */
static bool meet(orte_process_name_t *peer, const char *scheme)
{
    char *contact = orte_rml.get_contact_info();
    void *other = NULL;
    size_t size;
    bool good = contact && keel_modex_send("contact", contact, strlen(contact) + 1) == 0 &&
                keel_fence() == 0 && keel_modex_recv(peer, "contact", &other, &size) == 0;
    if (good && keel_my_name()->vpid == 0) {
        keep_addresses(other, scheme);
        good = orte_rml.set_contact_info(other) == 0;
    }
    if (!good) {
        fprintf(stderr, "rml_keel: no direct link over %s\n", scheme);
    }
    free(other);
    free(contact);
    return good;
}

int main(int argc, char **argv)
{
    const struct keel_options options = {
        .size = sizeof(options), .enable_comm = true, .data_plane = false};
    const char *rank = getenv("KEEL_RANK");
    if (argc != 2 || !rank) {
        fputs("Usage: keelrun -n 2 rml_keel routed|tcp|unix\n", stderr);
        return 2;
    }
    ends_bind((unsigned) atoi(rank));
    if (keel_init(&options) != ORTE_SUCCESS) {
        return 1;
    }
    orte_process_name_t peer = *keel_my_name();
    struct ends ends = {&peer, peer.vpid, send_to, recv_from};
    bool direct = strcmp(argv[1], "routed") != 0;
    char scheme[16];
    peer.vpid = 1 - peer.vpid;
    snprintf(scheme, sizeof(scheme), "%s://", argv[1]);
    bool good = (!direct || meet(&peer, scheme)) && ends_run(&ends);
    if (!good) {
        keel_abort(1, "the measurement failed");
    }
    return keel_finalize() != ORTE_SUCCESS;
}
