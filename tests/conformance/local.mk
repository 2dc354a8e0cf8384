# conformance: one suite per interface, run over every implementation.
check_PROGRAMS += tests/conformance/btl
btl_suite = tests/conformance/btl.h tests/conformance/btl.c \
	tests/conformance/btl_table.c tests/conformance/btl_send.c tests/conformance/btl_stream.c \
	tests/conformance/btl_rdma.c tests/conformance/btl_atomics.c tests/conformance/btl_breaches.c \
	tests/conformance/btl_faults.c tests/conformance/btl_load.c tests/conformance/btl_ends.c tests/conformance/btl_ext.c \
	tests/conformance/btl_flags.c tests/conformance/btl_ftevent.c tests/conformance/btl_inside.c \
	tests/conformance/btl_sleep.c tests/conformance/btl_channels.c \
	tests/lib/minihost.h tests/lib/minihost.c tests/lib/pattern.h
tests_conformance_btl_SOURCES = $(btl_suite)
tests_conformance_btl_LDADD = libbtl.la libbase.la
# The same over the template for new transports, whose registry replaces the library's.
check_PROGRAMS += tests/conformance/btl-udgram
tests_conformance_btl_udgram_SOURCES = $(btl_suite) $(UDGRAM) tests/lib/udgram/registry.c
tests_conformance_btl_udgram_LDADD = libbtl.la libbase.la

# Locks, puts and gets: stale.sh runs it over every module.
check_PROGRAMS += tests/conformance/stale
tests_conformance_stale_SOURCES = tests/conformance/stale.c tests/lib/minihost.h tests/lib/minihost.c
tests_conformance_stale_LDADD = libbtl.la libbase.la

check_PROGRAMS += tests/conformance/no-single-copy
tests_conformance_no_single_copy_SOURCES = tests/conformance/no-single-copy.c

# Programs written for ORTE: the old include paths alone.
old_conformance = tests/conformance/compat/life tests/conformance/compat/old13 tests/conformance/compat/buffers \
	tests/conformance/compat/events tests/conformance/compat/matching tests/conformance/compat/classes \
	tests/conformance/compat/contact tests/conformance/compat/errors
check_PROGRAMS += $(old_conformance)
check_LTLIBRARIES += tests/conformance/compat/libold.la
tests_conformance_compat_libold_la_SOURCES = tests/conformance/compat/old.h \
	tests/conformance/compat/old.c
tests_conformance_compat_libold_la_CPPFLAGS = $(COMPAT_CPPFLAGS)
old_link_libs = tests/conformance/compat/libold.la lib/libkeel.la
old_link_flags = $(AM_LDFLAGS) -no-install
tests_conformance_compat_life_SOURCES = tests/conformance/compat/life.c
tests_conformance_compat_life_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_life_LDFLAGS = $(old_link_flags)
tests_conformance_compat_life_LDADD = $(old_link_libs)
tests_conformance_compat_old13_SOURCES = tests/conformance/compat/old13.c
tests_conformance_compat_old13_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_old13_LDFLAGS = $(old_link_flags)
tests_conformance_compat_old13_LDADD = lib/libkeel.la
tests_conformance_compat_buffers_SOURCES = tests/conformance/compat/buffers.c
tests_conformance_compat_buffers_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_buffers_LDFLAGS = $(old_link_flags)
tests_conformance_compat_buffers_LDADD = $(old_link_libs)
tests_conformance_compat_events_SOURCES = tests/conformance/compat/events.c
tests_conformance_compat_events_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_events_LDFLAGS = $(old_link_flags)
tests_conformance_compat_events_LDADD = $(old_link_libs)
tests_conformance_compat_matching_SOURCES = tests/conformance/compat/matching.c
tests_conformance_compat_matching_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_matching_LDFLAGS = $(old_link_flags)
tests_conformance_compat_matching_LDADD = $(old_link_libs)
tests_conformance_compat_classes_SOURCES = tests/conformance/compat/classes.c
tests_conformance_compat_classes_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_classes_LDFLAGS = $(old_link_flags)
tests_conformance_compat_classes_LDADD = $(old_link_libs)
tests_conformance_compat_contact_SOURCES = tests/conformance/compat/contact.c
tests_conformance_compat_contact_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_contact_LDFLAGS = $(old_link_flags)
tests_conformance_compat_contact_LDADD = $(old_link_libs)
tests_conformance_compat_errors_SOURCES = tests/conformance/compat/errors.c
tests_conformance_compat_errors_CPPFLAGS = $(COMPAT_CPPFLAGS)
tests_conformance_compat_errors_LDFLAGS = $(old_link_flags)
tests_conformance_compat_errors_LDADD = $(old_link_libs)

# The matrix of orte_rml: function x flags x outcome (tests/conformance/rml/table.c).
rml_matrix = tests/conformance/rml/matrix.h tests/conformance/rml/call.h \
	tests/conformance/rml/cells.h tests/conformance/rml/table.c tests/conformance/rml/call.c \
	tests/conformance/rml/sends.c tests/conformance/rml/receives.c \
	tests/conformance/rml/others.c tests/conformance/rml/refusals.c tests/conformance/rml/memory.c \
	tests/conformance/rml/exceptions.c tests/conformance/rml/pings.c \
	tests/conformance/rml/names.c tests/conformance/rml/checkpoints.c
check_PROGRAMS += tests/conformance/rml/job
tests_conformance_rml_job_SOURCES = tests/conformance/rml/job.c $(rml_matrix)
tests_conformance_rml_job_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_conformance_rml_job_LDADD = lib/libkeel.la
check_PROGRAMS += tests/conformance/rml/visit
tests_conformance_rml_visit_SOURCES = tests/conformance/rml/visit.c $(rml_matrix)
tests_conformance_rml_visit_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_conformance_rml_visit_LDADD = lib/libkeel.la
check_PROGRAMS += tests/conformance/rml/failures
tests_conformance_rml_failures_SOURCES = tests/conformance/rml/failures.c $(rml_matrix) \
	$(RML_CLUSTER)
tests_conformance_rml_failures_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la

# Messages by source and tag, over a simulated PTL and over modules.
check_PROGRAMS += tests/conformance/tagged/suite
tests_conformance_tagged_suite_SOURCES = tests/conformance/tagged/suite.h tests/conformance/tagged/suite.c \
	tests/conformance/tagged/simulation.c tests/conformance/tagged/modules.c tests/conformance/tagged/messages.c \
	tests/conformance/tagged/requests.c tests/conformance/tagged/plan.c $(pml_world) \
	tests/lib/minihost.h tests/lib/minihost.c tests/lib/pattern.h
tests_conformance_tagged_suite_LDADD = libpml.la libptl.la libbtl.la libbase.la

# BTL 2.0 over every module: btl2.sh runs it.
check_PROGRAMS += tests/conformance/btl2/suite
tests_conformance_btl2_suite_SOURCES = tests/conformance/btl2/suite.h tests/conformance/btl2/suite.c \
	tests/conformance/btl2/sends.c tests/conformance/btl2/accesses.c tests/lib/minihost.h tests/lib/minihost.c
tests_conformance_btl2_suite_LDADD = libbtl2.la libbtl.la libbase.la
