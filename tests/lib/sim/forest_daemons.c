#include <config.h>

#include <stdlib.h>
#include <tests/lib/sim/forest_state.h>

enum { REACH_US = 8000, REFUSED_US = 60000, LATE_US = 5000000 };

struct item {
    struct rml_cast_item item;
    struct forest_cast what;
};

/* --- broadcasts --- */

static void drop_items(struct list *items)
{
    for (struct list *link; (link = list_pop(items));) {
        free(container_of(link, struct item, item.link));
    }
}

static void advance(struct forest *forest, int at)
{
    struct rml_cast *cast = &forest->node[at].cast;
    struct list over = LIST_INIT(over);
    struct rml_cast_item *due;
    uint32_t child;
    uint64_t done;
    while ((due = rml_cast_due(cast, &child))) {
        forest_say(forest, at, (int) child,
                   &(struct forest_message){.word = DOWN,
                                            .number = due->number,
                                            .cast = container_of(due, struct item, item)->what});
        if (forest->without == FOREST_NO_KEEP) {
            (void) rml_cast_raise(cast, child, due->number);
        }
    }
    rml_cast_prune(cast, &over);
    drop_items(&over);
    if (at > 0 && rml_cast_must_tell(cast, &done)) {
        forest_say(forest, at, forest_parent(forest, at),
                   &(struct forest_message){.word = DONE, .number = done});
    }
}

static void set_children(struct forest *forest, int at, uint32_t lost)
{
    struct forest_node *node = &forest->node[at];
    uint32_t children[SIM_NODES_MAX];
    uint32_t count = rml_tree_children(&node->tree, (uint32_t) at, children, SIM_NODES_MAX);
    if (rml_cast_set_children(&node->cast, children, count, lost) != ORTE_SUCCESS) {
        abort();
    }
}

/* As rml_lose_daemon does it. */
static void lose(struct forest *forest, int at, int lost)
{
    if (lost == at) {
        forest_kill(forest, at); /* it is admitted nowhere */
    } else if (rml_tree_lose(&forest->node[at].tree, (uint32_t) lost) == ORTE_SUCCESS) {
        forest_forget(forest, at, lost);
        set_children(forest, at, (uint32_t) lost);
        advance(forest, at);
    }
}

static void deliver(struct forest *forest, int at, uint64_t number, const struct forest_cast *what)
{
    struct forest_node *node = &forest->node[at];
    if (at == 0) {
        forest->order[number] = *what;
    }
    const struct forest_cast *right = &forest->order[number];
    if (what->origin != right->origin || what->n != right->n || what->lost != right->lost) {
        forest_violated(forest, "%d got another broadcast than the root as number %llu", at,
                        (unsigned long long) number);
    }
    if (what->lost >= 0) {
        lose(forest, at, what->lost);
    } else if (what->n != node->casts_got[what->origin]++) {
        forest_violated(forest, "%d got broadcast %u of %d out of order", at, what->n,
                        what->origin);
    }
}

static void take(struct forest *forest, int at, const struct forest_cast *what)
{
    struct rml_cast *cast = &forest->node[at].cast;
    if (cast->last + 1 >= FOREST_CASTS_MAX + SIM_NODES_MAX) {
        forest_violated(forest, "%d got more broadcasts than there were", at);
        return;
    }
    struct item *item = calloc(1, sizeof(*item));
    if (!item) {
        abort();
    }
    list_init(&item->item.link);
    item->what = *what;
    rml_cast_take(cast, &item->item);
    uint64_t number = cast->last;
    advance(forest, at);
    deliver(forest, at, number, what);
}

void forest_broadcast(struct forest *forest, int from)
{
    struct forest_node *node = &forest->node[from];
    struct forest_message up = {.word = UP,
                                .cast = {.origin = from, .n = node->cast_count++, .lost = -1}};
    forest->report->casts++;
    if (from == 0) {
        take(forest, 0, &up.cast);
    } else {
        forest_say(forest, from, 0, &up);
    }
}

static void hear_down(struct forest *forest, int at, const struct forest_message *message)
{
    const struct rml_cast *cast = &forest->node[at].cast;
    if (rml_cast_is_next(cast, message->number) || forest->without == FOREST_NO_NUMBER) {
        take(forest, at, &message->cast);
    } else if (message->number > cast->last) {
        forest_violated(forest, "%d misses what came before %llu", at,
                        (unsigned long long) message->number);
    }
}

static void hear_join(struct forest *forest, int at, const struct forest_message *message)
{
    struct forest_node *node = &forest->node[at];
    if (rml_tree_is_lost(&node->tree, message->from)) {
        return;
    }
    int status = rml_cast_join(&node->cast, message->from, message->number, message->other);
    if (status != ORTE_SUCCESS) {
        forest_violated(forest, "%d cannot go on for %d behind %llu", at, message->from,
                        (unsigned long long) message->number);
    }
    advance(forest, at);
}

/* --- the end of a daemon --- */

void forest_kill(struct forest *forest, int victim)
{
    struct forest_node *node = &forest->node[victim];
    bool relay = false;
    if (!node->alive) {
        return;
    }
    node->alive = false;
    forest->report->deaths++;
    for (int i = 0; i < forest->count; i++) {
        struct sim_way *last_words = sim_way(&forest->network, victim, i);
        relay = relay || (forest_parent(forest, i) == victim && forest->node[i].alive);
        if (i == victim || last_words->state == SIM_DOWN) {
            continue;
        }
        /* what it has sent may still come, even after its end was noticed */
        last_words->cut = last_words->cut || forest_below(forest, 2);
        forest_break(forest, victim, i);
    }
    forest->report->relays += relay;
}

/* --- the repair: the launcher's part --- */

static void root_lose(struct forest *forest, int lost)
{
    const struct rml_tree *tree = &forest->node[0].tree;
    if (rml_tree_is_lost(tree, (uint32_t) lost)) {
        return;
    }
    forest->node[lost].late = false;
    for (int i = 1; i < forest->count; i++) {
        if (!rml_tree_is_lost(tree, (uint32_t) i) &&
            (int) rml_tree_parent(tree, (uint32_t) i) == lost) {
            forest->node[i].late = true;
            forest_later(forest, LATE_US, ON_LATE, i, 0);
        }
    }
    lose(forest, 0, lost);
    take(forest, 0, &(struct forest_cast){.origin = 0, .lost = lost});
}

void forest_is_late(struct forest *forest, int at)
{
    if (forest->node[at].late) {
        root_lose(forest, at);
    }
}

static void seek_parent(struct forest *forest, int at)
{
    forest->node[at].homeless = true;
    forest_later(forest, 1 + forest_below(forest, REACH_US), ON_HOME, at, 0);
}

void forest_link_is_down(struct forest *forest, int at, int other)
{
    struct forest_node *node = &forest->node[at];
    bool parent = at > 0 && forest_parent(forest, at) == other;
    if (at == 0) {
        root_lose(forest, other);
    } else if (other == 0 && (parent || node->homeless)) {
        forest_kill(forest, at); /* its lifeline */
    } else if (parent && !node->homeless) {
        seek_parent(forest, at);
    } else if (!rml_tree_is_lost(&node->tree, (uint32_t) other) &&
               rml_tree_towards(&node->tree, (uint32_t) at, (uint32_t) other) != UINT32_MAX) {
        forest_say(forest, at, 0, &(struct forest_message){.word = LOST, .cast = {.lost = other}});
    }
}

void forest_reach_home(struct forest *forest, int at)
{
    struct forest_node *node = &forest->node[at];
    if (!node->alive) {
        return;
    }
    if (rml_tree_is_lost(&forest->node[0].tree, (uint32_t) at)) {
        forest_kill(forest, at); /* refused */
        return;
    }
    if (sim_way(&forest->network, at, 0)->state != SIM_UP) {
        forest_link(forest, at, 0);
    }
    forest_say(
        forest, at, 0,
        &(struct forest_message){.word = ORPHAN, .cast = {.lost = forest_parent(forest, at)}});
}

static void hear_orphan(struct forest *forest, int orphan, int gone)
{
    const struct rml_tree *tree = &forest->node[0].tree;
    struct forest_message answer = {.word = REHOME};
    root_lose(forest, gone);
    for (int i = 1; i < forest->count; i++) {
        answer.lost_set = (uint16_t) (answer.lost_set | rml_tree_is_lost(tree, (uint32_t) i) << i);
    }
    if (!rml_tree_is_lost(tree, (uint32_t) orphan) && forest->without != FOREST_NO_REPAIR) {
        forest_say(forest, 0, orphan, &answer);
    }
}

static void rehomed(struct forest *forest, int at, int parent)
{
    struct forest_node *node = &forest->node[at];
    node->homeless = false;
    node->cast.told = node->cast.floor;
    forest_say(forest, at, parent,
               &(struct forest_message){
                   .word = JOIN, .number = node->cast.last, .other = node->cast.floor});
    if (parent > 0) {
        forest_close(forest, at, 0);
    }
    forest_say(forest, at, 0, &(struct forest_message){.word = REHOMED});
}

static void hear_rehome(struct forest *forest, int at, uint32_t lost_set)
{
    for (int i = 1; i < forest->count; i++) {
        if (lost_set >> i & 1) {
            lose(forest, at, i);
        }
    }
    int parent = forest_parent(forest, at);
    if (parent == 0) {
        rehomed(forest, at, 0);
    } else {
        bool there = forest->node[parent].alive;
        uint32_t wait = 1 + forest_below(forest, there ? REACH_US : REFUSED_US);
        forest_later(forest, wait, ON_PARENT, at, parent);
    }
}

void forest_reach_parent(struct forest *forest, int at)
{
    int parent = forest_parent(forest, at);
    if (!forest->node[at].alive) {
        return;
    }
    if (parent > 0 && (!forest->node[parent].alive ||
                       rml_tree_is_lost(&forest->node[parent].tree, (uint32_t) at))) {
        seek_parent(forest, at); /* that one is lost, too */
        return;
    }
    if (sim_way(&forest->network, at, parent)->state != SIM_UP) {
        forest_link(forest, at, parent);
    }
    rehomed(forest, at, parent);
}

void forest_hear(struct forest *forest, int at, const struct forest_message *message)
{
    bool said_before = at == 0 && rml_tree_is_lost(&forest->node[0].tree, message->from);
    switch (message->word) {
    case APP:
        return;
    case UP:
        take(forest, 0, &message->cast);
        return;
    case DOWN:
        hear_down(forest, at, message);
        return;
    case JOIN:
        hear_join(forest, at, message);
        return;
    case DONE:
        (void) rml_cast_raise(&forest->node[at].cast, message->from, message->number);
        advance(forest, at);
        return;
    case LOST:
        if (!said_before) {
            root_lose(forest, message->cast.lost);
        }
        return;
    case ORPHAN:
        if (!said_before) {
            hear_orphan(forest, message->from, message->cast.lost);
        }
        return;
    case REHOME:
        hear_rehome(forest, at, message->lost_set);
        return;
    case REHOMED:
        forest->node[message->from].late = false;
        return;
    }
}

/* --- life --- */

void forest_grow(struct forest *forest, int at, uint32_t radix)
{
    struct forest_node *node = &forest->node[at];
    uint32_t count = (uint32_t) forest->count;
    *node = (struct forest_node){.alive = true, .timer_at = UINT64_MAX};
    rml_tree_init(&node->tree, radix, count);
    rml_cast_init(&node->cast);
    for (int i = 0; i < forest->count; i++) {
        rml_session_init(&node->session[i], (uint64_t) at + 1, RML_WINDOW_MIN, RML_WINDOW_MIN);
        node->due[i] = UINT64_MAX;
        node->via[i] = -1;
    }
    set_children(forest, at, UINT32_MAX);
}

void forest_fell(struct forest *forest, int at)
{
    struct forest_node *node = &forest->node[at];
    struct list items = LIST_INIT(items);
    rml_cast_fini(&node->cast, &items);
    drop_items(&items);
    rml_tree_fini(&node->tree);
}
