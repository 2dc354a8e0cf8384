# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/request.h launcher/shepherd.h

# the shepherd, and what stands beside the daemon's core
liblauncher_la_SOURCES += launcher/shepherd.c launcher/shepherd_main.h launcher/shepherd_main.c \
	launcher/spawn.h launcher/spawn.c launcher/spawn_wire.h launcher/spawn_wire.c \
	launcher/sweep.h launcher/sweep.c launcher/session.h launcher/session.c \
	launcher/bytes.h launcher/bytes.c launcher/tags.h launcher/tags.c launcher/stdio.h \
	launcher/stdio.c launcher/bind.h launcher/bind.c \
	launcher/vars.h launcher/vars.c \
	launcher/cmdline.c launcher/help.h launcher/help.c launcher/plan.c launcher/program.c

# the daemon's core, the HNP and the front end
liblauncher_la_SOURCES += launcher/channel.c launcher/channel.h launcher/daemon.c launcher/daemon.h \
	launcher/frontend.c launcher/frontend.h launcher/hnp.c launcher/hnp.h launcher/hnp_end.c \
	launcher/hnp_launch.c launcher/hnp_stdio.c launcher/home.c launcher/home.h launcher/iof.c \
	launcher/iof.h launcher/local.c launcher/orders.c launcher/orders.h launcher/output.c \
	launcher/output.h launcher/plm.c launcher/submit.c launcher/submit.h

# what MPI programs are offered
liblauncher_la_SOURCES += launcher/service.c launcher/service.h launcher/kvs.c launcher/kvs.h \
	launcher/names.c launcher/names.h launcher/pmi1.c launcher/pmi1.h \
	launcher/pmi1_wire.c launcher/pmi1_wire.h

launcher_libs = liblauncher.la libbootserver.la librml.la liboob.la libbase.la
bin_PROGRAMS += bin/keelrun bin/keeld
bin_keelrun_SOURCES = launcher/keelrun.c
bin_keelrun_LDADD = $(launcher_libs)
bin_keeld_SOURCES = launcher/keeld.c
bin_keeld_LDADD = $(launcher_libs)
