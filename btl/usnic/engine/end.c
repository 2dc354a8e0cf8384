#include <config.h>

#include <btl/usnic/engine/end.h>
#include <btl/usnic/engine/engine.h>

enum { LINGER = 5 }; /* timeouts of a BYE that answers one: after them nobody is there any more */

/* Both were said. Mine is for the other side's sake alone: it may be gone, and its last word lost.
 */
static bool is_over(const struct usnic_end *end, const struct usnic_flow *flow, uint64_t now_us)
{
    return usnic_flow_is_flushed(flow) || flow->rtt.doublings >= LINGER ||
           now_us >= end->give_up_us;
}

enum usnic_end_step usnic_end_next(const struct usnic_end *end, const struct usnic_flow *flow,
                                   bool leaves, uint64_t now_us)
{
    if (end->said && end->heard) {
        return is_over(end, flow, now_us) ? USNIC_END_OVER : USNIC_END_WAIT;
    }
    if (!end->said && (leaves || end->heard) && usnic_flow_is_flushed(flow)) {
        return USNIC_END_SAY_BYE;
    }
    return end->heard && now_us >= end->give_up_us ? USNIC_END_GIVE_UP : USNIC_END_WAIT;
}
