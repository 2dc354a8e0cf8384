# launcher/pmix: PMIx. What stands in keelrun and keeld, and the module that needs libpmix.
if OFFER_PMIX
liblauncher_la_SOURCES += launcher/pmix/environment.c launcher/pmix/errand.c \
	launcher/pmix/exchange.h launcher/pmix/exchange.c launcher/pmix/exchange_internal.h \
	launcher/pmix/found.c launcher/pmix/gather.c launcher/pmix/goodbye.h \
	launcher/pmix/goodbye.c launcher/pmix/guard.h launcher/pmix/guard.c \
	launcher/pmix/hangups.h launcher/pmix/hangups.c launcher/pmix/host.c \
	launcher/pmix/job_check.h launcher/pmix/job_check.c launcher/pmix/keeper.c \
	launcher/pmix/listener.h launcher/pmix/listener.c launcher/pmix/module.h \
	launcher/pmix/nspace.h launcher/pmix/nspace.c launcher/pmix/offer.h launcher/pmix/offer.c \
	launcher/pmix/offer_internal.h launcher/pmix/published.h launcher/pmix/published.c \
	launcher/pmix/ranks.c launcher/pmix/rendezvous.h launcher/pmix/rendezvous.c \
	launcher/pmix/starter.h launcher/pmix/starter.c launcher/pmix/states.c launcher/pmix/vet.h \
	launcher/pmix/vet.c
liblauncher_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
pkglib_LTLIBRARIES += lib/keel-pmix.la
lib_keel_pmix_la_SOURCES = launcher/pmix/control.c launcher/pmix/dmodex.c launcher/pmix/events.c \
	launcher/pmix/fence.c launcher/pmix/group.c launcher/pmix/log.c launcher/pmix/module.c \
	launcher/pmix/module_internal.h launcher/pmix/publish.c launcher/pmix/query.c \
	launcher/pmix/registration.c launcher/pmix/repair.c launcher/pmix/spawn.c \
	launcher/pmix/worker.c launcher/pmix/found.c launcher/pmix/job_check.c \
	launcher/pmix/states.c
lib_keel_pmix_la_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS) $(HWLOC_CFLAGS)
lib_keel_pmix_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
lib_keel_pmix_la_LIBADD = $(PMIX_LIBS) $(HWLOC_LIBS)
endif
EXTRA_DIST += launcher/pmix/README.md
