# btl/usnic: the rail over datagrams.

# The engine: pure, and built everywhere.
libbtl_la_SOURCES += btl/usnic/usnic_wire.h btl/usnic/usnic_wire.c btl/usnic/usnic_rtt.h btl/usnic/usnic_rtt.c \
	btl/usnic/usnic_window.h btl/usnic/usnic_window.c btl/usnic/usnic_order.h btl/usnic/usnic_order.c \
	btl/usnic/usnic_rate.h btl/usnic/usnic_rate.c btl/usnic/usnic_pack.h btl/usnic/usnic_pack.c \
	btl/usnic/usnic_flow.h btl/usnic/usnic_flow.c btl/usnic/usnic_engine.h btl/usnic/usnic_engine.c \
	btl/usnic/usnic_inside.h btl/usnic/usnic_transmit.c btl/usnic/usnic_take.c btl/usnic/usnic_timer.c \
	btl/usnic/usnic_share.c
EXTRA_DIST += btl/usnic/README.md

# The module: over libfabric.
if HAVE_FABRIC
libbtl_la_SOURCES += btl/usnic/usnic.h btl/usnic/usnic_component.c btl/usnic/usnic_module.c btl/usnic/usnic_process.c \
	btl/usnic/usnic_port.h btl/usnic/usnic_port.c btl/usnic/usnic_peer.h btl/usnic/usnic_peer.c \
	btl/usnic/usnic_control.h btl/usnic/usnic_control.c btl/usnic/usnic_path.h btl/usnic/usnic_path.c \
	btl/usnic/usnic_send.h btl/usnic/usnic_send.c btl/usnic/usnic_receive.h btl/usnic/usnic_receive.c \
	btl/usnic/usnic_faults.h btl/usnic/usnic_faults.c btl/usnic/usnic_ext.c
else
libbtl_la_SOURCES += btl/usnic/usnic_absent.c
endif
libbtl_la_SOURCES += btl/usnic/usnic_card.h btl/usnic/usnic_card.c btl/usnic/usnic_check.h btl/usnic/usnic_check.c
transport_points += btl/usnic/fault_points.inc
