# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/allocation.h launcher/allocation.c launcher/bind.h \
	launcher/bind.c launcher/channel.h launcher/channel.c launcher/cmdline.c launcher/daemon.h \
	launcher/daemon.c launcher/frontend.h launcher/frontend.c launcher/help.h launcher/help.c \
	launcher/hnp.h launcher/hnp.c launcher/hnp_end.c launcher/hnp_launch.c \
	launcher/hnp_repair.c launcher/hnp_silence.c launcher/hnp_spawn.c launcher/hnp_stdio.c \
	launcher/hnp_uri.c launcher/home.h launcher/home.c launcher/hostlist.h launcher/hostlist.c \
	launcher/iof.h launcher/iof.c launcher/kvs.h launcher/kvs.c launcher/limits.h \
	launcher/limits.c launcher/local.c launcher/mca_names.h launcher/mca_names.c \
	launcher/names.h launcher/names.c launcher/orders.h launcher/orders.c launcher/outfile.h \
	launcher/outfile.c launcher/output.h launcher/output.c launcher/plan.c launcher/plm.h \
	launcher/plm.c launcher/plm_rsh.c launcher/plm_slurm.c launcher/pmi1.h launcher/pmi1.c \
	launcher/pmi1_barrier.c launcher/pmi1_client.c launcher/pmi1_internal.h \
	launcher/pmi1_requests.c launcher/pmi1_wire.h launcher/pmi1_wire.c launcher/repair.h \
	launcher/repair.c launcher/request.h launcher/service.h launcher/service.c \
	launcher/spawned.c launcher/stdio.h launcher/stdio.c launcher/step.h launcher/step.c \
	launcher/submit.h launcher/submit.c launcher/suggest.h launcher/suggest.c launcher/tags.h \
	launcher/tags.c launcher/tools.h launcher/tools.c
# What the words of --mca are looked up in.
nodist_liblauncher_la_SOURCES = launcher/mca_table.inc
launcher/mca_table.inc: $(top_srcdir)/launcher/mca_table.awk $(top_srcdir)/docs/parameters.md \
		$(top_srcdir)/launcher/openmpi_names.txt
	$(AM_V_GEN)$(MKDIR_P) launcher && LC_ALL=C $(AWK) -f $(top_srcdir)/launcher/mca_table.awk \
		$(top_srcdir)/docs/parameters.md $(top_srcdir)/launcher/openmpi_names.txt >$@.tmp && \
		mv $@.tmp $@
# its object's name, with flags of liblauncher's own and without
launcher/mca_names.lo launcher/liblauncher_la-mca_names.lo: launcher/mca_table.inc
EXTRA_DIST += launcher/mca_table.awk launcher/openmpi_names.txt
CLEANFILES += launcher/mca_table.inc
include $(srcdir)/launcher/shepherd/local.mk
include $(srcdir)/launcher/node/local.mk
include $(srcdir)/launcher/pmix/local.mk

launcher_libs = liblauncher.la libwireup.la librml.la liboob.la libbase.la
bin_PROGRAMS += bin/keelrun bin/keeld
bin_keelrun_SOURCES = launcher/keelrun.c
bin_keelrun_LDADD = $(launcher_libs)
bin_keeld_SOURCES = launcher/keeld.c
bin_keeld_LDADD = $(launcher_libs)
