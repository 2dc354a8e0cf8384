/* Why something failed, as text for people, in a buffer of the caller's. */
#ifndef BASE_TEXT_REASON_H
#define BASE_TEXT_REASON_H

#include <keel/types.h>

/* Formats the reason, cut to size bytes, and returns status. */
int reason_set(int status, char *reason, size_t size, const char *format, ...) KEEL_PRINTF(4, 5);

/* What may have come from anybody is to reach the terminal as text: control characters become "?".
 */
void reason_printable(char *text);

#endif
