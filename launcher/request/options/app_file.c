#include <config.h>

#include <launcher/request/options/app_file.h>

#include <base/data/bytes.h>
#include <base/data/strings.h>
#include <launcher/request/nodes/hostfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the text has become so far. */
struct reading {
    struct app_file file;
    const char *at;
    unsigned line;
    size_t count, words_size, lines_size; /* words; bytes of both arrays */
    const char *wrong;
};

static bool add_word(struct reading *reading, const char *text, size_t size)
{
    size_t count = reading->count;
    unsigned *lines = bytes_grow(reading->file.lines, &reading->lines_size,
                                 (count + 1) * sizeof(*lines), 64 * sizeof(*lines), SIZE_MAX / 2);
    reading->file.lines = lines ? lines : reading->file.lines;
    char **words = bytes_grow(reading->file.words, &reading->words_size,
                              (count + 2) * sizeof(*words), 64 * sizeof(*words), SIZE_MAX / 2);
    if (words) {
        reading->file.words = words;
        words[count] = words[count + 1] = NULL;
    }
    char *word = lines && words ? strndup(text, size) : NULL;
    if (word) {
        words[count] = word;
        lines[count] = reading->line;
        reading->count++;
    }
    return word;
}

/* What is between two quotes. */
static bool read_quoted(struct reading *reading, struct bytes *word)
{
    char quote = *reading->at++;
    unsigned begun = reading->line;
    for (; *reading->at && *reading->at != quote; reading->at++) {
        bool escaped = quote == '"' && *reading->at == '\\' &&
                       (reading->at[1] == '"' || reading->at[1] == '\\');
        reading->at += escaped;
        reading->line += *reading->at == '\n';
        if (!bytes_append(word, reading->at, 1)) {
            return false;
        }
    }
    if (!*reading->at) {
        reading->wrong = "a quote has no end";
        reading->line = begun;
        return false;
    }
    reading->at++;
    return true;
}

/* One word, up to a blank or the end of its line. */
static bool read_word(struct reading *reading)
{
    struct bytes word = {0};
    bool right = bytes_reserve(&word, 1);
    while (right && *reading->at && !strchr(" \t\r\n", *reading->at)) {
        if (*reading->at == '\'' || *reading->at == '"') {
            right = read_quoted(reading, &word);
        } else if (*reading->at == '\\' && reading->at[1] == '\n') {
            reading->line++;
            reading->at += 2;
        } else {
            reading->at += *reading->at == '\\' && reading->at[1];
            right = bytes_append(&word, reading->at++, 1);
        }
    }
    right = right && add_word(reading, word.data + word.head, bytes_waiting(&word));
    bytes_fini(&word);
    return right;
}

static bool read_text(struct reading *reading)
{
    bool begun = false; /* this line has a word */
    while (*reading->at) {
        if (*reading->at == '\n') {
            begun = false;
            reading->line++;
            reading->at++;
        } else if (strchr(" \t\r", *reading->at)) {
            reading->at++;
        } else if (reading->at[0] == '\\' && reading->at[1] == '\n') {
            reading->line++;
            reading->at += 2;
        } else if (*reading->at == '#') {
            reading->at += strcspn(reading->at, "\n");
        } else {
            if ((!begun && reading->count > 0 && !add_word(reading, ":", 1)) ||
                !read_word(reading)) {
                return false;
            }
            begun = true;
        }
    }
    return true;
}

int app_file_parse(struct app_file *file, const char *path, const char *text, char *reason,
                   size_t reason_size)
{
    struct reading reading = {.at = text, .line = 1, .wrong = "out of memory"};
    bool right = read_text(&reading);
    reading.file.path = right ? strdup(path) : NULL;
    if (!reading.file.path) {
        snprintf(reason, reason_size, "%s:%u: %s", path, reading.line, reading.wrong);
    } else if (reading.count == 0) {
        snprintf(reason, reason_size, "%s: no program is in it", path);
    } else {
        *file = reading.file;
        return ORTE_SUCCESS;
    }
    app_file_fini(&reading.file);
    return ORTE_ERR_BAD_PARAM;
}

int app_file_read(struct app_file *file, const char *path, char *reason, size_t reason_size)
{
    char *text;
    size_t size;
    int status = hostfile_load(&text, &size, path, true, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = app_file_parse(file, path, text, reason, reason_size);
        free(text);
    }
    return status;
}

unsigned app_file_line(const struct app_file *file, char *const *next)
{
    return file->lines[next > file->words ? next - file->words - 1 : 0];
}

void app_file_fini(struct app_file *file)
{
    free(file->path);
    strings_free(file->words);
    free(file->lines);
    *file = (struct app_file){0};
}
