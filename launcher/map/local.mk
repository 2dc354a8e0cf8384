# launcher/map: which rank goes where.
liblauncher_la_SOURCES += launcher/map/bind.h launcher/map/bind.c launcher/map/plan.h \
	launcher/map/plan.c
EXTRA_DIST += launcher/map/README.md
