/* All parameters of this program or library, as keel_params_each shows them. The linker puts what
 * PARAM_ROWS names side by side. */
#include <config.h>

#include <base/settings/param.h>
#include <keel/info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))
/* Named by the linker, of each program and library its own. */
extern const struct param_rows *const __start_keel_params[] HIDDEN;
extern const struct param_rows *const __stop_keel_params[] HIDDEN;

struct listed {
    const char *room;
    struct param *param;
};

/* From below upwards; one that is not named here comes last. */
static int level_of(const char *room)
{
    static const char *const rooms[] = {"base", "oob", "rml", "btl", "ptl", "pml", "bootstrap"};
    int level = 0;
    while (level < (int) (sizeof(rooms) / sizeof(*rooms)) && strcmp(rooms[level], room) != 0) {
        level++;
    }
    return level;
}

static int compare(const void *one, const void *other)
{
    const struct listed *a = one, *b = other;
    int levels = level_of(a->room) - level_of(b->room);
    return levels != 0 ? levels : strcmp(a->param->name, b->param->name);
}

/* malloc'd; NULL: no memory. */
static struct listed *collect(size_t *count)
{
    size_t room = 0, used = 0;
    for (const struct param_rows *const *at = __start_keel_params; at < __stop_keel_params; at++) {
        room += (*at)->count;
    }
    struct listed *list = calloc(room + 1, sizeof(*list));
    for (const struct param_rows *const *at = __start_keel_params; list && at < __stop_keel_params;
         at++) {
        for (size_t i = 0; i < (*at)->count; i++) {
            list[used++] = (struct listed){(*at)->room, &(*at)->rows[i]};
        }
    }
    *count = used;
    return list;
}

/* As a user would write it. */
static void print_number(char text[32], const struct param *param, int64_t number)
{
    static const char units[] = "kmg";
    int unit = 0;
    while (param->type == PARAM_TYPE_SIZE && unit < 3 && number != 0 && number % 1024 == 0) {
        number /= 1024;
        unit++;
    }
    snprintf(text, 32, "%lld%.1s", (long long) number, unit ? &units[unit - 1] : "");
}

static void print_range(char *text, size_t size, const struct param *param)
{
    char least[32], most[32];
    size_t used = 0;
    text[0] = '\0';
    if (param->type == PARAM_TYPE_ENUM) {
        for (size_t i = 0; param->choices[i] && used < size; i++) {
            used += (size_t) snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                      param->choices[i]);
        }
    } else if (param->min != 0 || param->max != 0) {
        print_number(least, param, param->min);
        print_number(most, param, param->max);
        snprintf(text, size, "%s to %s", least, most);
    }
}

static void show(const struct listed *listed, keel_param_fn visit, void *arg)
{
    static const char *const types[] = {"int", "size", "bool", "string", "enum"};
    struct param *param = listed->param;
    struct param_state state;
    char range[256];
    param_inspect(param, &state);
    print_range(range, sizeof(range), param);
    struct keel_param shown = {
        .name = param->name,
        .layer = listed->room,
        .type = types[param->type],
        .default_text = param->default_text,
        .value = state.value,
        .source = state.source,
        .complaint = *state.complaint ? state.complaint : NULL,
        .range = range,
        .unit = param->unit ? param->unit : "",
        .help = param->help,
    };
    visit(arg, &shown);
}

int param_demand(const char *prefix, bool (*wanted)(const char *name, const void *arg),
                 const void *arg, char *reason, size_t size)
{
    char complaint[512];
    for (const struct param_rows *const *at = __start_keel_params; at < __stop_keel_params; at++) {
        for (struct param *row = (*at)->rows; row < (*at)->rows + (*at)->count; row++) {
            if (strncmp(row->name, prefix, strlen(prefix)) == 0 &&
                (!wanted || wanted(row->name, arg)) &&
                !param_fits(row, complaint, sizeof(complaint))) {
                snprintf(reason, size, "%s", complaint);
                return ORTE_ERR_BAD_PARAM;
            }
        }
    }
    return ORTE_SUCCESS;
}

void keel_params_each(keel_param_fn visit, void *arg)
{
    size_t count;
    struct listed *list = collect(&count);
    if (list) {
        qsort(list, count, sizeof(*list), compare);
        for (size_t i = 0; i < count; i++) {
            show(&list[i], visit, arg);
        }
    }
    free(list);
}
