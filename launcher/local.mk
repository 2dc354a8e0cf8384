# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la

# the shepherd
liblauncher_la_SOURCES = launcher/shepherd.h launcher/shepherd.c launcher/shepherd_main.h \
	launcher/shepherd_main.c launcher/event_queue.h launcher/event_queue.c launcher/procs.h \
	launcher/procs.c launcher/spawn.h launcher/spawn.c launcher/spawn_wire.h \
	launcher/spawn_wire.c launcher/sweep.h launcher/sweep.c

# what keelrun is told, and makes of it
liblauncher_la_SOURCES += launcher/request.h launcher/cmdline.c launcher/help.h launcher/help.c \
	launcher/allocation.h launcher/allocation.c launcher/hostlist.h launcher/hostlist.c \
	launcher/plan.c launcher/bind.h launcher/bind.c \
	launcher/program.c launcher/submit.h launcher/submit.c \
	 launcher/suggest.h launcher/suggest.c launcher/mca_names.h \
	launcher/mca_names.c launcher/vars.h launcher/vars.c
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

# the front end
liblauncher_la_SOURCES += launcher/channel.h launcher/channel.c launcher/frontend.h \
	launcher/frontend.c launcher/outfile.h launcher/outfile.c launcher/output.h launcher/output.c launcher/stdio.h \
	launcher/stdio.c launcher/tags.h launcher/tags.c

# the HNP, and how it starts daemons
liblauncher_la_SOURCES += launcher/hnp.h launcher/hnp.c launcher/hnp_end.c launcher/hnp_launch.c \
	launcher/hnp_repair.c launcher/hnp_silence.c launcher/hnp_spawn.c launcher/hnp_stdio.c launcher/hnp_uri.c launcher/plm.h launcher/plm.c \
	launcher/plm_rsh.c launcher/plm_slurm.c launcher/step.h launcher/step.c launcher/home.h launcher/home.c

# a daemon and its ranks
liblauncher_la_SOURCES += launcher/daemon.h launcher/daemon.c launcher/local.c launcher/iof.h \
	launcher/iof.c launcher/limits.h launcher/limits.c launcher/repair.h launcher/repair.c launcher/orders.h launcher/orders.c launcher/spawned.c

include $(srcdir)/launcher/node/local.mk

# what MPI programs are offered
liblauncher_la_SOURCES += launcher/service.c launcher/service.h launcher/kvs.c launcher/kvs.h \
	launcher/names.c launcher/names.h launcher/tools.c launcher/tools.h launcher/pmi1.c launcher/pmi1.h \
	launcher/pmi1_barrier.c launcher/pmi1_client.c launcher/pmi1_internal.h \
	launcher/pmi1_requests.c launcher/pmi1_wire.c launcher/pmi1_wire.h

# PMIx: what stands in keelrun and keeld, and the module that needs libpmix
if OFFER_PMIX
liblauncher_la_SOURCES += launcher/pmix/environment.c launcher/pmix/errand.c \
	launcher/pmix/exchange.h launcher/pmix/exchange.c launcher/pmix/exchange_internal.h \
	launcher/pmix/found.c launcher/pmix/gather.c launcher/pmix/goodbye.h \
	launcher/pmix/goodbye.c launcher/pmix/guard.h launcher/pmix/guard.c \
	launcher/pmix/hangups.h launcher/pmix/hangups.c launcher/pmix/host.c \
	launcher/pmix/job_check.h launcher/pmix/job_check.c launcher/pmix/keeper.c \
	launcher/pmix/listener.h launcher/pmix/listener.c launcher/pmix/module.h \
	launcher/pmix/nspace.h launcher/pmix/nspace.c launcher/pmix/offer.h \
	launcher/pmix/offer.c launcher/pmix/offer_internal.h launcher/pmix/published.h \
	launcher/pmix/published.c launcher/pmix/ranks.c launcher/pmix/rendezvous.h \
	launcher/pmix/rendezvous.c launcher/pmix/starter.h launcher/pmix/starter.c \
	launcher/pmix/states.c launcher/pmix/vet.h launcher/pmix/vet.c
liblauncher_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
pkglib_LTLIBRARIES += lib/keel-pmix.la
lib_keel_pmix_la_SOURCES = launcher/pmix/control.c launcher/pmix/dmodex.c launcher/pmix/events.c \
	launcher/pmix/fence.c launcher/pmix/found.c launcher/pmix/group.c \
	launcher/pmix/job_check.c launcher/pmix/log.c launcher/pmix/module.h \
	launcher/pmix/module.c launcher/pmix/module_internal.h launcher/pmix/publish.c \
	launcher/pmix/query.c launcher/pmix/registration.c launcher/pmix/repair.c \
	launcher/pmix/spawn.c launcher/pmix/states.c launcher/pmix/worker.c
lib_keel_pmix_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS) $(HWLOC_CFLAGS)
lib_keel_pmix_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_pmix_la_LIBADD = $(PMIX_LIBS) $(HWLOC_LIBS)
endif

launcher_libs = liblauncher.la libwireup.la librml.la liboob.la libbase.la
bin_PROGRAMS += bin/keelrun bin/keeld
bin_keelrun_SOURCES = launcher/keelrun.c
bin_keelrun_LDADD = $(launcher_libs)
bin_keeld_SOURCES = launcher/keeld.c
bin_keeld_LDADD = $(launcher_libs)
