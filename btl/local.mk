# btl: the data plane's framework and modules.
noinst_LTLIBRARIES += libbtl.la
libbtl_la_SOURCES = btl/base.h btl/choice.c btl/framework.c \
	btl/entry.h btl/entry.c btl/tap.h btl/tap.c btl/tap_pack.c btl/taps.c \
	btl/stats.h btl/stats.c \
	btl/rdma_am_sides.h btl/rdma_am_initiator.c btl/rdma_am_target.c \
	btl/progress.h btl/progress.c btl/upcall.c btl/pending.h btl/pending.c \
	btl/ext.c btl/ftevent.c \
	btl/module.h btl/table.c btl/registry.c btl/lock.h btl/lock.c \
	btl/thread.h btl/thread.c btl/wake.h btl/wake.c \
	btl/plane.h btl/plane.c \
	btl/bml.h btl/bml.c btl/desc.h btl/desc.c btl/region.h btl/region.c \
	btl/netcard.h btl/netcard.c btl/roster.h btl/roster.c \
	btl/procs.c btl/card.h btl/card.c btl/host_probe.h btl/host_probe.c btl/closing.c \
	btl/peer.h btl/peer.c btl/session.h btl/session.c btl/fabric_address.h btl/hello.h btl/hello.c btl/atomic.h btl/atomic.c btl/call.h \
	btl/rdma_am.h btl/rdma_am.c btl/rdma_am_wire.h btl/rdma_am_wire.c
# libfabric: what needs its library is loaded by the process that opens a provider.
if HAVE_FABRIC
libbtl_la_SOURCES += btl/libfabric.h btl/fabric.h btl/fabric.c btl/fabric_receive.h btl/fabric_receive.c btl/fabric_mr.h btl/fabric_mr.c
pkglib_LTLIBRARIES += lib/keel-libfabric.la
lib_keel_libfabric_la_SOURCES = btl/libfabric.h btl/libfabric.c
lib_keel_libfabric_la_CFLAGS = $(AM_CFLAGS) $(FABRIC_CFLAGS)
lib_keel_libfabric_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_libfabric_la_LIBADD = $(FABRIC_LIBS)
endif
EXTRA_DIST += btl/README.md btl/check/README.md btl/fault/README.md
include $(srcdir)/btl/self/local.mk
include $(srcdir)/btl/sm/local.mk
include $(srcdir)/btl/tcp/local.mk
include $(srcdir)/btl/check/local.mk
include $(srcdir)/btl/ofi/local.mk
include $(srcdir)/btl/usnic/local.mk
include $(srcdir)/btl/fault/local.mk
