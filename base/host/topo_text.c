/* Topologies as text, so that they can be sent and told apart:
 *
 *   topology 1
 *   quota 0
 *   0 + 0 0 0 0 0 0
 *   4 - 0 0 0 - 0 0
 *
 * a line for each hardware thread: the kernel's number, "+" for one that may be used, and its
 * objects from the core to the package, "-" for none. */
#include <config.h>

#include <base/data/crypto.h>
#include <base/host/topo_module.h>
#include <base/text/number.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER "topology 1\nquota "

enum { SOURCE_SIZE_MAX = 4 << 20 };

bool topo_list_parse(const char *text, bool *flags, uint32_t count, const char **wrong)
{
    for (;;) {
        uint32_t first, last;
        const char *end = count > 0 ? range_read(text, count - 1, &first, &last) : NULL;
        *wrong = text;
        if (!end) {
            return false;
        }
        for (uint32_t i = first; i <= last; i++) {
            flags[i] = true;
        }
        if (!*end) {
            return true;
        }
        if (*end != ',') {
            *wrong = end;
            return false;
        }
        text = end + 1;
    }
}

/* The numbers of a description's levels, multiplied; attributes stand in parentheses. */
static uint64_t count_described(const char *source)
{
    uint64_t product = 1;
    for (const char *at = source; *at && product <= TOPO_DESCRIBED_MAX; at++) {
        uint32_t number = UINT32_MAX; /* of one that is larger, too */
        if (*at == '(') {
            at += strcspn(at, ")");
            if (!*at) {
                break;
            }
        } else if ((at == source || strchr(" :", at[-1])) && isdigit((unsigned char) *at)) {
            (void) number_read(at, SIZE_MAX, UINT32_MAX, &number);
            product *= number;
        }
    }
    return product;
}

int topo_source_check(const char *source, char *reason, size_t size)
{
    struct stat st;
    const char *wrong = NULL;
    char many[64];
    if (topo_is_file(source)) {
        wrong = stat(source, &st) < 0          ? strerror(errno)
                : !S_ISREG(st.st_mode)         ? "not a regular file"
                : st.st_size > SOURCE_SIZE_MAX ? "larger than 4 MiB"
                                               : NULL;
    } else if (count_described(source) > TOPO_DESCRIBED_MAX) {
        snprintf(many, sizeof(many), "more than %d hardware threads", TOPO_DESCRIBED_MAX);
        wrong = many;
    }
    if (wrong) {
        snprintf(reason, size, "'%s': %s", source, wrong);
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

void topo_fini(struct topo *topo)
{
    free(topo->threads);
    *topo = (struct topo){0};
}

char *topo_print(const struct topo *topo)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    fprintf(out, HEADER "%u\n", topo->quota);
    for (uint32_t i = 0; i < topo->count; i++) {
        const struct topo_thread *thread = &topo->threads[i];
        fprintf(out, "%u %c", thread->os, thread->usable ? '+' : '-');
        for (unsigned level = TOPO_CORE; level < TOPO_LEVELS; level++) {
            if (thread->object[level] == TOPO_NONE) {
                fputs(" -", out);
            } else {
                fprintf(out, " %u", thread->object[level]);
            }
        }
        fputc('\n', out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* A number below TOPO_CPUS_MAX and the character behind it. */
static bool parse_number(const char **text, char after, uint32_t *number)
{
    const char *end = number_read(*text, SIZE_MAX, TOPO_CPUS_MAX - 1, number);
    if (!end || *end != after) {
        return false;
    }
    *text = end + 1;
    return true;
}

static bool parse_thread(const char **text, uint32_t index, struct topo_thread *thread)
{
    if (!parse_number(text, ' ', &thread->os) || (**text != '+' && **text != '-') ||
        (*text)[1] != ' ') {
        return false;
    }
    thread->usable = **text == '+';
    *text += 2;
    thread->object[TOPO_HWTHREAD] = index;
    for (unsigned level = TOPO_CORE; level < TOPO_LEVELS; level++) {
        char after = level + 1 < TOPO_LEVELS ? ' ' : '\n';
        bool needed = level == TOPO_CORE || level == TOPO_PACKAGE;
        if (!needed && **text == '-' && (*text)[1] == after) {
            thread->object[level] = TOPO_NONE;
            *text += 2;
        } else if (!parse_number(text, after, &thread->object[level])) {
            return false;
        }
    }
    return true;
}

static bool parse_threads(const char *text, struct topo *topo)
{
    bool seen[TOPO_CPUS_MAX] = {false}, right = true;
    for (; *text; topo->count++) {
        struct topo_thread *thread = &topo->threads[topo->count];
        if (!parse_thread(&text, topo->count, thread) || seen[thread->os]) {
            return false;
        }
        seen[thread->os] = true;
    }
    for (uint32_t i = 0; i < topo->count; i++) { /* no more objects than threads */
        for (unsigned level = TOPO_CORE; level < TOPO_LEVELS; level++) {
            uint32_t object = topo->threads[i].object[level];
            right &= object == TOPO_NONE || object < topo->count;
        }
    }
    return right && topo->count > 0;
}

int topo_parse(struct topo *out, const char *text)
{
    struct topo topo = {0};
    uint32_t lines = 0;
    if (strncmp(text, HEADER, strlen(HEADER)) != 0) {
        return ORTE_ERR_BAD_PARAM;
    }
    text += strlen(HEADER);
    if (!parse_number(&text, '\n', &topo.quota)) {
        return ORTE_ERR_BAD_PARAM;
    }
    for (const char *at = text; *at; at++) {
        lines += *at == '\n';
    }
    if (lines == 0 || lines > TOPO_CPUS_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    topo.threads = calloc((size_t) lines + 1, sizeof(*topo.threads));
    if (!topo.threads) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (!parse_threads(text, &topo)) {
        topo_fini(&topo);
        return ORTE_ERR_BAD_PARAM;
    }
    *out = topo;
    return ORTE_SUCCESS;
}

void topo_hash(char hash[TOPO_HASH_TEXT], const char *text)
{
    struct crypto_hash state;
    uint8_t digest[32];
    crypto_hash_begin(&state);
    crypto_hash_update(&state, text, strlen(text));
    crypto_hash_end(&state, digest);
    crypto_to_hex(hash, digest, (TOPO_HASH_TEXT - 1) / 2);
}
