# btl/sm: shared memory.
libbtl_la_SOURCES += btl/sm/module.h btl/sm/component.c btl/sm/module.c btl/sm/endpoint.c btl/sm/ext.c \
	btl/sm/send.c btl/sm/receive.c btl/sm/rdma.c btl/sm/peer.h btl/sm/peer.c \
	btl/sm/regions.h btl/sm/regions.c btl/sm/cma.h btl/sm/cma.c btl/sm/help.h btl/sm/help.c \
	btl/sm/pace.h btl/sm/pace.c
# The segment.
libbtl_la_SOURCES += btl/sm/segment/segment.h btl/sm/segment/segment.c btl/sm/segment/layout.h btl/sm/segment/layout.c \
	btl/sm/segment/card.h btl/sm/segment/card.c btl/sm/segment/board.h btl/sm/segment/board.c \
	btl/sm/segment/ring.h btl/sm/segment/ring.c btl/sm/segment/bell.h btl/sm/segment/bell.c \
	btl/sm/segment/process.h btl/sm/segment/process.c
EXTRA_DIST += btl/sm/README.md
transport_points += btl/sm/fault_points.inc
