# tests of launcher/

# The shepherd with real processes.
check_PROGRAMS += tests/unit/launcher/shepherd/test-shepherd tests/unit/launcher/shepherd/test-shepherd-end
tests_unit_launcher_shepherd_test_shepherd_SOURCES = tests/unit/launcher/shepherd/test-shepherd.c \
	tests/unit/launcher/shepherd/world.h tests/unit/launcher/shepherd/world.c
tests_unit_launcher_shepherd_test_shepherd_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_shepherd_test_shepherd_end_SOURCES = tests/unit/launcher/shepherd/test-shepherd-end.c \
	tests/unit/launcher/shepherd/world.h tests/unit/launcher/shepherd/world.c
tests_unit_launcher_shepherd_test_shepherd_end_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
check_PROGRAMS += tests/unit/launcher/agent/test-agent tests/unit/launcher/agent/test-agents \
	tests/unit/launcher/plm/test-remote tests/unit/launcher/plm/test-start-tree \
	tests/unit/launcher/node/test-onward
tests_unit_launcher_agent_test_agent_SOURCES = tests/unit/launcher/agent/test-agent.c
tests_unit_launcher_agent_test_agent_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_agent_test_agents_SOURCES = tests/unit/launcher/agent/test-agents.c
tests_unit_launcher_agent_test_agents_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_plm_test_remote_SOURCES = tests/unit/launcher/plm/test-remote.c
tests_unit_launcher_plm_test_remote_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_plm_test_start_tree_SOURCES = tests/unit/launcher/plm/test-start-tree.c
tests_unit_launcher_plm_test_start_tree_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_node_test_onward_SOURCES = tests/unit/launcher/node/test-onward.c $(DECODER)
tests_unit_launcher_node_test_onward_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/plm/test-step
tests_unit_launcher_plm_test_step_SOURCES = tests/unit/launcher/plm/test-step.c $(TEST_CLOCK)
tests_unit_launcher_plm_test_step_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la

check_PROGRAMS += tests/unit/launcher/request/test-suggest tests/unit/launcher/node/test-limits \
	tests/unit/launcher/front/test-outfile
tests_unit_launcher_request_test_suggest_SOURCES = tests/unit/launcher/request/test-suggest.c
tests_unit_launcher_request_test_suggest_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_node_test_limits_SOURCES = tests/unit/launcher/node/test-limits.c
tests_unit_launcher_node_test_limits_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_front_test_outfile_SOURCES = tests/unit/launcher/front/test-outfile.c
tests_unit_launcher_front_test_outfile_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la

# Daemons and jobs as the head sees them.
check_PROGRAMS += tests/unit/launcher/job/test-silence
tests_unit_launcher_job_test_silence_SOURCES = tests/unit/launcher/job/test-silence.c
tests_unit_launcher_job_test_silence_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/job/test-rank-end
tests_unit_launcher_job_test_rank_end_SOURCES = tests/unit/launcher/job/test-rank-end.c
tests_unit_launcher_job_test_rank_end_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/job/test-states
tests_unit_launcher_job_test_states_SOURCES = tests/unit/launcher/job/test-states.c
tests_unit_launcher_job_test_states_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/job/test-launches
tests_unit_launcher_job_test_launches_SOURCES = tests/unit/launcher/job/test-launches.c \
	tests/unit/launcher/job/sim/launch.h tests/unit/launcher/job/sim/launch.c \
	tests/unit/launcher/job/sim/launch_events.c tests/unit/launcher/job/sim/launch_ops.c \
	tests/unit/launcher/job/sim/launch_rules.h tests/unit/launcher/job/sim/launch_rules.c \
	tests/unit/launcher/job/sim/launch_rules_job.c tests/unit/launcher/job/sim/launch_rules_parts.h \
	tests/unit/launcher/job/sim/launch_state.h
tests_unit_launcher_job_test_launches_LDADD = tests/lib/libwire.la tests/lib/libunit.la $(launcher_libs)

# The head.
check_PROGRAMS += tests/unit/launcher/head/explain/test-rank-stacks tests/unit/launcher/node/explain/test-stacks
tests_unit_launcher_head_explain_test_rank_stacks_SOURCES = tests/unit/launcher/head/explain/test-rank-stacks.c
tests_unit_launcher_head_explain_test_rank_stacks_LDADD = tests/lib/libunit.la $(launcher_libs)
tests_unit_launcher_node_explain_test_stacks_SOURCES = tests/unit/launcher/node/explain/test-stacks.c
tests_unit_launcher_node_explain_test_stacks_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/head/test-report tests/unit/launcher/front/test-report-file
tests_unit_launcher_head_test_report_SOURCES = tests/unit/launcher/head/test-report.c
tests_unit_launcher_head_test_report_LDADD = tests/lib/libunit.la $(launcher_libs)
tests_unit_launcher_front_test_report_file_SOURCES = tests/unit/launcher/front/test-report-file.c
tests_unit_launcher_front_test_report_file_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/head/test-standing
tests_unit_launcher_head_test_standing_SOURCES = tests/unit/launcher/head/test-standing.c
tests_unit_launcher_head_test_standing_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/head/explain/test-rank-states
tests_unit_launcher_head_explain_test_rank_states_SOURCES = tests/unit/launcher/head/explain/test-rank-states.c
tests_unit_launcher_head_explain_test_rank_states_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/head/spawn/test-spawn-nodes
tests_unit_launcher_head_spawn_test_spawn_nodes_SOURCES = tests/unit/launcher/head/spawn/test-spawn-nodes.c
tests_unit_launcher_head_spawn_test_spawn_nodes_LDADD = tests/lib/libunit.la $(launcher_libs)

check_PROGRAMS += tests/unit/launcher/head/spawn/test-spawn-place
tests_unit_launcher_head_spawn_test_spawn_place_SOURCES = tests/unit/launcher/head/spawn/test-spawn-place.c
tests_unit_launcher_head_spawn_test_spawn_place_LDADD = tests/lib/libunit.la $(launcher_libs)

check_PROGRAMS += tests/unit/launcher/shepherd/test-event-queue
tests_unit_launcher_shepherd_test_event_queue_SOURCES = tests/unit/launcher/shepherd/test-event-queue.c
tests_unit_launcher_shepherd_test_event_queue_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la

# What stands beside the daemon's core.
check_PROGRAMS += \
	tests/unit/launcher/shepherd/test-shepherd-wire tests/unit/launcher/shepherd/test-program \
	tests/unit/launcher/request/options/test-cmdline tests/unit/launcher/request/test-output-request tests/unit/launcher/map/test-plan \
	tests/unit/launcher/front/test-progress tests/unit/launcher/front/test-stdio tests/unit/launcher/front/test-tags tests/unit/launcher/front/test-output \
	tests/unit/launcher/request/nodes/test-hostlist tests/unit/launcher/request/nodes/test-hostfile \
	tests/unit/launcher/request/test-placement \
	tests/unit/launcher/request/nodes/test-allocation
tests_unit_launcher_request_nodes_test_hostfile_SOURCES = tests/unit/launcher/request/nodes/test-hostfile.c
tests_unit_launcher_request_nodes_test_hostfile_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_request_test_placement_SOURCES = tests/unit/launcher/request/test-placement.c
tests_unit_launcher_request_test_placement_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_request_nodes_test_hostlist_SOURCES = tests/unit/launcher/request/nodes/test-hostlist.c
tests_unit_launcher_request_nodes_test_hostlist_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_request_nodes_test_allocation_SOURCES = tests/unit/launcher/request/nodes/test-allocation.c
tests_unit_launcher_request_nodes_test_allocation_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_shepherd_test_shepherd_wire_SOURCES = tests/unit/launcher/shepherd/test-shepherd-wire.c
tests_unit_launcher_shepherd_test_shepherd_wire_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_shepherd_test_program_SOURCES = tests/unit/launcher/shepherd/test-program.c
tests_unit_launcher_shepherd_test_program_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_request_options_test_cmdline_SOURCES = tests/unit/launcher/request/options/test-cmdline.c
tests_unit_launcher_request_options_test_cmdline_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
check_PROGRAMS += tests/unit/launcher/map/test-show
tests_unit_launcher_map_test_show_SOURCES = tests/unit/launcher/map/test-show.c
tests_unit_launcher_map_test_show_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_map_test_plan_SOURCES = tests/unit/launcher/map/test-plan.c
tests_unit_launcher_map_test_plan_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
check_PROGRAMS += tests/unit/launcher/map/test-mapping
EXTRA_DIST += tests/unit/launcher/map/mapping.cases
tests_unit_launcher_map_test_mapping_SOURCES = tests/unit/launcher/map/test-mapping.c
tests_unit_launcher_map_test_mapping_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
check_PROGRAMS += tests/unit/launcher/map/test-mapping-random
tests_unit_launcher_map_test_mapping_random_SOURCES = tests/unit/launcher/map/test-mapping-random.c \
	tests/unit/launcher/map/naive.h tests/unit/launcher/map/naive.c \
	tests/unit/launcher/map/naive_parts.h tests/unit/launcher/map/naive_extend.c
tests_unit_launcher_map_test_mapping_random_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_front_test_stdio_SOURCES = tests/unit/launcher/front/test-stdio.c
tests_unit_launcher_front_test_stdio_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_request_test_output_request_SOURCES = tests/unit/launcher/request/test-output-request.c
tests_unit_launcher_request_test_output_request_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_front_test_progress_SOURCES = tests/unit/launcher/front/test-progress.c
tests_unit_launcher_front_test_progress_LDADD = tests/lib/libunit.la $(launcher_libs)
tests_unit_launcher_front_test_tags_SOURCES = tests/unit/launcher/front/test-tags.c
tests_unit_launcher_front_test_tags_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_front_test_output_SOURCES = tests/unit/launcher/front/test-output.c
tests_unit_launcher_front_test_output_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la

# What travels between front end, HNP and daemons.
check_PROGRAMS += tests/unit/launcher/node/orders/test-orders tests/unit/launcher/request/test-submit \
	tests/unit/launcher/node/orders/test-home tests/unit/launcher/node/orders/test-hosting
tests_unit_launcher_node_orders_test_orders_SOURCES = tests/unit/launcher/node/orders/test-orders.c $(DECODER)
tests_unit_launcher_node_orders_test_orders_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la \
	libbase.la
tests_unit_launcher_request_test_submit_SOURCES = tests/unit/launcher/request/test-submit.c $(DECODER)
tests_unit_launcher_request_test_submit_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la \
	libbase.la
tests_unit_launcher_node_orders_test_hosting_SOURCES = tests/unit/launcher/node/orders/test-hosting.c
tests_unit_launcher_node_orders_test_hosting_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la \
	libbase.la
tests_unit_launcher_node_orders_test_home_SOURCES = tests/unit/launcher/node/orders/test-home.c
tests_unit_launcher_node_orders_test_home_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la \
	libbase.la
check_PROGRAMS += tests/unit/launcher/node/test-hosted
tests_unit_launcher_node_test_hosted_SOURCES = tests/unit/launcher/node/test-hosted.c
tests_unit_launcher_node_test_hosted_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/node/test-spawn-check
tests_unit_launcher_node_test_spawn_check_SOURCES = tests/unit/launcher/node/test-spawn-check.c
tests_unit_launcher_node_test_spawn_check_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/node/orders/test-spawned
tests_unit_launcher_node_orders_test_spawned_SOURCES = tests/unit/launcher/node/orders/test-spawned.c $(DECODER)
tests_unit_launcher_node_orders_test_spawned_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la \
	libbase.la

# What MPI programs are offered.
check_PROGRAMS += tests/unit/launcher/pmi1/test-pmi1-spawn
tests_unit_launcher_pmi1_test_pmi1_spawn_SOURCES = tests/unit/launcher/pmi1/test-pmi1-spawn.c
tests_unit_launcher_pmi1_test_pmi1_spawn_LDADD = tests/lib/libunit.la $(launcher_libs)
check_PROGRAMS += tests/unit/launcher/pmi1/test-pmi1-wire tests/unit/launcher/node/server/test-kvs \
	tests/unit/launcher/shepherd/test-vars
tests_unit_launcher_pmi1_test_pmi1_wire_SOURCES = tests/unit/launcher/pmi1/test-pmi1-wire.c
tests_unit_launcher_pmi1_test_pmi1_wire_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_node_server_test_kvs_SOURCES = tests/unit/launcher/node/server/test-kvs.c
tests_unit_launcher_node_server_test_kvs_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_shepherd_test_vars_SOURCES = tests/unit/launcher/shepherd/test-vars.c
tests_unit_launcher_shepherd_test_vars_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la

# The PMIx server, as far as it stands in the daemon.
if OFFER_PMIX
check_PROGRAMS += tests/unit/launcher/pmix/test-pmix-vet tests/unit/launcher/pmix/test-pmix-listener \
	tests/unit/launcher/pmix/test-pmix-published tests/unit/launcher/pmix/test-pmix-rendezvous \
	tests/unit/launcher/pmix/test-pmix-finalize tests/unit/launcher/pmix/test-pmix-states \
	tests/unit/launcher/pmix/test-pmix-job-check tests/unit/launcher/pmix/test-pmix-hangups \
	tests/unit/launcher/pmix/test-pmix-asked
tests_unit_launcher_pmix_test_pmix_asked_SOURCES = tests/unit/launcher/pmix/test-pmix-asked.c
tests_unit_launcher_pmix_test_pmix_asked_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_hangups_SOURCES = tests/unit/launcher/pmix/test-pmix-hangups.c
tests_unit_launcher_pmix_test_pmix_hangups_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_finalize_SOURCES = tests/unit/launcher/pmix/test-pmix-finalize.c
tests_unit_launcher_pmix_test_pmix_finalize_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_vet_SOURCES = tests/unit/launcher/pmix/test-pmix-vet.c
tests_unit_launcher_pmix_test_pmix_vet_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_listener_SOURCES = tests/unit/launcher/pmix/test-pmix-listener.c
tests_unit_launcher_pmix_test_pmix_listener_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_job_check_SOURCES = tests/unit/launcher/pmix/test-pmix-job-check.c
tests_unit_launcher_pmix_test_pmix_job_check_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PMIX_CFLAGS)
tests_unit_launcher_pmix_test_pmix_job_check_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_states_SOURCES = tests/unit/launcher/pmix/test-pmix-states.c
tests_unit_launcher_pmix_test_pmix_states_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PMIX_CFLAGS)
tests_unit_launcher_pmix_test_pmix_states_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_rendezvous_SOURCES = tests/unit/launcher/pmix/test-pmix-rendezvous.c
tests_unit_launcher_pmix_test_pmix_rendezvous_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
tests_unit_launcher_pmix_test_pmix_published_SOURCES = tests/unit/launcher/pmix/test-pmix-published.c
tests_unit_launcher_pmix_test_pmix_published_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PMIX_CFLAGS)
tests_unit_launcher_pmix_test_pmix_published_LDADD = tests/lib/libunit.la liblauncher.la libwireup.la libbase.la
endif

# The daemon's side of wire-up: servers and native back ends in one process.
check_PROGRAMS += tests/unit/launcher/node/server/test-server tests/unit/launcher/node/server/test-allgather
tests_unit_launcher_node_server_test_server_SOURCES = tests/unit/launcher/node/server/test-server.c $(RML_CLUSTER)
tests_unit_launcher_node_server_test_server_LDADD = tests/lib/libunit.la liblauncher.la libbootstrap.la \
	libwireup.la librml.la liboob.la libpml.la libptl.la libbtl.la libbase.la
tests_unit_launcher_node_server_test_allgather_SOURCES = tests/unit/launcher/node/server/test-allgather.c
tests_unit_launcher_node_server_test_allgather_LDADD = tests/lib/libunit.la $(launcher_libs)

# What keelrun and a standing DVM say to each other.
check_PROGRAMS += tests/unit/launcher/standing/test-talk tests/unit/launcher/standing/test-contact
tests_unit_launcher_standing_test_talk_SOURCES = tests/unit/launcher/standing/test-talk.c
tests_unit_launcher_standing_test_talk_LDADD = tests/lib/libunit.la $(launcher_libs)
tests_unit_launcher_standing_test_contact_SOURCES = tests/unit/launcher/standing/test-contact.c
tests_unit_launcher_standing_test_contact_LDADD = tests/lib/libunit.la $(launcher_libs)
