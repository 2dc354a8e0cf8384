# launcher/map: which rank goes where.
liblauncher_la_SOURCES += launcher/map/binding.c launcher/map/extend.c launcher/map/mapping.h \
	launcher/map/mapping.c launcher/map/nodes.c launcher/map/ranking.c launcher/map/place.c \
	launcher/map/plan.h launcher/map/plan.c launcher/map/show.h launcher/map/show.c launcher/map/specific.c launcher/map/view.h launcher/map/view.c
EXTRA_DIST += launcher/map/README.md
