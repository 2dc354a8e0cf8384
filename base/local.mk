# base: what every room stands on, in rooms of which each includes those before it (base/README.md).
noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES =
libbase_la_LIBADD = $(EVENT_LIBS) $(SODIUM_LIBS)
EXTRA_DIST += base/README.md base/data/README.md base/text/README.md base/types/README.md \
	base/settings/README.md base/loop/README.md base/net/README.md base/host/README.md

# Containers, bytes, hashes, keys.
libbase_la_SOURCES += base/data/array.c base/data/array.h base/data/bytes.c base/data/bytes.h base/data/clock.h base/data/crc32c.c \
	base/data/crc32c.h base/data/crypto.c base/data/crypto.h base/data/few.h base/data/hash.c \
	base/data/hash.h base/data/ids.c base/data/ids.h base/data/le.h base/data/least.h base/data/list.h \
	base/data/pool.c base/data/pool.h base/data/reorder.c base/data/reorder.h base/data/strings.c \
	base/data/strings.h

# Text that need not be trusted.
libbase_la_SOURCES += base/text/await.c base/text/await.h base/text/control.h base/text/json.c base/text/json.h base/text/number.c base/text/number.h base/text/reason.c base/text/reason.h \
	base/text/sysfile.c base/text/sysfile.h base/text/text_file.c base/text/text_file.h base/text/words.c base/text/words.h

# What the public types do.
libbase_la_SOURCES += base/types/bitmap.c base/types/convertor.c base/types/dss.h \
	base/types/dss_buffer.c base/types/dss_number.c base/types/dss_pack.c base/types/dss_print.c \
	base/types/dss_types.c base/types/dss_unpack.c base/types/dss_value.c base/types/name.h \
	base/types/names.c base/types/object.c base/types/status.c

# The log, parameters, fault points.
libbase_la_SOURCES += base/settings/fault.c base/settings/fault.h base/settings/fault_points.c \
	base/settings/fault_points.h base/settings/fault_rules.c base/settings/fault_rules.h \
	base/settings/log.c base/settings/log.h base/settings/param.c base/settings/param.h \
	base/settings/param_file.c base/settings/param_file.h base/settings/param_list.c

# The fault points of the transports, each in its folder.
nodist_libbase_la_SOURCES = base/settings/transport_points.inc
base/settings/transport_points.inc: Makefile $(transport_points)
	$(AM_V_GEN)$(MKDIR_P) base/settings && (cd $(srcdir) && cat $(transport_points)) >$@.tmp && mv $@.tmp $@
base/settings/fault_points.lo: base/settings/transport_points.inc
EXTRA_DIST += $(transport_points)
CLEANFILES += base/settings/transport_points.inc

# The event loop and waiting.
libbase_la_SOURCES += base/loop/backoff.c base/loop/backoff.h base/loop/handover.c \
	base/loop/handover.h base/loop/lines.c base/loop/lines.h base/loop/loop.c base/loop/loop.h \
	base/loop/patience.c base/loop/patience.h base/loop/wheel.c base/loop/wheel.h

# Sockets, interfaces, links.
libbase_la_SOURCES += base/net/linkwatch.c base/net/linkwatch.h base/net/netif.c base/net/netif.h \
	base/net/pairing.c base/net/pairing.h base/net/sock.c base/net/sock.h

# This machine, its processes and folders.
libbase_la_SOURCES += base/host/barrier.c base/host/barrier.h base/host/cgroup.c base/host/cgroup.h base/host/corefile.c base/host/corefile.h base/host/hostname.c \
	base/host/hostname.h base/host/isolated.c base/host/isolated.h base/host/leftovers.c base/host/leftovers.h base/host/paths.c \
	base/host/paths.h base/host/procstat.c base/host/procstat.h base/host/pty.c base/host/pty.h \
	base/host/session.c base/host/session.h base/host/topo.c base/host/topo.h base/host/topo_module.h \
	base/host/topo_text.c

# What needs hwloc, loaded by the first process that asks for cores.
if HAVE_HWLOC
pkglib_LTLIBRARIES += lib/keel-hwloc.la
lib_keel_hwloc_la_SOURCES = base/host/topo_hwloc.c base/host/topo.h base/host/topo_module.h
lib_keel_hwloc_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
lib_keel_hwloc_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_hwloc_la_LIBADD = $(HWLOC_LIBS)
endif
