# launcher/node: a daemon and its ranks.
liblauncher_la_SOURCES += launcher/node/allgather.h launcher/node/allgather.c launcher/node/ask.c \
	launcher/node/daemon.h launcher/node/daemon.c launcher/node/fence.c launcher/node/home.h \
	launcher/node/home.c launcher/node/iof.h launcher/node/iof.c launcher/node/kvs.h \
	launcher/node/kvs.c launcher/node/limits.h launcher/node/limits.c launcher/node/local.c \
	launcher/node/name_server.h launcher/node/name_server.c launcher/node/orders.h \
	launcher/node/orders.c launcher/node/server.h launcher/node/server.c \
	launcher/node/server_internal.h launcher/node/service.h launcher/node/service.c \
	launcher/node/spawned.c launcher/node/topology.c \
	launcher/node/tree_repair.h launcher/node/tree_repair.c
EXTRA_DIST += launcher/node/README.md
