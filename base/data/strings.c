#include <config.h>

#include <base/data/strings.h>

#include <stdlib.h>
#include <string.h>

size_t strings_count(char *const *strings)
{
    size_t count = 0;
    while (strings && strings[count]) {
        count++;
    }
    return count;
}

char **strings_copy(char *const *strings)
{
    size_t count = strings_count(strings);
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            strings_free(copy);
            return NULL;
        }
    }
    return copy;
}

bool strings_add(char ***strings, char *string)
{
    size_t count = strings_count(*strings);
    char **grown = string ? realloc(*strings, (count + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(string);
        return false;
    }
    grown[count] = string;
    grown[count + 1] = NULL;
    *strings = grown;
    return true;
}

bool strings_set(char ***strings, char *assignment)
{
    size_t name_size = assignment ? strcspn(assignment, "=") + 1 : 0;
    for (size_t i = 0; assignment && *strings && (*strings)[i]; i++) {
        const char *old = (*strings)[i];
        if (old[0] == assignment[0] && strncmp(old, assignment, name_size) == 0) {
            free((*strings)[i]);
            (*strings)[i] = assignment;
            return true;
        }
    }
    return strings_add(strings, assignment);
}

const char *strings_value(char *const *strings, const char *name)
{
    size_t size = strlen(name);
    for (; strings && *strings; strings++) {
        if (strncmp(*strings, name, size) == 0 && (*strings)[size] == '=') {
            return *strings + size + 1;
        }
    }
    return NULL;
}

void strings_free(char **strings)
{
    for (size_t i = 0; strings && strings[i]; i++) {
        free(strings[i]);
    }
    free(strings);
}
