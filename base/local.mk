# base: what every room stands on.
noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES =
libbase_la_LIBADD = $(EVENT_LIBS) $(SODIUM_LIBS)

# Data: status codes, names, objects, packing.
libbase_la_SOURCES += \
	base/list.h base/clock.h base/pool.h base/pool.c \
	base/status.c base/names.c base/object.c base/bitmap.c base/convertor.c

# The process and its host: log, parameters, loop, sockets, keys, files.
libbase_la_SOURCES += \
	base/crypto.h base/fault.h base/log.h base/loop.h base/param.h base/param_file.h base/sock.h \
	base/crypto.c base/fault.c base/log.c base/loop.c base/param.c base/param_file.c base/sock.c
