# bench: Keel beside its peers. `make bench` runs all; nothing of it is part of `make check`.
noinst_PROGRAMS += bench/launch
bench_launch_SOURCES = bench/launch.c bench/machine.c bench/machine.h bench/run.c bench/run.h \
	bench/series.c bench/series.h

BENCH_HELLOS =
if HAVE_MPICH
BENCH_HELLOS += bench/hello.mpich
endif
if HAVE_OPENMPI
BENCH_HELLOS += bench/hello.openmpi
endif
CLEANFILES += $(BENCH_HELLOS)
EXTRA_DIST += bench/README.md bench/chart.py bench/hello.c

bench-programs: bench/launch$(EXEEXT) bin/keelrun$(EXEEXT) bin/keeld$(EXEEXT) $(BENCH_HELLOS) \
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

bench: bench-launch
.PHONY: bench bench-programs bench-launch bench-launch-figures
