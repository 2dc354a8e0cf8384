# launcher: keelrun and keeld. Both hold their rooms statically: one library less to find and load.
noinst_LTLIBRARIES += liblauncher.la
liblauncher_la_SOURCES = launcher/request.h launcher/shepherd.h
