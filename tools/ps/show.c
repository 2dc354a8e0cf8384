#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tools/ps/show.h>

void shown_add_node(struct shown *shown, const struct keel_node_state *node)
{
    char **longer = realloc(shown->nodes, (shown->node_count + 1) * sizeof(*longer));
    if (longer) {
        shown->nodes = longer;
        longer[shown->node_count++] = strdup(node->name);
    }
}

const char *shown_node(const struct shown *shown, uint32_t number)
{
    return number < shown->node_count && shown->nodes[number] ? shown->nodes[number] : "?";
}

void shown_fini(struct shown *shown)
{
    for (size_t i = 0; i < shown->node_count; i++) {
        free(shown->nodes[i]);
    }
    free(shown->nodes);
}
