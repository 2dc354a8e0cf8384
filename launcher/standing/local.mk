# launcher/standing: what keelrun and a standing DVM say to each other.
liblauncher_la_SOURCES += launcher/standing/contact.h launcher/standing/contact.c \
	launcher/standing/submitter.h launcher/standing/submitter.c launcher/standing/talk.h \
	launcher/standing/talk.c
EXTRA_DIST += launcher/standing/README.md
