# docs: man pages and texts.
dist_man_MANS += docs/man/keelrun.1 docs/man/keeld.8 docs/man/keel-dvm.1 docs/man/keel-info.1 docs/man/keel-perf.1 docs/man/keel-ps.1 \
	docs/man/keel-btl-self.7 docs/man/keel-btl-sm.7 docs/man/keel-btl-tcp.7 docs/man/keel-btl-ofi.7 docs/man/keel-btl-usnic.7 \
	docs/man/keel-btl-check.7 \
	docs/man/keel_init.3 docs/man/keel_finalize.3 docs/man/keel_my_name.3 \
	docs/man/keel_job_size.3 docs/man/keel_jobs_each.3 docs/man/keel_tool_job.3 docs/man/keel_tool_look.3 docs/man/keel_proc.3 docs/man/keel_progress.3 \
	docs/man/keel_components_each.3 docs/man/keel_devices_each.3 docs/man/keel_facts_each.3 \
	docs/man/keel_fence.3 docs/man/keel_abort.3 docs/man/keel_modex_send.3 \
	docs/man/keel_modex_recv.3 docs/man/keel_params_each.3 docs/man/keel_rails.3 docs/man/keel_xcast.3 docs/man/keel_btl_ext.3 \
	docs/man/keel_btl_stats.3 docs/man/keel_btl2_modules.3 \
	docs/man/keel_ft_event.3 docs/man/keel_rails_watch.3 docs/man/keel_threads.7 \
	docs/man/keel_host_add_procs.3 docs/man/keel_host_close.3 docs/man/keel_host_ft_event.3 \
	docs/man/keel_host_open.3 docs/man/keel_host_proc_ended.3 docs/man/keel_host_progress.3 \
	docs/man/keel_host_rails.3 docs/man/keel_host_rails_watch.3 \
	docs/man/keel_pml.7 docs/man/keel_pml_callback.3 docs/man/keel_pml_cancel.3 \
	docs/man/keel_pml_close.3 docs/man/keel_pml_context_free.3 docs/man/keel_pml_context_open.3 \
	docs/man/keel_pml_improbe.3 docs/man/keel_pml_imrecv.3 docs/man/keel_pml_iprobe.3 \
	docs/man/keel_pml_irecv.3 docs/man/keel_pml_isend.3 docs/man/keel_pml_mprobe.3 \
	docs/man/keel_pml_open_on.3 docs/man/keel_pml_probe.3 docs/man/keel_pml_progress.3 \
	docs/man/keel_pml_recv.3 docs/man/keel_pml_recv_init.3 docs/man/keel_pml_request_free.3 \
	docs/man/keel_pml_send.3 docs/man/keel_pml_send_init.3 docs/man/keel_pml_start.3 docs/man/keel_pml_stats.3 \
	docs/man/keel_pml_test.3 docs/man/keel_pml_testall.3 docs/man/keel_pml_testany.3 \
	docs/man/keel_pml_testsome.3 docs/man/keel_pml_wait.3 docs/man/keel_pml_waitall.3 \
	docs/man/keel_pml_waitany.3 docs/man/keel_pml_waitsome.3 \
	docs/man/keel.7 docs/man/keel-compat.7 docs/man/keel_btl.7 docs/man/keel_btl2.7 docs/man/keel_ptl.7 docs/man/keel_types.7 \
	docs/man/opal_dss.7 docs/man/orte_rml.7
# The texts are installed as they lie here, so that their links lead somewhere.
dist_doc_DATA += README.md LICENSE
docsdir = $(docdir)/docs
dist_docs_DATA = docs/README.md docs/add-a-transport.md docs/architecture.md docs/btl.md \
	docs/compare.txt docs/foreign.md docs/glossary.md docs/dvm.md docs/launch-states.md docs/launch.txt docs/mpi.md docs/parameters.md docs/report.md \
	docs/rml.txt docs/security.md docs/threads.md docs/mapping.md docs/options.md docs/wire.md
docs_picturesdir = $(docdir)/docs/pictures
dist_docs_pictures_DATA = docs/pictures/compare.svg docs/pictures/launch.svg \
	docs/pictures/layers.svg docs/pictures/message.svg docs/pictures/peer.svg \
	docs/pictures/processes.svg docs/pictures/failover.svg docs/pictures/rendezvous.svg docs/pictures/rml.svg \
	docs/pictures/sm-ring.svg
EXTRA_DIST += bootstrap/README.md \
	compat/README.md include/compat/README.md \
	include/README.md launcher/README.md \
	lib/README.md m4/README.md tests/README.md
