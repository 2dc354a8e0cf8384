# tests: unit, conformance, system, lint.
# A clock that jumps over the time in which all of a test's threads sleep.
TEST_CLOCK = tests/lib/clock.c tests/lib/clock.h
# The template for new transports (docs/add-a-transport.md).
UDGRAM = tests/lib/udgram/udgram.h tests/lib/udgram/udgram.c tests/lib/udgram/peer.c \
	tests/lib/udgram/wire.h tests/lib/udgram/wire.c
include $(srcdir)/tests/unit/base/local.mk
include $(srcdir)/tests/unit/oob/local.mk
include $(srcdir)/tests/unit/rml/local.mk
include $(srcdir)/tests/unit/btl/local.mk
include $(srcdir)/tests/unit/btl2/local.mk
include $(srcdir)/tests/unit/ptl/local.mk
include $(srcdir)/tests/unit/pml/local.mk
include $(srcdir)/tests/unit/wireup/local.mk
include $(srcdir)/tests/unit/bootstrap/local.mk
include $(srcdir)/tests/unit/compat/local.mk
include $(srcdir)/tests/unit/launcher/local.mk
include $(srcdir)/tests/unit/tools/local.mk
include $(srcdir)/tests/unit/lib/local.mk
include $(srcdir)/tests/conformance/local.mk
include $(srcdir)/tests/mpi/local.mk
include $(srcdir)/tests/pmix/local.mk
include $(srcdir)/tests/system/local.mk
include $(srcdir)/tests/fuzz/local.mk

# What unit tests share: main, TAP output, time limits (tests/lib/unit.h).
check_LTLIBRARIES += tests/lib/libunit.la
tests_lib_libunit_la_SOURCES = tests/lib/unit.h tests/lib/unit.c
tests_lib_libunit_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lib_libunit_la_LIBADD = $(CHECK_LIBS)
# What a bad network does to packets, and a wire for datagrams in virtual time.
check_LTLIBRARIES += tests/lib/libwire.la
tests_lib_libwire_la_SOURCES = tests/lib/impair.c tests/lib/impair.h \
	tests/lib/sim/queue.c tests/lib/sim/queue.h tests/lib/sim/wire.c tests/lib/sim/wire.h
# The same between network namespaces, in real time.
check_PROGRAMS += tests/lib/cable
tests_lib_cable_SOURCES = tests/lib/cable.c
tests_lib_cable_LDADD = tests/lib/libwire.la
# For tests of what reads messages.
DECODER = tests/lib/decoder.h tests/lib/decoder.c

# tests/table lists the tests; tests/run runs them.
tests_run = KEEL_TEST_SRCDIR='$(abs_top_srcdir)' KEEL_TEST_BUILDDIR='$(abs_top_builddir)' \
	KEEL_TEST_MPICC='$(MPICC)' KEEL_TEST_MPICH_MPICC='$(MPICH_MPICC)' \
	$(SHELL) '$(srcdir)/tests/run'
check-programs: $(check_PROGRAMS) $(check_LTLIBRARIES) $(check_DATA)
check-local: check-programs
	$(AM_V_at)$(tests_run) $(TESTS)
check-long: all check-programs
	$(AM_V_at)$(tests_run) --long
.PHONY: check-programs check-long

# What no program names as its source: scripts, and what they read.
dist-hook:
	(cd '$(srcdir)' && find tests -type f | \
		grep -E '(/table|/run|/netns-agent|/slurm-cluster|/corpus/.*|\.(c|cc|h|sh|supp|md|mk))$$' | \
		tar -cf - -T -) | tar -C '$(distdir)' -xf -
