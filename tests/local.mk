# tests: unit, conformance, system, lint.
include $(srcdir)/tests/unit/base/local.mk
include $(srcdir)/tests/unit/oob/local.mk
include $(srcdir)/tests/unit/rml/local.mk
include $(srcdir)/tests/unit/btl/local.mk
include $(srcdir)/tests/unit/bootstrap/local.mk
include $(srcdir)/tests/unit/compat/local.mk
include $(srcdir)/tests/unit/launcher/local.mk
include $(srcdir)/tests/conformance/local.mk
include $(srcdir)/tests/mpi/local.mk
include $(srcdir)/tests/pmix/local.mk
include $(srcdir)/tests/system/local.mk
include $(srcdir)/tests/long/local.mk
include $(srcdir)/tests/fuzz/local.mk
include $(srcdir)/tests/lint/local.mk

# What unit tests share: main, TAP output, time limits (tests/lib/unit.h).
check_LTLIBRARIES += tests/lib/libunit.la
tests_lib_libunit_la_SOURCES = tests/lib/unit.h tests/lib/unit.c
tests_lib_libunit_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lib_libunit_la_LIBADD = $(CHECK_LIBS)
# For tests of what reads messages.
DECODER = tests/lib/decoder.h tests/lib/decoder.c
check_PROGRAMS += $(UNIT_TESTS)
