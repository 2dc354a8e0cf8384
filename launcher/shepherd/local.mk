# launcher/shepherd: starts, watches and ends processes.
liblauncher_la_SOURCES += launcher/shepherd/event_queue.h launcher/shepherd/event_queue.c \
	launcher/shepherd/exec.h launcher/shepherd/exec.c launcher/shepherd/procs.h \
	launcher/shepherd/procs.c launcher/shepherd/program.h launcher/shepherd/program.c \
	launcher/shepherd/shepherd.h launcher/shepherd/shepherd.c \
	launcher/shepherd/shepherd_main.h launcher/shepherd/shepherd_main.c \
	launcher/shepherd/shepherd_wire.h launcher/shepherd/shepherd_wire.c \
	launcher/shepherd/sweep.h launcher/shepherd/sweep.c launcher/shepherd/vars.h \
	launcher/shepherd/vars.c
# Loaded into programs of others: nothing of Keel's, and no sanitizer, comes with it.
pkglib_LTLIBRARIES += lib/keel-crash.la
lib_keel_crash_la_SOURCES = launcher/shepherd/crash.h launcher/shepherd/crash.c
lib_keel_crash_la_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
lib_keel_crash_la_LDFLAGS = -module -avoid-version -shared -Wc,-fno-sanitize=all
EXTRA_DIST += launcher/shepherd/README.md
