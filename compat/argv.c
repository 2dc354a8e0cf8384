#include <config.h>

#include <opal/util/argv.h>
#include <stdlib.h>
#include <string.h>

int opal_argv_count(char **argv)
{
    int count = 0;
    while (argv && argv[count]) {
        count++;
    }
    return count;
}

/* Adds the first length characters of a text. */
static int append(char ***argv, const char *text, size_t length)
{
    size_t count = (size_t) opal_argv_count(*argv);
    char *copy = strndup(text, length);
    char **grown = copy ? realloc(*argv, (count + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(copy);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    grown[count] = copy;
    grown[count + 1] = NULL;
    *argv = grown;
    return OPAL_SUCCESS;
}

int opal_argv_append_nosize(char ***argv, const char *arg)
{
    return append(argv, arg, strlen(arg));
}

int opal_argv_append(int *argc, char ***argv, const char *arg)
{
    int status = opal_argv_append_nosize(argv, arg);
    if (status == OPAL_SUCCESS && argc) {
        *argc = opal_argv_count(*argv);
    }
    return status;
}

char **opal_argv_split(const char *text, int delimiter)
{
    char **argv = NULL;
    char end[2] = {(char) delimiter, 0};
    for (; text && *text; text += *text != 0) {
        size_t length = strcspn(text, end);
        if (length > 0 && append(&argv, text, length) != OPAL_SUCCESS) {
            opal_argv_free(argv);
            return NULL;
        }
        text += length;
    }
    return argv;
}

char *opal_argv_join(char **argv, int delimiter)
{
    size_t size = 1;
    for (char **one = argv; one && *one; one++) {
        size += strlen(*one) + 1;
    }
    char *text = malloc(size);
    if (!text) {
        return NULL;
    }
    char *at = text;
    for (char **one = argv; one && *one; one++) {
        if (at > text) {
            *at++ = (char) delimiter;
        }
        at = stpcpy(at, *one);
    }
    *at = 0;
    return text;
}

char **opal_argv_copy(char **argv)
{
    char **copy = NULL;
    for (char **one = argv; one && *one; one++) {
        if (opal_argv_append_nosize(&copy, *one) != OPAL_SUCCESS) {
            opal_argv_free(copy);
            return NULL;
        }
    }
    return copy;
}

size_t opal_argv_len(char **argv)
{
    size_t length = argv ? sizeof(*argv) : 0;
    for (char **one = argv; one && *one; one++) {
        length += strlen(*one) + 1 + sizeof(*one);
    }
    return length;
}

int opal_argv_delete(int *argc, char ***argv, int start, int count)
{
    int total = argv ? opal_argv_count(*argv) : 0;
    if (count == 0 || start >= total) {
        return OPAL_SUCCESS;
    }
    if (start < 0 || count < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    int removed = count < total - start ? count : total - start;
    char **first = *argv + start;
    for (int i = 0; i < removed; i++) {
        free(first[i]);
    }
    memmove(first, first + removed, (size_t) (total - start - removed + 1) * sizeof(*first));
    if (argc) {
        *argc = total - removed;
    }
    return OPAL_SUCCESS;
}

int opal_argv_insert(char ***target, int start, char **source)
{
    if (!target || !*target || start < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    size_t total = (size_t) opal_argv_count(*target), added = (size_t) opal_argv_count(source);
    size_t at = (size_t) start < total ? (size_t) start : total;
    char **copies = opal_argv_copy(source);
    char **grown = copies ? realloc(*target, (total + added + 1) * sizeof(*grown)) : NULL;
    if (grown) {
        *target = grown;
        memmove(grown + at + added, grown + at, (total - at + 1) * sizeof(*grown));
        memcpy(grown + at, copies, added * sizeof(*grown));
        free(copies);
        return OPAL_SUCCESS;
    }
    opal_argv_free(copies);
    return added > 0 ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

void opal_argv_free(char **argv)
{
    for (char **one = argv; one && *one; one++) {
        free(*one);
    }
    free(argv);
}
