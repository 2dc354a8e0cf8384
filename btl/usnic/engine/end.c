#include <config.h>

#include <btl/usnic/engine/end.h>
#include <btl/usnic/engine/engine.h>

/* Timeouts in a row of my BYE, where the other side's has come or the session is half open, after
 * which nobody is there any more: each twice as long as the one before, 7 of the first. */
enum { LINGER = 3 };

/* Both were said. Mine is for the other side's sake alone: it may be gone, and its last word lost.
 */
static bool is_over(const struct usnic_end *end, const struct usnic_flow *flow, uint64_t now_us)
{
    return usnic_flow_is_flushed(flow) || flow->rtt.doublings >= LINGER ||
           now_us >= end->give_up_us;
}

/* Mine was said; of the other side's nothing has come, and nothing of mine is acknowledged. */
static bool is_alone(const struct usnic_flow *flow)
{
    bool half_open = flow->window.first == flow->params.first_send && !flow->owed.has_stamp;

    return half_open && flow->rtt.doublings >= LINGER;
}

/* Nothing of what it has sent is acknowledged any more. */
static bool is_stuck(const struct usnic_end *end, const struct usnic_flow *flow, uint64_t now_us)
{
    return end->patience_us > 0 && !usnic_window_empty(&flow->window) &&
           now_us >= flow->clock.progress_us + end->patience_us;
}

enum usnic_end_step usnic_end_next(const struct usnic_end *end, const struct usnic_flow *flow,
                                   bool leaves, uint64_t now_us)
{
    if (end->said) {
        bool over = end->heard ? is_over(end, flow, now_us) : is_alone(flow);
        return over ? USNIC_END_OVER : USNIC_END_WAIT;
    }
    if ((leaves || end->heard) && usnic_flow_is_flushed(flow)) {
        return USNIC_END_SAY_BYE;
    }
    bool hopeless = end->heard ? now_us >= end->give_up_us : leaves && is_stuck(end, flow, now_us);
    return hopeless ? USNIC_END_GIVE_UP : USNIC_END_WAIT;
}
