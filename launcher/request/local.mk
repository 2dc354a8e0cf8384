# launcher/request: what keelrun is asked for.
EXTRA_DIST += launcher/request/README.md launcher/request/nodes/README.md launcher/request/options/README.md

# Which nodes there are.
liblauncher_la_SOURCES += launcher/request/nodes/allocation.h launcher/request/nodes/allocation.c \
	launcher/request/nodes/hostfile.h launcher/request/nodes/hostfile.c \
	launcher/request/nodes/hostlist.h launcher/request/nodes/hostlist.c \
	launcher/request/nodes/span.h launcher/request/nodes/span.c \
	launcher/request/nodes/node_list.h launcher/request/nodes/node_list.c

# What is asked for, as a struct and as bytes.
liblauncher_la_SOURCES += launcher/request/output_request.h launcher/request/output_request.c \
	launcher/request/placement.h launcher/request/placement.c \
	launcher/request/rankfile.h launcher/request/rankfile.c launcher/request/run_request.h \
	launcher/request/submit.h launcher/request/submit.c launcher/request/suggest.h \
	launcher/request/suggest.c

# The command line.
liblauncher_la_SOURCES += launcher/request/options/app_file.h launcher/request/options/app_file.c \
	launcher/request/options/apply.c launcher/request/options/apply_where.c \
	launcher/request/options/cmdline.c launcher/request/options/defaults.c \
	launcher/request/options/help.h launcher/request/options/help.c \
	launcher/request/options/mca_names.h launcher/request/options/mca_names.c \
	launcher/request/options/options.h launcher/request/options/options.c \
	launcher/request/options/parser.h

# What the words of --mca are looked up in.
mca_table = launcher/request/options/mca_table
nodist_liblauncher_la_SOURCES = $(mca_table).inc
$(mca_table).inc: $(top_srcdir)/$(mca_table).awk $(top_srcdir)/docs/parameters.md \
		$(top_srcdir)/launcher/request/options/openmpi_names.txt
	$(AM_V_GEN)$(MKDIR_P) launcher/request/options && LC_ALL=C $(AWK) -f $(top_srcdir)/$(mca_table).awk \
		$(top_srcdir)/docs/parameters.md $(top_srcdir)/launcher/request/options/openmpi_names.txt >$@.tmp && \
		mv $@.tmp $@
# its object's name, with flags of liblauncher's own and without
launcher/request/options/mca_names.lo launcher/request/options/liblauncher_la-mca_names.lo: $(mca_table).inc
EXTRA_DIST += $(mca_table).awk launcher/request/options/openmpi_names.txt
CLEANFILES += $(mca_table).inc

# What options of other launchers are looked up in.
peers_table = launcher/request/peers_table
nodist_liblauncher_la_SOURCES += $(peers_table).inc
$(peers_table).inc: $(top_srcdir)/$(peers_table).awk $(top_srcdir)/docs/options.md
	$(AM_V_GEN)$(MKDIR_P) launcher/request && LC_ALL=C $(AWK) -f $(top_srcdir)/$(peers_table).awk \
		$(top_srcdir)/docs/options.md >$@.tmp && mv $@.tmp $@
launcher/request/suggest.lo launcher/request/liblauncher_la-suggest.lo: $(peers_table).inc
EXTRA_DIST += $(peers_table).awk
CLEANFILES += $(peers_table).inc
