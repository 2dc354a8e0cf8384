# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/request.h launcher/shepherd.h

# the shepherd, and what stands beside the daemon's core
liblauncher_la_SOURCES += launcher/shepherd.c launcher/shepherd_main.h launcher/shepherd_main.c \
	launcher/spawn.h launcher/spawn.c launcher/spawn_wire.h launcher/spawn_wire.c \
	launcher/sweep.h launcher/sweep.c launcher/session.h launcher/session.c \
	launcher/bytes.h launcher/bytes.c launcher/tags.h launcher/tags.c launcher/stdio.h \
	launcher/stdio.c launcher/bind.h launcher/bind.c \
	launcher/cmdline.c launcher/help.h launcher/help.c launcher/plan.c launcher/program.c
