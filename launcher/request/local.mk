# launcher/request: what keelrun is asked for.
liblauncher_la_SOURCES += launcher/request/allocation.h launcher/request/allocation.c \
	launcher/request/app_file.h launcher/request/app_file.c launcher/request/apply.c \
	launcher/request/apply_where.c launcher/request/defaults.c launcher/request/options.h \
	launcher/request/options.c launcher/request/parser.h launcher/request/cmdline.c launcher/request/help.h launcher/request/help.c \
	launcher/request/hostfile.h launcher/request/hostfile.c launcher/request/nodes.h launcher/request/nodes.c \
	launcher/request/hostlist.h launcher/request/hostlist.c launcher/request/mca_names.h \
	launcher/request/lines.h launcher/request/lines.c \
	launcher/request/mca_names.c launcher/request/placement.h launcher/request/placement.c \
	launcher/request/rankfile.h launcher/request/rankfile.c launcher/request/run_request.h launcher/request/submit.h \
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
