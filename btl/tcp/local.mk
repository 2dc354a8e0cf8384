# btl/tcp: the rail over sockets.
libbtl_la_SOURCES += btl/tcp/tcp.h btl/tcp/tcp.c btl/tcp/tcp_component.c btl/tcp/tcp_process.c \
	btl/tcp/tcp_ext.c btl/tcp/tcp_poll.c \
	btl/tcp/tcp_endpoint.h btl/tcp/tcp_endpoint.c btl/tcp/tcp_send.h btl/tcp/tcp_send.c \
	btl/tcp/tcp_rdma.h btl/tcp/tcp_rdma.c btl/tcp/tcp_conn.h btl/tcp/tcp_conn.c \
	btl/tcp/tcp_lane.h btl/tcp/tcp_lane.c \
	btl/tcp/tcp_link.h btl/tcp/tcp_link.c btl/tcp/tcp_link_read.c btl/tcp/tcp_link_write.c \
	btl/tcp/tcp_silence.h btl/tcp/tcp_silence.c \
	btl/tcp/wire/wire.h btl/tcp/wire/wire.c btl/tcp/wire/card.h btl/tcp/wire/card.c
EXTRA_DIST += btl/tcp/README.md
transport_points += btl/tcp/fault_points.inc
