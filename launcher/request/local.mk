# launcher/request: what keelrun is asked for.
liblauncher_la_SOURCES += launcher/request/allocation.h launcher/request/allocation.c \
	launcher/request/cmdline.c launcher/request/help.h launcher/request/help.c \
	launcher/request/hostlist.h launcher/request/hostlist.c launcher/request/mca_names.h \
	launcher/request/mca_names.c launcher/request/run_request.h launcher/request/submit.h \
	launcher/request/submit.c launcher/request/suggest.h launcher/request/suggest.c
# What the words of --mca are looked up in.
nodist_liblauncher_la_SOURCES = launcher/request/mca_table.inc
launcher/request/mca_table.inc: $(top_srcdir)/launcher/request/mca_table.awk $(top_srcdir)/docs/parameters.md \
		$(top_srcdir)/launcher/request/openmpi_names.txt
	$(AM_V_GEN)$(MKDIR_P) launcher/request && LC_ALL=C $(AWK) -f $(top_srcdir)/launcher/request/mca_table.awk \
		$(top_srcdir)/docs/parameters.md $(top_srcdir)/launcher/request/openmpi_names.txt >$@.tmp && \
		mv $@.tmp $@
# its object's name, with flags of liblauncher's own and without
launcher/request/mca_names.lo launcher/request/liblauncher_la-mca_names.lo: launcher/request/mca_table.inc
EXTRA_DIST += launcher/request/mca_table.awk launcher/request/openmpi_names.txt
CLEANFILES += launcher/request/mca_table.inc
EXTRA_DIST += launcher/request/README.md
