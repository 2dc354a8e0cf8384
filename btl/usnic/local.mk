# btl/usnic: the rail over datagrams.

# The engine and the bytes of the wire: pure, and built everywhere.
libbtl_la_SOURCES += btl/usnic/wire/packet.h btl/usnic/wire/packet.c btl/usnic/wire/card.h btl/usnic/wire/card.c \
	btl/usnic/wire/frame.h btl/usnic/wire/frame.c \
	btl/usnic/engine/rtt.h btl/usnic/engine/rtt.c btl/usnic/engine/check.h btl/usnic/engine/check.c \
	btl/usnic/engine/window.h btl/usnic/engine/window.c btl/usnic/engine/order.h btl/usnic/engine/order.c \
	btl/usnic/engine/rate.h btl/usnic/engine/rate.c btl/usnic/engine/pack.h btl/usnic/engine/pack.c \
	btl/usnic/engine/flow.h btl/usnic/engine/flow.c btl/usnic/engine/engine.h btl/usnic/engine/engine.c \
	btl/usnic/engine/inside.h btl/usnic/engine/transmit.c btl/usnic/engine/take.c btl/usnic/engine/timer.c \
	btl/usnic/engine/share.c btl/usnic/engine/end.h btl/usnic/engine/end.c
EXTRA_DIST += btl/usnic/README.md

# The module: over libfabric.
if HAVE_FABRIC
libbtl_la_SOURCES += btl/usnic/usnic.h btl/usnic/usnic_component.c btl/usnic/usnic_module.c btl/usnic/usnic_process.c \
	btl/usnic/port/port.h btl/usnic/port/port.c btl/usnic/usnic_peer.h btl/usnic/usnic_peer.c \
	btl/usnic/usnic_control.h btl/usnic/usnic_control.c btl/usnic/usnic_path.h btl/usnic/usnic_path.c \
	btl/usnic/usnic_send.h btl/usnic/usnic_send.c btl/usnic/usnic_receive.h btl/usnic/usnic_receive.c \
	btl/usnic/usnic_faults.h btl/usnic/usnic_faults.c btl/usnic/usnic_ext.c
else
libbtl_la_SOURCES += btl/usnic/usnic_absent.c
endif
transport_points += btl/usnic/fault_points.inc
