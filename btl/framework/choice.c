#include <config.h>

#include <base/text/words.h>
#include <btl/modules/entry.h>
#include <stdio.h>
#include <string.h>

static const struct btl_component *find(struct word word)
{
    for (size_t i = 0; btl_components[i]; i++) {
        if (word_is(word, btl_component_name(&btl_components[i]->component))) {
            return btl_components[i];
        }
    }
    return NULL;
}

static void list_known(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; btl_components[i]; i++) {
        if (btl_components[i]->lacks) {
            continue;
        }
        int added = snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                             btl_component_name(&btl_components[i]->component));
        if (added < 0 || (size_t) added >= size - used) {
            return;
        }
        used += (size_t) added;
    }
}

static bool stands_before(const char *list, struct word word)
{
    while (list && list < word.at) {
        struct word other = word_next(&list);
        if (other.at < word.at && other.length == word.length &&
            memcmp(other.at, word.at, word.length) == 0) {
            return true;
        }
    }
    return false;
}

static int check_word(const char *list, struct word word, bool excludes, char *why, size_t size)
{
    const struct btl_component *entry = find(word);
    char known[128];
    int shown = word.length < 64 ? (int) word.length : 64;
    if (word.length == 0) {
        snprintf(why, size, "a name is empty");
    } else if (word.at[0] == '^') {
        snprintf(why, size, "a ^ may stand before the whole list only");
    } else if (!entry) {
        list_known(known, sizeof(known));
        snprintf(why, size, "no component \"%.*s\"; there are %s", shown, word.at, known);
    } else if (entry->lacks && !excludes) { /* to leave it out is no mistake */
        snprintf(why, size, "%.*s needs %s, which this build lacks", shown, word.at, entry->lacks);
    } else if (stands_before(list, word)) {
        snprintf(why, size, "%.*s stands there twice", shown, word.at);
    } else {
        return ORTE_SUCCESS;
    }
    return ORTE_ERR_BAD_PARAM;
}

static bool opens_any(const char *choice)
{
    bool any = false;
    for (size_t i = 0; btl_components[i]; i++) {
        any = any || btl_choice_opens(choice, btl_components[i]);
    }
    return any;
}

static int check(const char *choice, char *why, size_t size)
{
    bool excludes = choice[0] == '^';
    const char *first = choice + excludes, *list = first;
    while (list) {
        struct word word = word_next(&list);
        int status = check_word(first, word, excludes, why, size);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    if (!opens_any(choice)) {
        snprintf(why, size, "no component is left");
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

int btl_choice_check(const char *choice, char *reason, size_t size)
{
    char why[256];
    if (choice[0] == '\0' || check(choice, why, sizeof(why)) == ORTE_SUCCESS) {
        return ORTE_SUCCESS;
    }
    snprintf(reason, size, "parameter btl = \"%.64s%s\": %s", choice,
             strlen(choice) > 64 ? "..." : "", why);
    return ORTE_ERR_BAD_PARAM;
}

bool btl_choice_opens(const char *choice, const struct btl_component *entry)
{
    if (choice[0] == '^') {
        return !entry->named_only && !words_have(choice + 1, btl_component_name(&entry->component));
    }
    return choice[0] == '\0' ? !entry->named_only
                             : words_have(choice, btl_component_name(&entry->component));
}
