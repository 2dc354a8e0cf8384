/* Parts of production's that a test takes out, to show that the simulation sees it. The linker puts
 * these functions before production's own (--wrap in local.mk). */
#include <config.h>

#include <tests/unit/btl/usnic/sim.h>

enum sim_sabotage sim_sabotage;

static bool is(enum sim_sabotage sabotage)
{
    return sim_sabotage == sabotage;
}

enum reorder_verdict __real_usnic_order_take(struct usnic_order *order, struct usnic_packet *packet,
                                             uint32_t sequence, bool may_keep);
enum reorder_verdict __wrap_usnic_order_take(struct usnic_order *order, struct usnic_packet *packet,
                                             uint32_t sequence, bool may_keep);
enum reorder_verdict __wrap_usnic_order_take(struct usnic_order *order, struct usnic_packet *packet,
                                             uint32_t sequence, bool may_keep)
{
    uint32_t expected = usnic_order_expected(order);

    if (is(SIM_EARLY_DELIVERY) && sequence - expected < USNIC_WINDOW_PACKETS &&
        sequence != expected) {
        return REORDER_NOW;
    }
    enum reorder_verdict verdict = __real_usnic_order_take(order, packet, sequence, may_keep);
    return is(SIM_NO_DEDUP) && verdict == REORDER_AGAIN ? REORDER_NOW : verdict;
}

void __real_usnic_window_acked(struct usnic_window *window, uint32_t ack, uint64_t echo,
                               uint64_t now, struct usnic_acked *acked, struct list *done);
void __wrap_usnic_window_acked(struct usnic_window *window, uint32_t ack, uint64_t echo,
                               uint64_t now, struct usnic_acked *acked, struct list *done);
void __wrap_usnic_window_acked(struct usnic_window *window, uint32_t ack, uint64_t echo,
                               uint64_t now, struct usnic_acked *acked, struct list *done)
{
    if (!is(SIM_NO_WRAP) || ack >= window->first) {
        __real_usnic_window_acked(window, ack, echo, now, acked, done);
    }
}

size_t __real_usnic_order_ranges(const struct usnic_order *order, uint8_t *out);
size_t __wrap_usnic_order_ranges(const struct usnic_order *order, uint8_t *out);
size_t __wrap_usnic_order_ranges(const struct usnic_order *order, uint8_t *out)
{
    return is(SIM_NO_RANGES) ? 0 : __real_usnic_order_ranges(order, out);
}

void __real_usnic_rtt_backoff(struct usnic_rtt *rtt);
void __wrap_usnic_rtt_backoff(struct usnic_rtt *rtt);
void __wrap_usnic_rtt_backoff(struct usnic_rtt *rtt)
{
    if (!is(SIM_NO_BACKOFF)) {
        __real_usnic_rtt_backoff(rtt);
    }
}

uint64_t __real_usnic_rtt_probe_us(const struct usnic_rtt *rtt);
uint64_t __wrap_usnic_rtt_probe_us(const struct usnic_rtt *rtt);
uint64_t __wrap_usnic_rtt_probe_us(const struct usnic_rtt *rtt)
{
    return is(SIM_NO_PROBE) ? usnic_rtt_timeout_us(rtt) : __real_usnic_rtt_probe_us(rtt);
}

bool __real_usnic_rate_allows(const struct usnic_rate *rate, size_t under_way, size_t charge);
bool __wrap_usnic_rate_allows(const struct usnic_rate *rate, size_t under_way, size_t charge);
bool __wrap_usnic_rate_allows(const struct usnic_rate *rate, size_t under_way, size_t charge)
{
    struct usnic_rate unlimited = *rate;

    unlimited.credit = SIZE_MAX;
    return __real_usnic_rate_allows(is(SIM_NO_CREDIT) ? &unlimited : rate, under_way, charge);
}

void __real_usnic_header_encode(uint8_t out[USNIC_HEADER_BYTES], const struct usnic_header *header);
void __wrap_usnic_header_encode(uint8_t out[USNIC_HEADER_BYTES], const struct usnic_header *header);
void __wrap_usnic_header_encode(uint8_t out[USNIC_HEADER_BYTES], const struct usnic_header *header)
{
    struct usnic_header more = *header;

    more.ack += is(SIM_ACK_UNSEEN);
    __real_usnic_header_encode(out, &more);
}

struct wheel_timer *__real_wheel_expire(struct wheel *wheel, uint64_t now);
struct wheel_timer *__wrap_wheel_expire(struct wheel *wheel, uint64_t now);
struct wheel_timer *__wrap_wheel_expire(struct wheel *wheel, uint64_t now)
{
    return is(SIM_NO_EVICTION) ? NULL : __real_wheel_expire(wheel, now);
}

enum usnic_end_step __real_usnic_end_next(const struct usnic_end *end,
                                          const struct usnic_flow *flow, bool leaves,
                                          uint64_t now_us);
enum usnic_end_step __wrap_usnic_end_next(const struct usnic_end *end,
                                          const struct usnic_flow *flow, bool leaves,
                                          uint64_t now_us);
enum usnic_end_step __wrap_usnic_end_next(const struct usnic_end *end,
                                          const struct usnic_flow *flow, bool leaves,
                                          uint64_t now_us)
{
    enum usnic_end_step step = __real_usnic_end_next(end, flow, leaves, now_us);

    step = is(SIM_EARLY_OVER) && end->heard ? USNIC_END_OVER : step;
    return is(SIM_NO_GIVING_UP) && !end->heard && step == USNIC_END_OVER ? USNIC_END_WAIT : step;
}
