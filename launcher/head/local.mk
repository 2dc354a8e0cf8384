# launcher/head: the HNP.
liblauncher_la_SOURCES += launcher/head/hnp.h launcher/head/hnp.c launcher/head/hnp_daemons.c \
	launcher/head/hnp_end.c launcher/head/hnp_launch.c launcher/head/hnp_plan.c \
	launcher/head/hnp_repair.c launcher/head/hnp_report.c launcher/head/hnp_stdio.c \
	launcher/head/hnp_submit.c launcher/head/hnp_uri.c launcher/head/report.h launcher/head/report.c \
	launcher/head/standing.h launcher/head/standing.c \
	launcher/head/standing_hosts.c launcher/head/standing_parts.h launcher/head/tools.h launcher/head/tools.c
EXTRA_DIST += launcher/head/README.md launcher/head/explain/README.md launcher/head/spawn/README.md

# What the ranks do.
liblauncher_la_SOURCES += launcher/head/explain/hnp_crash.c launcher/head/explain/hnp_explain.c launcher/head/explain/hnp_look.c \
	launcher/head/explain/rank_stacks.h launcher/head/explain/rank_stacks.c \
	launcher/head/explain/rank_states.h launcher/head/explain/rank_states.c

# What is added to a job that runs.
liblauncher_la_SOURCES += launcher/head/spawn/hnp_grow.c launcher/head/spawn/hnp_spawn.c \
	launcher/head/spawn/spawn_nodes.h launcher/head/spawn/spawn_nodes.c \
	launcher/head/spawn/spawn_place.h launcher/head/spawn/spawn_place.c
