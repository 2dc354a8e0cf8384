# btl/sm: shared memory.
libbtl_la_SOURCES += btl/sm/module.h btl/sm/component.c btl/sm/module.c btl/sm/endpoint.c btl/sm/ext.c \
	btl/sm/send.c btl/sm/receive.c btl/sm/rdma.c btl/sm/segment.h btl/sm/segment.c \
	btl/sm/layout.h btl/sm/layout.c btl/sm/peer.h btl/sm/peer.c \
	btl/sm/card.h btl/sm/card.c btl/sm/board.h btl/sm/board.c btl/sm/ring.h btl/sm/ring.c \
	btl/sm/regions.h btl/sm/regions.c btl/sm/cma.h btl/sm/cma.c btl/sm/process.h \
	btl/sm/process.c btl/sm/bell.h btl/sm/bell.c btl/sm/help.h btl/sm/help.c \
	btl/sm/pace.h btl/sm/pace.c
EXTRA_DIST += btl/sm/README.md
transport_points += btl/sm/fault_points.inc
