# launcher/plm: how daemons are started.
liblauncher_la_SOURCES += launcher/plm/plm.h launcher/plm/plm.c launcher/plm/plm_rsh.c \
	launcher/plm/plm_slurm.c launcher/plm/remote.h launcher/plm/remote.c \
	launcher/plm/start_tree.h launcher/plm/start_tree.c \
	launcher/plm/step.h launcher/plm/step.c
EXTRA_DIST += launcher/plm/README.md
