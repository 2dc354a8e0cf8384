# btl/ofi: the rail over libfabric.
if HAVE_FABRIC
libbtl_la_SOURCES += btl/ofi/ofi.h btl/ofi/ofi.c btl/ofi/ofi_component.c \
	btl/ofi/ofi_progress.c btl/ofi/ofi_ext.c \
	btl/ofi/ofi_peer.h btl/ofi/ofi_peer.c btl/ofi/ofi_hello.h btl/ofi/ofi_hello.c \
	btl/ofi/ofi_silence.h btl/ofi/ofi_silence.c btl/ofi/ofi_send.h btl/ofi/ofi_send.c btl/ofi/ofi_receive.h btl/ofi/ofi_receive.c \
	btl/ofi/ofi_rdma.h btl/ofi/ofi_rdma.c btl/ofi/ofi_native.h btl/ofi/ofi_native.c \
	btl/ofi/ofi_region.h btl/ofi/ofi_region.c \
	btl/ofi/provider/fabric.h btl/ofi/provider/fabric.c btl/ofi/provider/leftovers.h btl/ofi/provider/leftovers.c \
	btl/ofi/provider/shm.h btl/ofi/provider/shm.c btl/ofi/provider/traits.h btl/ofi/provider/traits.c \
	btl/ofi/wire/card.h btl/ofi/wire/card.c btl/ofi/wire/wire.h
else
libbtl_la_SOURCES += btl/ofi/ofi_absent.c
endif
EXTRA_DIST += btl/ofi/README.md
transport_points += btl/ofi/fault_points.inc
