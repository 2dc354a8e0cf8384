#include <config.h>

#include <base/host/hostname.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void host_name(char *name, size_t size)
{
    if (gethostname(name, size) < 0) {
        snprintf(name, size, "localhost");
    }
    name[size - 1] = '\0';
}

/* Whether name is whole, or begins it and a dot follows. */
static bool is_short_for(const char *name, const char *whole)
{
    size_t size = strlen(name);
    return size > 0 && strncasecmp(name, whole, size) == 0 && (!whole[size] || whole[size] == '.');
}

/* A short name has no dot, so that addresses are no names of others. */
bool host_same(const char *a, const char *b)
{
    return tolower((unsigned char) *a) == tolower((unsigned char) *b) &&
           (strcasecmp(a, b) == 0 || (!strchr(a, '.') && is_short_for(a, b)) ||
            (!strchr(b, '.') && is_short_for(b, a)));
}

bool host_is_local(const char *name, const char *own)
{
    static const char *const always[] = {"localhost", "127.0.0.1", "::1", "[::1]"};
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
        if (strcasecmp(name, always[i]) == 0) {
            return true;
        }
    }
    return host_same(name, own);
}
