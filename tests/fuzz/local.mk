# fuzz: targets for libFuzzer, whose corpora are tests as well.
FUZZ_TESTS = \
	tests/fuzz/contact tests/fuzz/handshake tests/fuzz/frames tests/fuzz/rml tests/fuzz/dss \
	tests/fuzz/proto tests/fuzz/job tests/fuzz/hostlist tests/fuzz/cmdline tests/fuzz/params \
	tests/fuzz/pmi1 tests/fuzz/tcp tests/fuzz/session tests/fuzz/shepherd tests/fuzz/pack \
	tests/fuzz/rail tests/fuzz/usnic tests/fuzz/where
if OFFER_PMIX
FUZZ_TESTS += tests/fuzz/pmix
endif
check_PROGRAMS += $(FUZZ_TESTS)

# With --enable-fuzzers libFuzzer has the main program.
fuzz_common = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
if FUZZERS
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_ldflags = $(AM_LDFLAGS)
fuzz_common += tests/fuzz/replay.c
endif
fuzz_oob_libs = liboob.la libbase.la
fuzz_launcher_libs = liblauncher.la libwireup.la librml.la liboob.la libbase.la

tests_fuzz_contact_SOURCES = tests/fuzz/contact.c $(fuzz_common)
tests_fuzz_contact_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_contact_LDADD = $(fuzz_oob_libs)
tests_fuzz_handshake_SOURCES = tests/fuzz/handshake.c $(fuzz_common)
tests_fuzz_handshake_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_handshake_LDADD = $(fuzz_oob_libs)
tests_fuzz_frames_SOURCES = tests/fuzz/frames.c $(fuzz_common)
tests_fuzz_frames_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_frames_LDADD = $(fuzz_oob_libs)
tests_fuzz_rml_SOURCES = tests/fuzz/rml.c $(fuzz_common)
tests_fuzz_rml_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_rml_LDADD = librml.la $(fuzz_oob_libs)
tests_fuzz_pack_SOURCES = tests/fuzz/pack.c $(fuzz_common)
tests_fuzz_pack_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_pack_LDADD = librml.la $(fuzz_oob_libs)
tests_fuzz_dss_SOURCES = tests/fuzz/dss.c $(fuzz_common)
tests_fuzz_dss_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_dss_LDADD = libbase.la
tests_fuzz_proto_SOURCES = tests/fuzz/proto.c $(fuzz_common)
tests_fuzz_proto_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_proto_LDADD = $(fuzz_launcher_libs)
tests_fuzz_job_SOURCES = tests/fuzz/job.c $(fuzz_common)
tests_fuzz_job_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_job_LDADD = $(fuzz_launcher_libs)
tests_fuzz_hostlist_SOURCES = tests/fuzz/hostlist.c $(fuzz_common)
tests_fuzz_hostlist_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_hostlist_LDADD = $(fuzz_launcher_libs)
tests_fuzz_cmdline_SOURCES = tests/fuzz/cmdline.c $(fuzz_common)
tests_fuzz_cmdline_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_cmdline_LDADD = $(fuzz_launcher_libs)
tests_fuzz_params_SOURCES = tests/fuzz/params.c $(fuzz_common)
tests_fuzz_params_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_params_LDADD = libbase.la
tests_fuzz_pmi1_SOURCES = tests/fuzz/pmi1.c $(fuzz_common)
tests_fuzz_pmi1_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_pmi1_LDADD = $(fuzz_launcher_libs)
tests_fuzz_tcp_SOURCES = tests/fuzz/tcp.c $(fuzz_common)
tests_fuzz_tcp_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_tcp_LDADD = libbtl.la libbase.la
tests_fuzz_rail_SOURCES = tests/fuzz/rail.c $(fuzz_common)
tests_fuzz_rail_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_rail_LDADD = libptl.la libbtl.la libbase.la
tests_fuzz_usnic_SOURCES = tests/fuzz/usnic.c $(fuzz_common)
tests_fuzz_usnic_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_usnic_LDADD = libbtl.la libbase.la
tests_fuzz_session_SOURCES = tests/fuzz/session.c $(fuzz_common)
tests_fuzz_session_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_session_LDADD = libbtl.la libbase.la
tests_fuzz_shepherd_SOURCES = tests/fuzz/shepherd.c $(fuzz_common)
tests_fuzz_shepherd_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_shepherd_LDADD = $(fuzz_launcher_libs)
tests_fuzz_where_SOURCES = tests/fuzz/where.c $(fuzz_common)
tests_fuzz_where_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_where_LDADD = $(fuzz_launcher_libs)
if OFFER_PMIX
tests_fuzz_pmix_SOURCES = tests/fuzz/pmix.c $(fuzz_common)
tests_fuzz_pmix_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_pmix_LDADD = $(fuzz_launcher_libs)
endif

# make fuzz [FUZZ_SECONDS=60] [FUZZ='contact dss']: a build with libFuzzer in fuzz/, and each target
# for so long. make fuzz-corpus takes what they found into the tree.
FUZZ_SECONDS = 60
FUZZ = $(FUZZ_TESTS)
fuzz:
	$(SHELL) '$(srcdir)/tests/fuzz/run' '$(abs_top_srcdir)' fuzz '$(FUZZ_SECONDS)' $(FUZZ)
fuzz-corpus:
	$(SHELL) '$(srcdir)/tests/fuzz/run' '$(abs_top_srcdir)' fuzz merge $(FUZZ)
fuzz-programs: $(FUZZ_TESTS)
.PHONY: fuzz fuzz-corpus fuzz-programs
