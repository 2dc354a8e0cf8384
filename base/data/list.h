/* Intrusive doubly linked lists: the link is a member of the listed object, which the list does not
 * own. A link is on at most one list; a link that is on none points to itself. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define container_of(pointer, type, member) \
    ((type *) (void *) ((char *) (pointer) -offsetof(type, member)))
#define LIST_INIT(name)  \
    {                    \
        &(name), &(name) \
    }
/* item is a variable of the pointer's type. The body may remove the current item, and nothing else.
 */
#define list_for_each(item, head, type, member)                                           \
    for (struct list *item##_it_ = (head)->next, *item##_next_ = item##_it_->next;        \
         item##_it_ != (head) && ((item) = container_of(item##_it_, type, member), true); \
         item##_it_ = item##_next_, item##_next_ = item##_it_->next)

static inline void list_init(struct list *list)
{
    list->next = list->prev = list;
}

static inline bool list_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_insert_before(struct list *at, struct list *link)
{
    link->next = at;
    link->prev = at->prev;
    at->prev->next = link;
    at->prev = link;
}

static inline void list_append(struct list *list, struct list *link)
{
    list_insert_before(list, link);
}

static inline void list_prepend(struct list *list, struct list *link)
{
    list_insert_before(list->next, link);
}

static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* The first link, removed; NULL when the list is empty. */
static inline struct list *list_pop(struct list *list)
{
    if (list_empty(list)) {
        return NULL;
    }
    struct list *first = list->next;
    list_remove(first);
    return first;
}

/* Moves all of from to the end of to. */
static inline void list_splice(struct list *to, struct list *from)
{
    if (list_empty(from)) {
        return;
    }
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

#endif
