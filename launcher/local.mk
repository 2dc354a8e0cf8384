# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/daemon.h launcher/daemon.c launcher/hnp.h launcher/hnp.c \
	launcher/hnp_end.c launcher/hnp_launch.c launcher/hnp_repair.c launcher/hnp_silence.c \
	launcher/hnp_spawn.c launcher/hnp_stdio.c launcher/hnp_uri.c launcher/home.h \
	launcher/home.c launcher/iof.h launcher/iof.c launcher/kvs.h launcher/kvs.c \
	launcher/limits.h launcher/limits.c launcher/local.c launcher/names.h launcher/names.c \
	launcher/orders.h launcher/orders.c launcher/plm.h launcher/plm.c launcher/plm_rsh.c \
	launcher/plm_slurm.c launcher/pmi1.h launcher/pmi1.c launcher/pmi1_barrier.c \
	launcher/pmi1_client.c launcher/pmi1_internal.h launcher/pmi1_requests.c \
	launcher/pmi1_wire.h launcher/pmi1_wire.c launcher/repair.h launcher/repair.c \
	launcher/service.h launcher/service.c launcher/spawned.c launcher/step.h launcher/step.c \
	launcher/tools.h launcher/tools.c
include $(srcdir)/launcher/shepherd/local.mk
include $(srcdir)/launcher/request/local.mk
include $(srcdir)/launcher/map/local.mk
include $(srcdir)/launcher/front/local.mk
include $(srcdir)/launcher/node/local.mk
include $(srcdir)/launcher/pmix/local.mk

launcher_libs = liblauncher.la libwireup.la librml.la liboob.la libbase.la
bin_PROGRAMS += bin/keelrun bin/keeld
bin_keelrun_SOURCES = launcher/keelrun.c
bin_keelrun_LDADD = $(launcher_libs)
bin_keeld_SOURCES = launcher/keeld.c
bin_keeld_LDADD = $(launcher_libs)
