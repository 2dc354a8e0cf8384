/* Parts of production's that a test takes out, to show that the simulation sees it. The linker puts
 * these functions before production's own (--wrap in local.mk). */
#include <pml/peers/core.h>
#include <pml/pieces/range.h>
#include <ptl/rail/link.h>
#include <tests/unit/pml/sim/state.h>

static uint8_t arriving; /* type of the frame; 0: unknown */

static bool is(enum sim_sabotage sabotage)
{
    return sim.options.sabotage == sabotage;
}

/* ---- frames ---- */

bool __real_rail_decode_number(struct rail_part *part, const uint8_t *from, size_t size);
bool __wrap_rail_decode_number(struct rail_part *part, const uint8_t *from, size_t size);
bool __wrap_rail_decode_number(struct rail_part *part, const uint8_t *from, size_t size)
{
    bool good = __real_rail_decode_number(part, from, size);
    arriving = good && part->kind == RAIL_PART_WHOLE && part->size > 0 ? part->bytes[0] & 0xf : 0;
    return good;
}

static bool is_let_in_again(void)
{
    return (is(SIM_FRAGMENTS_TWICE) && arriving == RAIL_FRAG) ||
           (is(SIM_MESSAGES_TWICE) && (arriving == RAIL_MATCH || arriving == RAIL_RNDV));
}

enum rail_verdict __real_rail_window_take(struct rail_window *window, uint32_t number);
enum rail_verdict __wrap_rail_window_take(struct rail_window *window, uint32_t number);
enum rail_verdict __wrap_rail_window_take(struct rail_window *window, uint32_t number)
{
    if (is(SIM_NO_WRAP) && number < window->expected) {
        return RAIL_AGAIN;
    }
    enum rail_verdict verdict = __real_rail_window_take(window, number);
    return verdict == RAIL_AGAIN && is_let_in_again() ? RAIL_NEW : verdict;
}

void __real_rail_set_came(uint8_t *to, uint32_t came);
void __wrap_rail_set_came(uint8_t *to, uint32_t came);
void __wrap_rail_set_came(uint8_t *to, uint32_t came)
{
    __real_rail_set_came(to, came + is(SIM_ACK_BEFORE_COPY));
}

void __real_rail_encode_came(uint8_t *to, uint32_t came);
void __wrap_rail_encode_came(uint8_t *to, uint32_t came);
void __wrap_rail_encode_came(uint8_t *to, uint32_t came)
{
    __real_rail_encode_came(to, came + is(SIM_ACK_BEFORE_COPY));
}

bool __real_rail_link_renew(struct rail_link *link);
bool __wrap_rail_link_renew(struct rail_link *link);
bool __wrap_rail_link_renew(struct rail_link *link)
{
    return is(SIM_KEEPS_RAIL) || __real_rail_link_renew(link);
}

/* ---- messages ---- */

struct match_receive *__real_match_at_once(struct match *match, struct match_source *source,
                                           int32_t tag, uint32_t sequence);
struct match_receive *__wrap_match_at_once(struct match *match, struct match_source *source,
                                           int32_t tag, uint32_t sequence);
struct match_receive *__wrap_match_at_once(struct match *match, struct match_source *source,
                                           int32_t tag, uint32_t sequence)
{
    return __real_match_at_once(match, source, tag,
                                is(SIM_ORDER_OF_ARRIVAL) ? source->order.expected : sequence);
}

enum reorder_verdict __real_match_arrive(struct match *match, struct match_source *source,
                                         struct match_message *message, uint32_t sequence,
                                         struct list *matches);
enum reorder_verdict __wrap_match_arrive(struct match *match, struct match_source *source,
                                         struct match_message *message, uint32_t sequence,
                                         struct list *matches);
enum reorder_verdict __wrap_match_arrive(struct match *match, struct match_source *source,
                                         struct match_message *message, uint32_t sequence,
                                         struct list *matches)
{
    sequence = is(SIM_ORDER_OF_ARRIVAL) ? source->order.expected : sequence;
    enum reorder_verdict verdict = __real_match_arrive(match, source, message, sequence, matches);
    if (verdict == REORDER_AGAIN && is(SIM_MESSAGES_TWICE)) {
        verdict = __real_match_arrive(match, source, message, source->order.expected, matches);
    }
    return verdict;
}

/* ---- the rest ---- */

bool __real_range_add(struct list *ranges, size_t offset, size_t size,
                      const mca_ptl_base_module_t *by);
bool __wrap_range_add(struct list *ranges, size_t offset, size_t size,
                      const mca_ptl_base_module_t *by);
bool __wrap_range_add(struct list *ranges, size_t offset, size_t size,
                      const mca_ptl_base_module_t *by)
{
    return is(SIM_RANGE_WHOLE) ? __real_range_add(ranges, 0, offset + size, by)
                               : __real_range_add(ranges, offset, size, by);
}

int __real_rail_ptl_get(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                        mca_ptl_base_recv_request_t *request, size_t offset, size_t size,
                        int flags);
int __wrap_rail_ptl_get(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                        mca_ptl_base_recv_request_t *request, size_t offset, size_t size,
                        int flags);
int __wrap_rail_ptl_get(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                        mca_ptl_base_recv_request_t *request, size_t offset, size_t size, int flags)
{
    const struct rail_recv *recv = request->req_ptl;
    if (is(SIM_FIN_BEFORE_DATA) && recv) {
        rail_say(recv->module, recv->endpoint,
                 &(struct rail_header){.type = RAIL_ACK, .id = recv->send_id});
    }
    return __real_rail_ptl_get(ptl, peer, request, offset, size, flags);
}
