# docs: man pages and texts.
dist_man_MANS += docs/man/opal_dss.7 docs/man/orte_rml.7
