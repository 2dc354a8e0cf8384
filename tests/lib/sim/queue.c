#include <config.h>

#include <stdlib.h>
#include <tests/lib/sim/queue.h>

void sim_queue_reset(struct sim_queue *queue)
{
    queue->count = 0;
    queue->made = 0;
    queue->now = 0;
}

void sim_queue_fini(struct sim_queue *queue)
{
    free(queue->heap);
    *queue = (struct sim_queue){.heap = NULL};
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static void grow(struct sim_queue *queue)
{
    queue->capacity = queue->capacity ? queue->capacity * 2 : 1024;
    queue->heap = realloc(queue->heap, queue->capacity * sizeof(*queue->heap));
    if (!queue->heap) {
        abort();
    }
}

void sim_at(struct sim_queue *queue, uint64_t at, int kind, int who, void *what)
{
    if (queue->count == queue->capacity) {
        grow(queue);
    }
    struct sim_event event = {
        .at = at > queue->now ? at : queue->now,
        .number = queue->made++,
        .kind = (uint16_t) kind,
        .who = (uint16_t) who,
        .what = what,
    };
    size_t place = queue->count++;
    while (place > 0 && before(&event, &queue->heap[(place - 1) / 2])) {
        queue->heap[place] = queue->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    queue->heap[place] = event;
}

bool sim_next(struct sim_queue *queue, struct sim_event *event)
{
    if (queue->count == 0) {
        return false;
    }
    *event = queue->heap[0];
    queue->now = event->at;
    struct sim_event last = queue->heap[--queue->count];
    size_t place = 0;
    for (size_t child = 1; child < queue->count; child = place * 2 + 1) {
        if (child + 1 < queue->count && before(&queue->heap[child + 1], &queue->heap[child])) {
            child++;
        }
        if (!before(&queue->heap[child], &last)) {
            break;
        }
        queue->heap[place] = queue->heap[child];
        place = child;
    }
    queue->heap[place] = last;
    return true;
}
