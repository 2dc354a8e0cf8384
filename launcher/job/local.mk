# launcher/job: daemons and jobs as the head sees them.
liblauncher_la_SOURCES += launcher/job/fsm.h launcher/job/fsm.c launcher/job/dvm.h launcher/job/dvm_parts.h \
	launcher/job/dvm.c launcher/job/dvm_grow.c launcher/job/dvm_loss.c launcher/job/dvm_silence.c launcher/job/job.h \
	launcher/job/job_parts.h launcher/job/job.c launcher/job/job_end.c launcher/job/job_part.c \
	launcher/job/job_ranks.c launcher/job/rank_end.h launcher/job/rank_end.c \
	launcher/job/rank_list.h launcher/job/rank_list.c launcher/job/job_followers.c
EXTRA_DIST += launcher/job/README.md
