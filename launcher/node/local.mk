# launcher/node: a daemon and its ranks.
liblauncher_la_SOURCES += launcher/node/allgather.h launcher/node/allgather.c launcher/node/ask.c \
	launcher/node/fence.c launcher/node/server.h launcher/node/server.c \
	launcher/node/server_internal.h
EXTRA_DIST += launcher/node/README.md
