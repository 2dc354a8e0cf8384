# launcher/front: keelrun's terminal side.
liblauncher_la_SOURCES += launcher/front/channel.h launcher/front/channel.c \
	launcher/front/frontend.h launcher/front/frontend.c launcher/front/outfile.h \
	launcher/front/outfile.c launcher/front/output.h launcher/front/output.c \
	launcher/front/progress.h launcher/front/progress.c \
	launcher/front/report_file.h launcher/front/report_file.c \
	launcher/front/stdio.h launcher/front/stdio.c launcher/front/tags.h launcher/front/tags.c
EXTRA_DIST += launcher/front/README.md
