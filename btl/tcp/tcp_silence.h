/* Links whose peer is silent: its host acknowledges nothing any more. A host that is cut off closes
 * no socket, and the kernel tries for a quarter of an hour. What counts is the peer's kernel: one
 * whose process computes, or is stopped with its buffers full, still answers probes. */
#ifndef BTL_TCP_SILENCE_H
#define BTL_TCP_SILENCE_H

#include <btl/tcp/tcp_link.h>
#include <linux/tcp.h> /* netinet/tcp.h lacks tcpi_data_segs_out */

/* The module's timer, which wakes a sleeper too; it runs while there are links. OUT_OF_RESOURCE: no
 * descriptor. */
int tcp_silence_open(struct tcp_module *tcp) KEEL_MUST_CHECK;
void tcp_silence_link_begins(struct tcp_link *link);
void tcp_silence_link_ends(struct tcp_link *link);
/* The timer has come: breaks the endpoints of links that have been silent for too long. */
void tcp_silence_check(struct tcp_module *tcp);

/* Whether a link has failed: elapsed_us since it was looked at last, and what the kernel says.
 * lost: percent of what other links have sent, and had to send again. */
bool tcp_silence_judge(struct tcp_silence *silence, const struct tcp_info *info, unsigned lost,
                       uint64_t elapsed_us, uint64_t timeout_us);

#endif
