# launcher/pmi1: PMI-1 for MPICH.
liblauncher_la_SOURCES += launcher/pmi1/pmi1.h launcher/pmi1/pmi1.c launcher/pmi1/pmi1_barrier.c \
	launcher/pmi1/pmi1_client.c launcher/pmi1/pmi1_internal.h launcher/pmi1/pmi1_requests.c \
	launcher/pmi1/pmi1_space.c launcher/pmi1/pmi1_spawn.h launcher/pmi1/pmi1_spawn.c \
	launcher/pmi1/pmi1_wire.h launcher/pmi1/pmi1_wire.c
EXTRA_DIST += launcher/pmi1/README.md
