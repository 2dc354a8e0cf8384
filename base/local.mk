# base: what every room stands on.
noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES =
libbase_la_LIBADD = $(EVENT_LIBS) $(SODIUM_LIBS)

# Data: status codes, names, objects, packing.
libbase_la_SOURCES += \
	base/list.h base/clock.h base/pool.h base/pool.c \
	base/status.c base/names.c base/object.c base/bitmap.c base/convertor.c
