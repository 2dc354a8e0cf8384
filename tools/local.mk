# tools: programs for users, over the installed headers and libkeel alone.
bin_PROGRAMS += bin/keel-info bin/keel-perf bin/keel-ps
bin_keel_perf_SOURCES = tools/buffer.h tools/cli.c tools/cli.h base/text/control.h tools/json.c tools/json.h \
	base/text/json.c base/text/json.h tools/perf/main.c tools/perf/accesses.c tools/perf/btl2.c tools/perf/measure.c \
	tools/perf/measure.h tools/perf/messages.c tools/perf/options.c tools/perf/options.h \
	tools/perf/pair.c tools/perf/pair.h tools/perf/place.c tools/perf/place.h \
	tools/perf/plot.c tools/perf/plot.h tools/perf/report.c tools/perf/report.h \
	tools/perf/tagged.c tools/perf/test.h tools/perf/tests.c tools/perf/wake.c
# A real executable in the build, too: past libtool, which would put a script there.
bin_keel_perf_CFLAGS = $(AM_CFLAGS)
bin_keel_perf_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib/.libs:$(libdir)'
bin_keel_perf_LDADD = lib/.libs/libkeel.so -lm
bin_keel_perf_DEPENDENCIES = lib/libkeel.la

bin_keel_info_SOURCES = tools/cli.c tools/cli.h base/text/control.h tools/json.c tools/json.h \
	base/text/json.c base/text/json.h tools/info/launcher.c tools/info/launcher.h \
	tools/info/main.c tools/info/options.c tools/info/options.h tools/info/params.c \
	tools/info/params.h tools/info/show.h tools/info/show_json.c tools/info/show_md.c \
	tools/info/show_text.c
bin_keel_info_CFLAGS = $(AM_CFLAGS)
bin_keel_info_LDFLAGS = $(bin_keel_perf_LDFLAGS)
bin_keel_info_LDADD = lib/.libs/libkeel.so
bin_keel_info_DEPENDENCIES = lib/libkeel.la

bin_keel_ps_SOURCES = tools/cli.c tools/cli.h base/text/control.h tools/json.c tools/json.h \
	base/text/json.c base/text/json.h tools/ps/asked.c tools/ps/asked.h tools/ps/main.c \
	tools/ps/options.c tools/ps/options.h tools/ps/show.c tools/ps/show.h tools/ps/show_json.c \
	tools/ps/show_text.c
bin_keel_ps_CFLAGS = $(AM_CFLAGS)
bin_keel_ps_LDFLAGS = $(bin_keel_perf_LDFLAGS)
bin_keel_ps_LDADD = lib/.libs/libkeel.so
bin_keel_ps_DEPENDENCIES = lib/libkeel.la
EXTRA_DIST += tools/README.md
