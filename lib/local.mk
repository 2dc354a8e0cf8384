# libkeel: the one shared library, made of the rooms that an application uses.
lib_LTLIBRARIES += lib/libkeel.la
lib_libkeel_la_SOURCES =
lib_libkeel_la_LIBADD = libcompat.la libbootstrap.la libwireup.la libpml.la libptl.la libbtl2.la libbtl.la librml.la liboob.la libbase.la
lib_libkeel_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -Wl,-z,now \
	-Wl,--version-script=$(top_srcdir)/lib/libkeel.map
lib_libkeel_la_DEPENDENCIES = $(lib_libkeel_la_LIBADD) $(top_srcdir)/lib/libkeel.map
EXTRA_DIST += lib/libkeel.map
