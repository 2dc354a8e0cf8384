# base: what every room stands on.
noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES =
libbase_la_LIBADD = $(EVENT_LIBS) $(SODIUM_LIBS)

# Data: status codes, names, objects, packing.
libbase_la_SOURCES += \
	base/few.h base/le.h base/least.h base/list.h base/clock.h base/name.h base/pool.h base/pool.c \
	base/status.c base/names.c base/object.c base/bitmap.c base/convertor.c \
	base/ids.h base/ids.c base/pairing.h base/pairing.c base/reorder.h base/reorder.c base/wheel.h base/wheel.c \
	base/dss.h base/dss_types.c base/dss_number.c base/dss_buffer.c base/dss_pack.c \
	base/dss_unpack.c base/dss_value.c base/dss_print.c

# The process and its host: log, parameters, loop, sockets, keys, files.
libbase_la_SOURCES += \
	base/backoff.h base/backoff.c base/cgroup.h base/crypto.h base/fault.h base/fault_points.h base/bytes.h base/bytes.c base/fault_rules.h base/handover.h base/handover.c base/hash.h base/hash.c base/hostname.h base/hostname.c base/linkwatch.h base/linkwatch.c base/log.h base/loop.h base/netif.h base/patience.h base/patience.c base/param.h \
	base/procstat.h base/procstat.c base/pty.h base/pty.c base/strings.h base/strings.c base/leftovers.h base/leftovers.c \
	base/param_file.h base/paths.h base/session.h base/sock.h base/topo.h base/topo_module.h \
	base/crc32c.h base/crc32c.c base/cgroup.c base/crypto.c base/fault.c base/fault_points.c base/fault_rules.c base/log.c base/loop.c base/netif.c base/param.c \
	base/param_file.c base/paths.c base/session.c base/sock.c base/topo.c

# The fault points of the transports, each in its folder.
nodist_libbase_la_SOURCES = base/transport_points.inc
base/transport_points.inc: Makefile $(transport_points)
	$(AM_V_GEN)$(MKDIR_P) base && (cd $(srcdir) && cat $(transport_points)) >$@.tmp && mv $@.tmp $@
base/fault_points.lo: base/transport_points.inc
EXTRA_DIST += $(transport_points)
CLEANFILES += base/transport_points.inc

# What needs hwloc, loaded by the first process that asks for cores.
if HAVE_HWLOC
pkglib_LTLIBRARIES += lib/keel-hwloc.la
lib_keel_hwloc_la_SOURCES = base/topo_hwloc.c base/topo.h base/topo_module.h
lib_keel_hwloc_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
lib_keel_hwloc_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_hwloc_la_LIBADD = $(HWLOC_LIBS)
endif
