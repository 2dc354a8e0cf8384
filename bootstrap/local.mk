# bootstrap: from a process to its rails.
noinst_LTLIBRARIES += libbootstrap.la
libbootstrap_la_SOURCES = \
	bootstrap/backend.c bootstrap/backend.h bootstrap/env.c bootstrap/env.h bootstrap/ftevent.c \
	bootstrap/host.c bootstrap/host.h bootstrap/info.c bootstrap/init.c bootstrap/jobs.c bootstrap/look_answer.c bootstrap/look_answer.h bootstrap/native.c bootstrap/process.h \
	bootstrap/singleton.c bootstrap/tool.c bootstrap/tool.h
libbootstrap_la_SOURCES += \
	bootstrap/pmix/client.c bootstrap/pmix/client.h bootstrap/pmix/contacts.c \
	bootstrap/pmix/cpus.c bootstrap/pmix/internal.h bootstrap/pmix/pmix_map.c bootstrap/pmix/pmix_map.h \
	bootstrap/pmix/modex.c bootstrap/pmix/module.h bootstrap/pmix/pmix.c bootstrap/pmix/pmix.h \
	bootstrap/pmix/request.c bootstrap/pmix/request.h bootstrap/pmix/pmix_view.c

nodist_libbootstrap_la_SOURCES = bootstrap/built.h

# What needs libpmix, loaded by a rank that has a PMIx server and no keelrun.
if HAVE_PMIX
pkglib_LTLIBRARIES += lib/keel-bootstrap-pmix.la
lib_keel_bootstrap_pmix_la_SOURCES = bootstrap/pmix/module.c bootstrap/pmix/module.h \
	bootstrap/pmix/pmix_view.c
lib_keel_bootstrap_pmix_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
lib_keel_bootstrap_pmix_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_bootstrap_pmix_la_LIBADD = $(PMIX_LIBS)
endif
