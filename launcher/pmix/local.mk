# launcher/pmix: PMIx. What stands in keelrun and keeld, and the module that needs libpmix.
if OFFER_PMIX
liblauncher_la_SOURCES += launcher/pmix/environment.c launcher/pmix/finalize.h \
	launcher/pmix/finalize.c launcher/pmix/found.c launcher/pmix/job_check.h \
	launcher/pmix/job_check.c launcher/pmix/nspace.h launcher/pmix/nspace.c \
	launcher/pmix/pmix_host.c launcher/pmix/pmix_module.h launcher/pmix/pmix_service.h \
	launcher/pmix/pmix_service.c launcher/pmix/pmix_service_internal.h launcher/pmix/ranks.c \
	launcher/pmix/starter.h launcher/pmix/starter.c launcher/pmix/states.c \
	launcher/pmix/connection/asked.h launcher/pmix/connection/asked.c \
	launcher/pmix/connection/guard.h launcher/pmix/connection/guard.c \
	launcher/pmix/connection/hangups.h launcher/pmix/connection/hangups.c \
	launcher/pmix/connection/pmix_listener.h launcher/pmix/connection/pmix_listener.c \
	launcher/pmix/connection/rendezvous.h launcher/pmix/connection/rendezvous.c \
	launcher/pmix/connection/vet.h launcher/pmix/connection/vet.c \
	launcher/pmix/exchange/data_server.c launcher/pmix/exchange/exchange.h \
	launcher/pmix/exchange/exchange.c launcher/pmix/exchange/exchange_internal.h \
	launcher/pmix/exchange/gather.c launcher/pmix/exchange/published.h \
	launcher/pmix/exchange/published.c launcher/pmix/exchange/rank_op.c
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
