# tools: programs for users, over the installed headers and libkeel alone.
bin_PROGRAMS += bin/keel-perf
bin_keel_perf_SOURCES = tools/perf/main.c tools/perf/accesses.c tools/perf/btl2.c tools/perf/measure.c \
	tools/perf/measure.h tools/perf/messages.c tools/perf/options.c tools/perf/options.h \
	tools/perf/pair.c tools/perf/pair.h tools/perf/place.c tools/perf/place.h \
	tools/perf/plot.c tools/perf/plot.h tools/perf/report.c tools/perf/report.h \
	tools/perf/tagged.c tools/perf/test.h tools/perf/wake.c
# A real executable in the build, too: past libtool, which would put a script there.
bin_keel_perf_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib/.libs:$(libdir)'
bin_keel_perf_LDADD = lib/.libs/libkeel.so -lm
bin_keel_perf_DEPENDENCIES = lib/libkeel.la
EXTRA_DIST += tools/README.md
