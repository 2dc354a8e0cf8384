# btl: the data plane's framework, in rooms of which each includes those before it, and modules (btl/README.md).
noinst_LTLIBRARIES += libbtl.la
libbtl_la_SOURCES =
EXTRA_DIST += btl/README.md btl/check/README.md btl/fault/README.md btl/interface/README.md \
	btl/memory/README.md btl/lock/README.md btl/modules/README.md btl/progress/README.md \
	btl/peers/README.md btl/sessions/README.md btl/emulation/README.md btl/fabric/README.md \
	btl/framework/README.md btl/plane/README.md

# What modules and the layers above see.
libbtl_la_SOURCES += btl/interface/atomic.c btl/interface/farewell.c btl/interface/farewell.h btl/interface/atomic.h btl/interface/base.h \
	btl/interface/call.h

# Descriptors and regions.
libbtl_la_SOURCES += btl/memory/desc.c btl/memory/desc.h btl/memory/region.c btl/memory/region.h

# The lock, and what wakes the progress thread.
libbtl_la_SOURCES += btl/lock/lock.c btl/lock/lock.h btl/lock/wake.c btl/lock/wake.h

# The open modules and their taps.
libbtl_la_SOURCES += btl/modules/entry.c btl/modules/entry.h btl/modules/module.h \
	btl/modules/table.c btl/modules/tap.c btl/modules/tap.h btl/modules/tap_pack.c btl/modules/upcall.c

# Passes over all modules.
libbtl_la_SOURCES += btl/progress/pending.c btl/progress/pending.h btl/progress/progress.c \
	btl/progress/progress.h btl/progress/sleep.c btl/progress/sleep.h btl/progress/thread.c btl/progress/thread.h

# Peers and cards.
libbtl_la_SOURCES += btl/peers/card.c btl/peers/card.h btl/peers/closing.c btl/peers/netcard.c \
	btl/peers/netcard.h btl/peers/netdevice.c btl/peers/netdevice.h btl/peers/peer.c btl/peers/peer.h btl/peers/procs.c btl/peers/roster.c \
	btl/peers/roster.h

# Wires without connections.
libbtl_la_SOURCES += btl/sessions/fabric_address.h btl/sessions/hello.c btl/sessions/hello.h \
	btl/sessions/host_probe.c btl/sessions/host_probe.h btl/sessions/session.c btl/sessions/session.h

# Put, get and atomics over sends.
libbtl_la_SOURCES += btl/emulation/rdma_am.c btl/emulation/rdma_am.h \
	btl/emulation/rdma_am_initiator.c btl/emulation/rdma_am_sides.h btl/emulation/rdma_am_target.c \
	btl/emulation/rdma_am_wire.c btl/emulation/rdma_am_wire.h

# Endpoints of libfabric. What needs its library is loaded by the process that opens a provider.
if HAVE_FABRIC
libbtl_la_SOURCES += btl/fabric/fabric.c btl/fabric/fabric.h btl/fabric/fabric_device.c \
	btl/fabric/fabric_device.h btl/fabric/fabric_mr.c \
	btl/fabric/fabric_mr.h btl/fabric/fabric_receive.c btl/fabric/fabric_receive.h \
	btl/fabric/libfabric.h
pkglib_LTLIBRARIES += lib/keel-libfabric.la
lib_keel_libfabric_la_SOURCES = btl/fabric/libfabric.h btl/fabric/libfabric.c
lib_keel_libfabric_la_CFLAGS = $(AM_CFLAGS) $(FABRIC_CFLAGS)
lib_keel_libfabric_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_libfabric_la_LIBADD = $(FABRIC_LIBS)
endif

# Opening, choosing, counting.
libbtl_la_SOURCES += btl/framework/choice.c btl/framework/ext.c btl/framework/framework.c \
	btl/framework/ftevent.c btl/framework/registry.c btl/framework/stats.c btl/framework/stats.h \
	btl/framework/taps.c

# The data plane of a process.
libbtl_la_SOURCES += btl/plane/bml.c btl/plane/bml.h btl/plane/plane.c btl/plane/plane.h

include $(srcdir)/btl/self/local.mk
include $(srcdir)/btl/sm/local.mk
include $(srcdir)/btl/tcp/local.mk
include $(srcdir)/btl/check/local.mk
include $(srcdir)/btl/ofi/local.mk
include $(srcdir)/btl/usnic/local.mk
include $(srcdir)/btl/fault/local.mk
