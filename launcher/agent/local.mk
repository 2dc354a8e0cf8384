# launcher/agent: the agents that start daemons on other nodes.
liblauncher_la_SOURCES += launcher/agent/agent.h launcher/agent/agent.c launcher/agent/agents.h \
	launcher/agent/agents.c launcher/agent/said.h launcher/agent/said.c
EXTRA_DIST += launcher/agent/README.md
