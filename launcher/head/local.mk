# launcher/head: the HNP.
liblauncher_la_SOURCES += launcher/head/hnp.h launcher/head/hnp.c launcher/head/hnp_daemons.c \
	launcher/head/hnp_end.c launcher/head/hnp_explain.c launcher/head/hnp_launch.c launcher/head/hnp_look.c \
	launcher/head/hnp_plan.c launcher/head/hnp_repair.c launcher/head/hnp_report.c \
	launcher/head/hnp_spawn.c launcher/head/hnp_stdio.c \
	launcher/head/hnp_uri.c launcher/head/rank_states.h launcher/head/rank_states.c \
	launcher/head/rank_stacks.h launcher/head/rank_stacks.c launcher/head/report.h launcher/head/report.c \
	launcher/head/hnp_grow.c launcher/head/spawn_nodes.h launcher/head/spawn_nodes.c launcher/head/spawn_place.h launcher/head/spawn_place.c \
	launcher/head/hnp_submit.c \
	launcher/head/standing.h launcher/head/standing.c launcher/head/tools.h launcher/head/tools.c
EXTRA_DIST += launcher/head/README.md
