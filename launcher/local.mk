# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/hnp.h launcher/hnp.c launcher/hnp_end.c launcher/hnp_launch.c \
	launcher/hnp_repair.c launcher/hnp_silence.c launcher/hnp_spawn.c launcher/hnp_stdio.c \
	launcher/hnp_uri.c launcher/plm.h launcher/plm.c launcher/plm_rsh.c launcher/plm_slurm.c \
	launcher/services.h launcher/services.c launcher/step.h launcher/step.c launcher/tools.h \
	launcher/tools.c
include $(srcdir)/launcher/shepherd/local.mk
include $(srcdir)/launcher/request/local.mk
include $(srcdir)/launcher/map/local.mk
include $(srcdir)/launcher/front/local.mk
include $(srcdir)/launcher/node/local.mk
include $(srcdir)/launcher/pmi1/local.mk
include $(srcdir)/launcher/pmix/local.mk

launcher_libs = liblauncher.la libwireup.la librml.la liboob.la libbase.la
bin_PROGRAMS += bin/keelrun bin/keeld
bin_keelrun_SOURCES = launcher/keelrun.c
bin_keelrun_LDADD = $(launcher_libs)
bin_keeld_SOURCES = launcher/keeld.c
bin_keeld_LDADD = $(launcher_libs)
