/* keelrun's contact string for those who want to join from outside (--report-uri). */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/host/hostname.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/standing/contact.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wireup/proto.h>

/* The file gets its name when it is whole. This replaces an older one of the name, which must not
 * be a link or a device, such as /dev/stdout. host: "", or a second line. */
static int write_file(const char *path, const char *contact, const char *host, char *reason,
                      size_t reason_size)
{
    struct stat old;
    if (lstat(path, &old) == 0 && !S_ISREG(old.st_mode)) {
        snprintf(reason, reason_size,
                 "the contact string cannot be written to %s: it is not a plain file (- stands for "
                 "standard output, + for standard error)",
                 path);
        return ORTE_ERR_FILE_WRITE_FAILURE;
    }
    char *work = NULL;
    if (asprintf(&work, "%s.%ld", path, (long) getpid()) < 0) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int fd = open(work, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool written = fd >= 0 && dprintf(fd, "%s\n%s", contact, host) > 0;
    if (fd >= 0) {
        written = close(fd) == 0 && written;
    }
    written = written && rename(work, path) == 0;
    if (!written) {
        snprintf(reason, reason_size, "the contact string cannot be written to %s: %s", path,
                 strerror(errno));
        (void) unlink(work);
    }
    free(work);
    return written ? ORTE_SUCCESS : ORTE_ERR_FILE_WRITE_FAILURE;
}

int hnp_report_uri(struct hnp *hnp, char *reason, size_t reason_size)
{
    const char *file = hnp->request.uri_file, *contact = hnp->daemon->contact;
    if (!file) {
        return ORTE_SUCCESS;
    }
    if (strcmp(file, "-") == 0 || strcmp(file, "+") == 0) {
        channel_send(hnp->config.front,
                     proto_new(FRONT_PLAIN, "cs", (uint8_t) (file[0] == '-' ? 1 : 2), contact));
        return ORTE_SUCCESS;
    }
    char host[256] = "";
    if (hnp->standing && !contact_is_free(file, reason, reason_size)) {
        return ORTE_ERR_FILE_WRITE_FAILURE;
    }
    if (hnp->standing) {
        host_name(host, sizeof(host) - 1);
        strcat(host, "\n");
    }
    int status = write_file(file, contact, host, reason, reason_size);
    hnp->uri_written = status == ORTE_SUCCESS;
    return status;
}

/* Another keelrun may have written its own there since. */
void hnp_remove_uri(struct hnp *hnp)
{
    char text[4096] = "";
    FILE *file = hnp->uri_written ? fopen(hnp->request.uri_file, "re") : NULL;
    if (!file) {
        return;
    }
    bool read = fgets(text, sizeof(text), file) != NULL;
    (void) fclose(file);
    text[strcspn(text, "\n")] = '\0';
    if (read && strcmp(text, hnp->daemon->contact) == 0) {
        (void) unlink(hnp->request.uri_file);
    }
}
