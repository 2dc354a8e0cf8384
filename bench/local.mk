# bench: Keel beside its peers. `make bench` runs all; nothing of it is part of `make check`.
bench_common = bench/machine.c bench/machine.h bench/rounds.c bench/rounds.h \
	bench/run.c bench/run.h bench/series.c bench/series.h tools/cli.c tools/cli.h base/text/control.h
bench_pair = bench/pair.c bench/pair.h bench/series.c bench/series.h
noinst_PROGRAMS += bench/launch bench/rml
bench_launch_SOURCES = bench/launch.c $(bench_common)
bench_rml_SOURCES = bench/rml.c $(bench_common)

# What bench/rml starts: two processes each.
noinst_PROGRAMS += bench/rml_keel
bench_rml_keel_SOURCES = bench/rml_keel.c bench/ends.c bench/ends.h $(bench_pair)
bench_rml_keel_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_rml_keel_LDADD = lib/libkeel.la
BENCH_RML = bench/rml$(EXEEXT) bench/rml_keel$(EXEEXT)
if HAVE_ZMQ
noinst_PROGRAMS += bench/rml_zmq
bench_rml_zmq_SOURCES = bench/rml_zmq.c bench/ends.c bench/ends.h $(bench_pair)
bench_rml_zmq_CFLAGS = $(AM_CFLAGS) $(ZMQ_CFLAGS)
bench_rml_zmq_LDADD = $(ZMQ_LIBS)
BENCH_RML += bench/rml_zmq$(EXEEXT)
endif
if HAVE_NNG
noinst_PROGRAMS += bench/rml_nng
bench_rml_nng_SOURCES = bench/rml_nng.c bench/ends.c bench/ends.h $(bench_pair)
bench_rml_nng_LDADD = $(NNG_LIBS)
BENCH_RML += bench/rml_nng$(EXEEXT)
endif

# What bench/compare starts.
noinst_PROGRAMS += bench/compare bench/raw
bench_compare_SOURCES = bench/compare.c bench/compare_tables.h $(bench_common)
bench_raw_SOURCES = bench/raw.c tools/buffer.h $(bench_pair)
noinst_PROGRAMS += bench/passes
bench_passes_SOURCES = bench/passes.c bench/series.c bench/series.h
bench_passes_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_passes_LDADD = lib/libkeel.la
BENCH_COMPARE = bench/compare$(EXEEXT) bench/raw$(EXEEXT) bench/passes$(EXEEXT) bin/keel-perf$(EXEEXT)
if HAVE_FABRIC
noinst_PROGRAMS += bench/dgram
bench_dgram_SOURCES = bench/dgram.c $(bench_pair)
bench_dgram_CFLAGS = $(AM_CFLAGS) $(FABRIC_CFLAGS)
bench_dgram_LDADD = $(FABRIC_LIBS)
BENCH_COMPARE += bench/dgram$(EXEEXT)
endif
if HAVE_OPENMPI
BENCH_COMPARE += bench/pingpong
bench/pingpong: $(top_srcdir)/bench/pingpong.c $(top_srcdir)/tools/buffer.h
	$(AM_V_GEN)$(MKDIR_P) bench && $(MPICC) -O2 -I$(top_srcdir) -o $@ $(top_srcdir)/bench/pingpong.c
CLEANFILES += bench/pingpong
endif
if HAVE_MPICH
BENCH_COMPARE += bench/pingpong.mpich
bench/pingpong.mpich: $(top_srcdir)/bench/pingpong.c $(top_srcdir)/tools/buffer.h
	$(AM_V_GEN)$(MKDIR_P) bench && $(MPICH_MPICC) -O2 -Wno-stringop-overflow -I$(top_srcdir) -o $@ $(top_srcdir)/bench/pingpong.c
CLEANFILES += bench/pingpong.mpich
endif
EXTRA_DIST += bench/pingpong.c bench/ucx-pair bench/fabric-pair bench/pairs

BENCH_HELLOS =
if HAVE_MPICH
BENCH_HELLOS += bench/hello.mpich
endif
if HAVE_OPENMPI
BENCH_HELLOS += bench/hello.openmpi
endif
CLEANFILES += $(BENCH_HELLOS)
EXTRA_DIST += bench/README.md bench/chart.py bench/hello.c

bench-programs: bench/launch$(EXEEXT) $(BENCH_RML) $(BENCH_COMPARE) bin/keelrun$(EXEEXT) bin/keeld$(EXEEXT) $(BENCH_HELLOS) \
	$(pkglib_LTLIBRARIES)

# BENCH_LAUNCH='--rounds 5 --program true' passes options on.
BENCH_LAUNCH =
bench-launch: bench-programs
	bench/launch $(BENCH_LAUNCH)

# Makes the figures of the documents anew, on a machine that is idle.
bench-launch-figures: bench-programs
	bench/launch $(BENCH_LAUNCH) >bench/launch.txt || test $$? = 1
	cp bench/launch.txt '$(top_srcdir)/docs/launch.txt'
	python3 '$(top_srcdir)/bench/chart.py' bench/launch.txt '$(top_srcdir)/docs/pictures/launch.svg'
CLEANFILES += bench/launch.txt

# BENCH_RML_OPTIONS='--rounds 5' passes options on.
BENCH_RML_OPTIONS =
bench-rml: bench-programs
	bench/rml $(BENCH_RML_OPTIONS)
bench-rml-figures: bench-programs
	bench/rml $(BENCH_RML_OPTIONS) >bench/rml.txt || test $$? = 1
	cp bench/rml.txt '$(top_srcdir)/docs/rml.txt'
	python3 '$(top_srcdir)/bench/chart.py' bench/rml.txt '$(top_srcdir)/docs/pictures/rml.svg'
CLEANFILES += bench/rml.txt

# BENCH_COMPARE_OPTIONS='--rounds 3 --only TCP' passes options on.
BENCH_COMPARE_OPTIONS =
bench-compare: bench-programs
	bench/compare --sources '$(top_srcdir)/bench' $(BENCH_COMPARE_OPTIONS)
bench-compare-figures: bench-programs
	bench/compare --sources '$(top_srcdir)/bench' $(BENCH_COMPARE_OPTIONS) >bench/compare.txt || \
		test $$? = 1
	cp bench/compare.txt '$(top_srcdir)/docs/compare.txt'
	python3 '$(top_srcdir)/bench/chart.py' bench/compare.txt '$(top_srcdir)/docs/pictures/compare.svg'
CLEANFILES += bench/compare.txt

bench: bench-launch bench-rml bench-compare
.PHONY: bench-compare bench-compare-figures
.PHONY: bench bench-programs bench-launch bench-launch-figures bench-rml bench-rml-figures
