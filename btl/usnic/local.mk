# btl/usnic: the rail over datagrams.

# The engine: pure, and built everywhere.
libbtl_la_SOURCES += btl/usnic/usnic_wire.h btl/usnic/usnic_wire.c btl/usnic/usnic_rtt.h btl/usnic/usnic_rtt.c \
	btl/usnic/usnic_window.h btl/usnic/usnic_window.c btl/usnic/usnic_order.h btl/usnic/usnic_order.c \
	btl/usnic/usnic_rate.h btl/usnic/usnic_rate.c btl/usnic/usnic_pack.h btl/usnic/usnic_pack.c \
	btl/usnic/usnic_flow.h btl/usnic/usnic_flow.c btl/usnic/usnic_engine.h btl/usnic/usnic_engine.c \
	btl/usnic/usnic_inside.h btl/usnic/usnic_transmit.c btl/usnic/usnic_take.c btl/usnic/usnic_timer.c \
	btl/usnic/usnic_share.c
EXTRA_DIST += btl/usnic/README.md
