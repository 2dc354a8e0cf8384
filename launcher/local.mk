# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/keeld_main.h launcher/keeld_main.c launcher/run.h launcher/run.c launcher/services.h launcher/services.c
include $(srcdir)/launcher/shepherd/local.mk
include $(srcdir)/launcher/agent/local.mk
include $(srcdir)/launcher/request/local.mk
include $(srcdir)/launcher/map/local.mk
include $(srcdir)/launcher/job/local.mk
include $(srcdir)/launcher/front/local.mk
include $(srcdir)/launcher/node/local.mk
include $(srcdir)/launcher/pmi1/local.mk
include $(srcdir)/launcher/pmix/local.mk
include $(srcdir)/launcher/standing/local.mk
include $(srcdir)/launcher/plm/local.mk
include $(srcdir)/launcher/head/local.mk

launcher_libs = liblauncher.la libwireup.la librml.la liboob.la libbase.la
bin_PROGRAMS += bin/keelrun bin/keeld bin/keel-dvm
bin_keelrun_SOURCES = launcher/keelrun.c
bin_keelrun_LDADD = $(launcher_libs)
bin_keelrun_LDFLAGS = -Wl,-z,now
bin_keeld_SOURCES = launcher/keeld.c
bin_keeld_LDADD = $(launcher_libs)
bin_keeld_LDFLAGS = -Wl,-z,now
bin_keel_dvm_SOURCES = launcher/keel_dvm.c
bin_keel_dvm_LDADD = $(launcher_libs)
bin_keel_dvm_LDFLAGS = -Wl,-z,now
