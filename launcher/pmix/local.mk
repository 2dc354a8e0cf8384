# launcher/pmix: PMIx. What stands in keelrun and keeld, and the module that needs libpmix.
if OFFER_PMIX
liblauncher_la_SOURCES += launcher/pmix/data_server.c launcher/pmix/environment.c \
	launcher/pmix/exchange.h launcher/pmix/exchange.c launcher/pmix/exchange_internal.h \
	launcher/pmix/finalize.h launcher/pmix/finalize.c launcher/pmix/found.c \
	launcher/pmix/gather.c launcher/pmix/guard.h launcher/pmix/guard.c launcher/pmix/hangups.h \
	launcher/pmix/hangups.c launcher/pmix/job_check.h launcher/pmix/job_check.c \
	launcher/pmix/nspace.h launcher/pmix/nspace.c launcher/pmix/pmix_host.c \
	launcher/pmix/pmix_listener.h launcher/pmix/pmix_listener.c launcher/pmix/pmix_module.h \
	launcher/pmix/pmix_service.h launcher/pmix/pmix_service.c \
	launcher/pmix/pmix_service_internal.h launcher/pmix/published.h launcher/pmix/published.c \
	launcher/pmix/rank_op.c launcher/pmix/ranks.c launcher/pmix/rendezvous.h \
	launcher/pmix/rendezvous.c launcher/pmix/starter.h launcher/pmix/starter.c \
	launcher/pmix/states.c launcher/pmix/vet.h launcher/pmix/vet.c
liblauncher_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
pkglib_LTLIBRARIES += lib/keel-pmix.la
lib_keel_pmix_la_SOURCES = launcher/pmix/module/control.c launcher/pmix/module/dmodex.c \
	launcher/pmix/module/events.c launcher/pmix/module/group.c \
	launcher/pmix/module/pmix_fence.c launcher/pmix/module/pmix_log.c \
	launcher/pmix/module/pmix_module.c launcher/pmix/module/pmix_module_internal.h \
	launcher/pmix/module/pmix_spawn.c launcher/pmix/module/publish.c \
	launcher/pmix/module/query.c launcher/pmix/module/query_check.c \
	launcher/pmix/module/registration.c launcher/pmix/module/worker.c launcher/pmix/found.c \
	launcher/pmix/job_check.c launcher/pmix/states.c
lib_keel_pmix_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS) $(HWLOC_CFLAGS)
lib_keel_pmix_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_pmix_la_LIBADD = $(PMIX_LIBS) $(HWLOC_LIBS)
endif
EXTRA_DIST += launcher/pmix/README.md
