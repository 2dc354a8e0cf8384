/* Contact strings: JOBID.VPID;unix:///path;tcp://addr:port;tcp6://[addr]:port
 *
 * Plain ASCII; 1 to 16 addresses after the name; at most 1024 characters. */
#ifndef OOB_CONTACT_H
#define OOB_CONTACT_H

#include <base/net/sock.h>
#include <keel/types.h>

#define CONTACT_ADDRS_MAX 16
#define CONTACT_TEXT_MAX 1024

struct contact {
    orte_process_name_t name;
    size_t count;
    struct sock_addr addrs[CONTACT_ADDRS_MAX];
};

/* Pure; trailing bytes, unknown schemes and numbers out of range are errors. On ORTE_ERR_BAD_PARAM
 * reason says where and why; contact is then untouched. */
int contact_parse(struct contact *contact, const char *text, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* The canonical text, malloc'd; contact_parse reads it back to the same contact. NULL: longer than
 * CONTACT_TEXT_MAX, or no memory. */
char *contact_print(const struct contact *contact);

#endif
