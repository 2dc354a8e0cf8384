# bootstrap: from a process to its rails. libbootserver is the daemon's side, for the launcher.
noinst_LTLIBRARIES += libbootstrap.la libbootserver.la
libbootstrap_la_SOURCES = bootstrap/job_map.h
libbootserver_la_SOURCES = bootstrap/server.h
