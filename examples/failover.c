/* failover: messages outlive the rail that carries them.   keelrun -n 2 failover [MESSAGES]
 *
 * Each rank sends numbered messages to its right neighbour. After some hundred its best rail breaks
 * with a message that it never delivers; the next best takes over, and nothing is lost. */
#include "example.h"

#include <keel/pml.h>

enum { NUMBERS = 1, COUNT = 7, WINDOW = 16 }; /* a context, a tag, messages under way */
enum { SHORT = 8, LONG = 1 << 20 };           /* bytes; every tenth message is long */

static unsigned changes; /* of the rails to the right neighbour */

/* Called from progress when a rail is lost, replaced or back. */
static void rails_changed(const orte_process_name_t *peer, void *right)
{
    size_t count;
    const struct keel_rail *rails = keel_rails(peer, &count);
    if ((int32_t) peer->vpid == *(int32_t *) right) {
        changes++;
        printf("rank %u: its messages to rank %u go over %s\n", keel_my_name()->vpid, peer->vpid,
               count > 0 ? rails->btl->btl_component->btl_version.mca_component_name : "nothing");
        fflush(stdout);
    }
}

/* One end of a ring: messages under way, each in a buffer of its own. */
struct end {
    struct keel_pml_context *context;
    int32_t peer;
    struct keel_pml_request *requests[WINDOW];
    uint64_t *buffers[WINDOW];
};

static size_t size_of(uint64_t number)
{
    return number % 10 == 9 ? LONG : SHORT;
}

static void end_init(struct end *end, struct keel_pml_context *context, int32_t peer)
{
    *end = (struct end){.context = context, .peer = peer};
    for (int i = 0; i < WINDOW; i++) {
        end->buffers[i] = calloc(1, LONG);
        if (!end->buffers[i]) {
            keel_abort(1, "no memory");
        }
    }
}

static void end_free(struct end *end)
{
    for (int i = 0; i < WINDOW; i++) {
        free(end->buffers[i]);
    }
}

/* A message's first and last words are its number. */
static void start_send(struct end *to, uint64_t number)
{
    opal_convertor_t data;
    const size_t size = size_of(number);
    uint64_t *words = to->buffers[number % WINDOW];
    check(keel_pml_wait(&to->requests[number % WINDOW], NULL), "a send");
    words[0] = words[size / sizeof(number) - 1] = number;
    opal_convertor_prepare(&data, words, size);
    check(keel_pml_isend(to->context, &data, to->peer, COUNT, KEEL_PML_STANDARD,
                         &to->requests[number % WINDOW]),
          "isend");
}

static void start_receive(struct end *from, uint64_t number)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, from->buffers[number % WINDOW], LONG);
    check(keel_pml_irecv(from->context, &data, from->peer, COUNT, &from->requests[number % WINDOW]),
          "irecv");
}

/* Returns whether the message is the one whose turn it is, and whole. */
static int end_receive(struct end *from, uint64_t number)
{
    struct keel_pml_status status;
    const uint64_t *words = from->buffers[number % WINDOW];
    check(keel_pml_wait(&from->requests[number % WINDOW], &status), "a receive");
    return status.bytes == size_of(number) && words[0] == number &&
           words[status.bytes / sizeof(number) - 1] == number;
}

/* Returns how many messages came as they should. */
static long exchange(struct end *to, struct end *from, long messages)
{
    long good = 0;
    for (long number = 0; number < messages + WINDOW; number++) {
        if (number >= WINDOW) {
            good += end_receive(from, (uint64_t) (number - WINDOW));
        }
        if (number < messages) {
            start_receive(from, (uint64_t) number);
            start_send(to, (uint64_t) number);
        }
    }
    check(keel_pml_waitall(WINDOW, to->requests, NULL), "the last sends");
    return good;
}

int main(int argc, char **argv)
{
    const long messages = parse_number(argc > 1 ? argv[1] : NULL, "MESSAGES", 1, 1000);
    /* The cut: after so many messages sm drops one, and its rail breaks (keel(7), "fault"). A
     * parameter that the user has set stays. */
    setenv("KEEL_MCA_fault", "btl.sm.send:drop:after=300", 0);
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    const int32_t me = (int32_t) keel_my_name()->vpid, size = (int32_t) keel_job_size();
    int32_t right = (me + 1) % size;
    struct keel_pml_context *context;
    struct end to, from;
    check(keel_pml_context_open(NUMBERS, NULL, (size_t) size, me, &context), "context_open");
    check(keel_rails_watch(rails_changed, &right), "rails_watch");
    end_init(&to, context, right);
    end_init(&from, context, (me + size - 1) % size);
    const long good = exchange(&to, &from, messages);
    printf("failover: rank %d: %ld of %ld messages came in order and whole; rails changed %s\n", me,
           good, messages, changes > 0 ? "meanwhile" : "not once");
    end_free(&to);
    end_free(&from);
    check(keel_pml_context_free(&context), "context_free");
    check(keel_finalize(), "finalize");
    return good == messages ? 0 : 1;
}
