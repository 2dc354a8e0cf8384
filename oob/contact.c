/* Contact strings: a pure parser and its printer. */
#include <config.h>

#include <oob/contact.h>

#include <base/text/number.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIELD_TEXT_MAX 128 /* the longest address: a unix path */

/* What is left of the text, and where errors are told. */
struct parser {
    const char *text; /* the whole */
    const char *at;
    char *reason;
    size_t reason_size;
};

static int KEEL_PRINTF(2, 3) fail(const struct parser *parser, const char *format, ...)
{
    char what[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(parser->reason, parser->reason_size, "contact string, character %zu: %s",
             (size_t) (parser->at - parser->text) + 1, what);
    return ORTE_ERR_BAD_PARAM;
}

/* A decimal number without sign or leading zeros; false when there is none in the range. */
static bool parse_number(const char **at, uint32_t max, uint32_t *number)
{
    const char *end = number_read(*at, SIZE_MAX, max, number);
    if (!end || (**at == '0' && end - *at > 1)) {
        return false;
    }
    *at = end;
    return true;
}

static int parse_name(struct parser *parser, orte_process_name_t *name)
{
    /* The two highest numbers are the wildcard and the invalid name. */
    if (!parse_number(&parser->at, ORTE_JOBID_WILDCARD - 1, &name->jobid)) {
        return fail(parser, "a job number is expected");
    }
    if (*parser->at != '.') {
        return fail(parser, "a dot is expected after the job number");
    }
    parser->at++;
    if (!parse_number(&parser->at, ORTE_VPID_WILDCARD - 1, &name->vpid)) {
        return fail(parser, "a vpid is expected");
    }
    return ORTE_SUCCESS;
}

static int parse_unix(const struct parser *parser, const char *path, struct sock_addr *addr)
{
    if (path[0] != '/') {
        return fail(parser, "a unix path must begin with /");
    }
    if (sock_addr_unix(addr, path) < 0) {
        return fail(parser, "the unix path is too long");
    }
    return ORTE_SUCCESS;
}

/* HOST:PORT with the host of the family; the text is cut in place. */
static int parse_ip(const struct parser *parser, int family, char *text, struct sock_addr *addr)
{
    char *colon = strrchr(text, ':');
    uint32_t port = 0;
    const char *digits = colon ? colon + 1 : "";
    if (!parse_number(&digits, UINT16_MAX, &port) || *digits || port == 0) {
        return fail(parser, "a port from 1 to 65535 is expected at the address's end");
    }
    *colon = '\0';
    if (family == AF_INET6) {
        if (*text != '[' || colon[-1] != ']') {
            return fail(parser, "an IPv6 address stands in brackets");
        }
        colon[-1] = '\0';
        text++;
    }
    if (sock_addr_ip(addr, family, text, (uint16_t) port) < 0) {
        return fail(parser, "not a numeric IP%s address", family == AF_INET ? "v4" : "v6");
    }
    return ORTE_SUCCESS;
}

static char *after_prefix(char *text, const char *prefix)
{
    size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

/* One address: from the character behind the semicolon to the next semicolon or the end. */
static int parse_address(struct parser *parser, struct sock_addr *addr)
{
    char field[FIELD_TEXT_MAX];
    size_t size = strcspn(parser->at, ";");
    if (size >= sizeof field) {
        return fail(parser, "the address is too long");
    }
    memcpy(field, parser->at, size);
    field[size] = '\0';

    char *rest;
    int status;
    if ((rest = after_prefix(field, "unix://"))) {
        status = parse_unix(parser, rest, addr);
    } else if ((rest = after_prefix(field, "tcp://"))) {
        status = parse_ip(parser, AF_INET, rest, addr);
    } else if ((rest = after_prefix(field, "tcp6://"))) {
        status = parse_ip(parser, AF_INET6, rest, addr);
    } else {
        status = fail(parser, "unix://, tcp:// or tcp6:// is expected");
    }
    parser->at += status == ORTE_SUCCESS ? size : 0;
    return status;
}

/* Length and alphabet: printable ASCII. */
static int check_text(struct parser *parser)
{
    if (!parser->text) {
        parser->text = parser->at = "";
        return fail(parser, "there is none");
    }
    for (; *parser->at; parser->at++) {
        if (*parser->at < 0x20 || *parser->at > 0x7e) {
            return fail(parser, "only printable ASCII is allowed");
        }
        if (parser->at - parser->text == CONTACT_TEXT_MAX) {
            return fail(parser, "longer than %d characters", CONTACT_TEXT_MAX);
        }
    }
    parser->at = parser->text;
    return ORTE_SUCCESS;
}

int contact_parse(struct contact *contact, const char *text, char *reason, size_t reason_size)
{
    struct parser parser = {text, text, reason, reason_size};
    struct contact parsed = {.count = 0};
    int status = check_text(&parser);
    if (status == ORTE_SUCCESS) {
        status = parse_name(&parser, &parsed.name);
    }
    while (status == ORTE_SUCCESS && *parser.at) {
        if (*parser.at != ';') {
            return fail(&parser, "a semicolon is expected");
        }
        if (parsed.count == CONTACT_ADDRS_MAX) {
            return fail(&parser, "more than %d addresses", CONTACT_ADDRS_MAX);
        }
        parser.at++;
        status = parse_address(&parser, &parsed.addrs[parsed.count++]);
    }
    if (status == ORTE_SUCCESS && parsed.count == 0) {
        return fail(&parser, "at least one address is expected");
    }
    if (status == ORTE_SUCCESS) {
        *contact = parsed;
    }
    return status;
}

char *contact_print(const struct contact *contact)
{
    char text[CONTACT_TEXT_MAX + 1];
    int used = snprintf(text, sizeof text, "%u.%u", contact->name.jobid, contact->name.vpid);
    for (size_t i = 0; i < contact->count; i++) {
        char addr[FIELD_TEXT_MAX];
        sock_addr_print(&contact->addrs[i], addr, sizeof addr);
        used += snprintf(text + used, sizeof text - (size_t) used, ";%s", addr);
        if ((size_t) used >= sizeof text) {
            return NULL;
        }
    }
    return strdup(text);
}
