# launcher/node: a daemon and its ranks.
liblauncher_la_SOURCES += launcher/node/daemon.h launcher/node/daemon.c launcher/node/hosted.h \
	launcher/node/hosted.c launcher/node/iof.h launcher/node/iof.c launcher/node/limits.h \
	launcher/node/limits.c launcher/node/local.c launcher/node/onward.h launcher/node/onward.c \
	launcher/node/service.h launcher/node/service.c launcher/node/spawn_check.h \
	launcher/node/spawn_check.c launcher/node/topology.c launcher/node/tree_growth.h \
	launcher/node/tree_growth.c launcher/node/tree_repair.h launcher/node/tree_repair.c
EXTRA_DIST += launcher/node/README.md launcher/node/explain/README.md launcher/node/orders/README.md launcher/node/server/README.md

# What this node's ranks do.
liblauncher_la_SOURCES += launcher/node/explain/explain.h launcher/node/explain/explain.c \
	launcher/node/explain/stacks.h launcher/node/explain/stacks.c \
	launcher/node/explain/tracer.h launcher/node/explain/tracer.c

# What a daemon is told and what it reports.
liblauncher_la_SOURCES += launcher/node/orders/home.h launcher/node/orders/home.c \
	launcher/node/orders/hosting.h launcher/node/orders/hosting.c \
	launcher/node/orders/orders.h launcher/node/orders/orders.c launcher/node/orders/spawned.c

# The ranks' wire-up.
liblauncher_la_SOURCES += launcher/node/server/allgather.h launcher/node/server/allgather.c \
	launcher/node/server/ask.c launcher/node/server/fence.c launcher/node/server/kvs.h \
	launcher/node/server/kvs.c launcher/node/server/rank_look.c launcher/node/server/name_server.h \
	launcher/node/server/name_server.c launcher/node/server/server.h \
	launcher/node/server/server.c launcher/node/server/server_internal.h
