#include <config.h>

#include <launcher/map/view.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- making --- */

static uint32_t object_of(const struct topo *topo, uint32_t thread, unsigned level)
{
    return level == LEVEL_NODE ? 0 : topo->threads[thread].object[level];
}

/* One more than the largest logical number of a level. */
static uint32_t numbers_of(const struct topo *topo, unsigned level)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t object = object_of(topo, i, level);
        most = object != TOPO_NONE && object >= most ? object + 1 : most;
    }
    return most;
}

/* The objects in logical order: usable is by thread. */
static int level_make(struct view_level *made, const struct topo *topo, unsigned level,
                      const bool *usable)
{
    uint32_t numbers = numbers_of(topo, level);
    made->number = calloc(numbers + 1, sizeof(uint32_t));
    made->size = calloc(numbers + 1, sizeof(uint32_t));
    made->of = malloc((topo->count + 1) * sizeof(uint32_t));
    bool *seen = calloc(numbers + 1, sizeof(*seen));
    if (!made->number || !made->size || !made->of || !seen) {
        free(seen);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t object = object_of(topo, i, level);
        if (usable[i] && object != TOPO_NONE) {
            seen[object] = true;
        }
    }
    uint32_t *index = made->size; /* until sizes are counted: by number */
    for (uint32_t number = 0; number < numbers; number++) {
        if (seen[number]) {
            index[number] = made->count;
            made->number[made->count++] = number;
        }
    }
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t object = object_of(topo, i, level);
        made->of[i] = usable[i] && object != TOPO_NONE ? index[object] : TOPO_NONE;
    }
    memset(made->size, 0, (numbers + 1) * sizeof(uint32_t));
    free(seen);
    return ORTE_SUCCESS;
}

/* A processor counts where its first usable thread is; a thread is one processor of itself. */
static int count_processors(struct view *view)
{
    const struct view_level *processors = &view->levels[view->processors];
    bool *counted = calloc(processors->count + 1, sizeof(*counted));
    if (!counted) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < view->topo->count; i++) {
        uint32_t processor = processors->of[i];
        bool first = processor != TOPO_NONE && !counted[processor];
        for (unsigned level = 0; level <= LEVEL_NODE; level++) {
            uint32_t object = view->levels[level].of[i];
            if (object != TOPO_NONE && (first || level == TOPO_HWTHREAD)) {
                view->levels[level].size[object]++;
            }
        }
        if (first) {
            counted[processor] = true;
        }
    }
    free(counted);
    return ORTE_SUCCESS;
}

/* Which threads may be used: by thread. */
static int find_usable(bool *usable, const struct topo *topo, const char *cpu_set, unsigned level,
                       char *reason, size_t reason_size)
{
    uint32_t numbers = numbers_of(topo, level);
    bool *chosen = calloc(numbers + 1, sizeof(*chosen)), any = false;
    const char *wrong;
    if (!chosen) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (cpu_set && !topo_list_parse(cpu_set, chosen, numbers, &wrong)) {
        snprintf(reason, reason_size,
                 "--cpu-set %s: '%s': numbers of %ss from 0 to %u are needed, as in 0-3,8", cpu_set,
                 wrong, level_name(level), numbers ? numbers - 1 : 0);
        free(chosen);
        return ORTE_ERR_BAD_PARAM;
    }
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t object = object_of(topo, i, level);
        usable[i] = topo->threads[i].usable && object != TOPO_NONE && (!cpu_set || chosen[object]);
        any |= usable[i];
    }
    free(chosen);
    if (!any) {
        snprintf(reason, reason_size, "no processor%s%s may be used there",
                 cpu_set ? " of --cpu-set " : "", cpu_set ? cpu_set : "");
        return ORTE_ERR_NOT_FOUND;
    }
    return ORTE_SUCCESS;
}

int view_make(struct view *out, const struct topo *topo, const char *cpu_set, bool hwthreads,
              char *reason, size_t reason_size)
{
    struct view view = {.topo = topo, .processors = hwthreads ? TOPO_HWTHREAD : TOPO_CORE};
    bool *usable = calloc(topo->count + 1, sizeof(*usable));
    int status = usable ? find_usable(usable, topo, cpu_set, view.processors, reason, reason_size)
                        : ORTE_ERR_OUT_OF_RESOURCE;
    for (unsigned level = 0; status == ORTE_SUCCESS && level <= LEVEL_NODE; level++) {
        status = level_make(&view.levels[level], topo, level, usable);
    }
    if (status == ORTE_SUCCESS) {
        status = count_processors(&view);
    }
    free(usable);
    if (status != ORTE_SUCCESS) {
        view_fini(&view);
        return status;
    }
    *out = view;
    return ORTE_SUCCESS;
}

void view_fini(struct view *view)
{
    for (unsigned level = 0; level <= LEVEL_NODE; level++) {
        free(view->levels[level].number);
        free(view->levels[level].size);
        free(view->levels[level].of);
    }
    *view = (struct view){0};
}

/* --- looking --- */

uint32_t view_container(const struct view *view, unsigned level, uint32_t index, unsigned outer)
{
    uint32_t found = TOPO_NONE;
    for (uint32_t i = 0; i < view->topo->count; i++) {
        if (view->levels[level].of[i] != index) {
            continue;
        }
        uint32_t object = view->levels[outer].of[i];
        if (object == TOPO_NONE || (found != TOPO_NONE && found != object)) {
            return TOPO_NONE;
        }
        found = object;
    }
    return found;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *) a, second = *(const uint32_t *) b;
    return (first > second) - (first < second);
}

/* Numbers in ascending order as ranges. */
static char *print_ranges(const uint32_t *numbers, uint32_t count)
{
    size_t size = (size_t) count * 12 + 1, used = 0;
    char *text = calloc(size, 1);
    for (uint32_t i = 0; text && i < count; i++) {
        uint32_t first = numbers[i];
        while (i + 1 < count && numbers[i + 1] == numbers[i] + 1) {
            i++;
        }
        used += (size_t) snprintf(text + used, size - used, "%s%u", used ? "," : "", first);
        if (numbers[i] > first) {
            used += (size_t) snprintf(text + used, size - used, "-%u", numbers[i]);
        }
    }
    return text;
}

char *view_cpus(const struct view *view, unsigned level, const bool *chosen)
{
    uint32_t *numbers = malloc((view->topo->count + 1) * sizeof(*numbers)), count = 0;
    for (uint32_t i = 0; numbers && i < view->topo->count; i++) {
        uint32_t object = view->levels[level].of[i];
        if (object != TOPO_NONE && chosen[object]) {
            numbers[count++] = view->topo->threads[i].os;
        }
    }
    if (!numbers) {
        return NULL;
    }
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
    char *text = print_ranges(numbers, count);
    free(numbers);
    return text;
}
