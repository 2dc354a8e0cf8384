/* Where a standing DVM is: its URI file has the contact string of its HNP, beside whose unix socket
 * it listens for keelruns of this host and this user, and in a second line the host's name. */
#ifndef LAUNCHER_STANDING_CONTACT_H
#define LAUNCHER_STANDING_CONTACT_H

#include <keel/types.h>

/* FILE, or "file:FILE": the file's name, within the text. */
const char *contact_file(const char *text);
/* Pure. The path of the DVM's socket by its contact string, "NUMBER.0;unix:///FOLDER/oob;...".
 * False: there is none in it, or it is too long for size bytes. */
bool contact_socket(const char *contact, char *path, size_t size);
/* Pure. The host by the text of a URI file. False: there is none in it, or it is too long. */
bool contact_host(const char *text, char *host, size_t size);
/* Connects to the DVM of a URI file, which must be this user's alone to write. Returns the
 * descriptor, non-blocking; -1: reason says why not. */
int contact_connect(const char *file, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* May a new DVM write its URI file here? There is none, or an empty one, or that of a DVM of this
 * user and this host which is gone. */
bool contact_is_free(const char *file, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
