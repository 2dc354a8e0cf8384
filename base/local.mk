# base: what every room stands on.
noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES =
libbase_la_LIBADD = $(EVENT_LIBS) $(SODIUM_LIBS)
