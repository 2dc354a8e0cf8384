# The old include paths, installed to a folder of their own (keel-compat.pc).
compatdir = $(includedir)/keel-compat
# What pkg-config --cflags keel-compat says, for a build.
COMPAT_CPPFLAGS = -I$(top_srcdir)/include/compat -I$(top_srcdir)/include
compat_HEADERS = include/compat/opal_config.h include/compat/orte_config.h
compat_ompi_mca_btldir = $(compatdir)/ompi/mca/btl
compat_ompi_mca_btl_HEADERS = include/compat/ompi/mca/btl/btl.h
compat_opaldir = $(compatdir)/opal
compat_opal_HEADERS = include/compat/opal/constants.h include/compat/opal/types.h
compat_opal_classdir = $(compatdir)/opal/class
compat_opal_class_HEADERS = include/compat/opal/class/opal_bitmap.h \
	include/compat/opal/class/opal_list.h include/compat/opal/class/opal_object.h
compat_opal_dssdir = $(compatdir)/opal/dss
compat_opal_dss_HEADERS = include/compat/opal/dss/dss.h include/compat/opal/dss/dss_types.h
compat_opal_mcadir = $(compatdir)/opal/mca
compat_opal_mca_HEADERS = include/compat/opal/mca/mca.h
compat_opal_mca_crsdir = $(compatdir)/opal/mca/crs
compat_opal_mca_crs_HEADERS = include/compat/opal/mca/crs/crs.h
compat_opal_mca_crs_basedir = $(compatdir)/opal/mca/crs/base
compat_opal_mca_crs_base_HEADERS = include/compat/opal/mca/crs/base/base.h
compat_opal_runtimedir = $(compatdir)/opal/runtime
compat_opal_runtime_HEADERS = include/compat/opal/runtime/opal.h \
	include/compat/opal/runtime/opal_progress.h
compat_opal_utildir = $(compatdir)/opal/util
compat_opal_util_HEADERS = include/compat/opal/util/argv.h include/compat/opal/util/error.h \
	include/compat/opal/util/output.h
compat_ortedir = $(compatdir)/orte
compat_orte_HEADERS = include/compat/orte/constants.h include/compat/orte/types.h
compat_orte_mca_errmgrdir = $(compatdir)/orte/mca/errmgr
compat_orte_mca_errmgr_HEADERS = include/compat/orte/mca/errmgr/errmgr.h
compat_orte_mca_oob_basedir = $(compatdir)/orte/mca/oob/base
compat_orte_mca_oob_base_HEADERS = include/compat/orte/mca/oob/base/base.h
compat_orte_mca_rmldir = $(compatdir)/orte/mca/rml
compat_orte_mca_rml_HEADERS = include/compat/orte/mca/rml/rml.h \
	include/compat/orte/mca/rml/rml_types.h
compat_orte_mca_rml_basedir = $(compatdir)/orte/mca/rml/base
compat_orte_mca_rml_base_HEADERS = include/compat/orte/mca/rml/base/rml_contact.h
compat_orte_runtimedir = $(compatdir)/orte/runtime
compat_orte_runtime_HEADERS = include/compat/orte/runtime/orte_globals.h \
	include/compat/orte/runtime/orte_wait.h include/compat/orte/runtime/runtime.h
compat_orte_utildir = $(compatdir)/orte/util
compat_orte_util_HEADERS = include/compat/orte/util/name_fns.h \
	include/compat/orte/util/proc_info.h
