/* Status codes, process names and the small shared types of Keel's public headers. */
#ifndef KEEL_TYPES_H
#define KEEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
#define BEGIN_C_DECLS extern "C" {
#define END_C_DECLS }
#else
#define BEGIN_C_DECLS
#define END_C_DECLS
#endif

/* Every exported ELF symbol begins with keel_, so that libkeel can live in one process with the
 * libraries that export the original names. KEEL_PUBLIC(name) is written behind a declaration. */
#define KEEL_PUBLIC(name) __asm__("keel_" #name) __attribute__((visibility("default")))
#define KEEL_EXPORT __attribute__((visibility("default")))
#define KEEL_MUST_CHECK __attribute__((warn_unused_result))
#define KEEL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define OPAL_DECLSPEC
#define ORTE_DECLSPEC

BEGIN_C_DECLS

/* Status codes, with the values of Open MPI 1.6. Zero is success, everything negative an error. */
enum {
    OPAL_SUCCESS = 0,
    OPAL_ERROR = -1,
    OPAL_ERR_OUT_OF_RESOURCE = -2,
    OPAL_ERR_TEMP_OUT_OF_RESOURCE = -3,
    OPAL_ERR_RESOURCE_BUSY = -4,
    OPAL_ERR_BAD_PARAM = -5,
    OPAL_ERR_FATAL = -6,
    OPAL_ERR_NOT_IMPLEMENTED = -7,
    OPAL_ERR_NOT_SUPPORTED = -8,
    OPAL_ERR_INTERUPTED = -9, /* so spelt in the original */
    OPAL_ERR_WOULD_BLOCK = -10,
    OPAL_ERR_IN_ERRNO = -11,
    OPAL_ERR_UNREACH = -12,
    OPAL_ERR_NOT_FOUND = -13,
    OPAL_EXISTS = -14,
    OPAL_ERR_TIMEOUT = -15,
    OPAL_ERR_NOT_AVAILABLE = -16,
    OPAL_ERR_PERM = -17,
    OPAL_ERR_VALUE_OUT_OF_BOUNDS = -18,
    OPAL_ERR_FILE_READ_FAILURE = -19,
    OPAL_ERR_FILE_WRITE_FAILURE = -20,
    OPAL_ERR_FILE_OPEN_FAILURE = -21,
    OPAL_ERR_PACK_MISMATCH = -22,
    OPAL_ERR_PACK_FAILURE = -23,
    OPAL_ERR_UNPACK_FAILURE = -24,
    OPAL_ERR_UNPACK_INADEQUATE_SPACE = -25,
    OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER = -26,
    OPAL_ERR_TYPE_MISMATCH = -27,
    OPAL_ERR_OPERATION_UNSUPPORTED = -28,
    OPAL_ERR_UNKNOWN_DATA_TYPE = -29,
    OPAL_ERR_BUFFER = -30,
    OPAL_ERR_DATA_TYPE_REDEF = -31,
    OPAL_ERR_DATA_OVERWRITE_ATTEMPT = -32,
};

enum {
    ORTE_SUCCESS = OPAL_SUCCESS,
    ORTE_ERROR = OPAL_ERROR,
    ORTE_ERR_OUT_OF_RESOURCE = OPAL_ERR_OUT_OF_RESOURCE,
    ORTE_ERR_TEMP_OUT_OF_RESOURCE = OPAL_ERR_TEMP_OUT_OF_RESOURCE,
    ORTE_ERR_RESOURCE_BUSY = OPAL_ERR_RESOURCE_BUSY,
    ORTE_ERR_BAD_PARAM = OPAL_ERR_BAD_PARAM,
    ORTE_ERR_FATAL = OPAL_ERR_FATAL,
    ORTE_ERR_NOT_IMPLEMENTED = OPAL_ERR_NOT_IMPLEMENTED,
    ORTE_ERR_NOT_SUPPORTED = OPAL_ERR_NOT_SUPPORTED,
    ORTE_ERR_INTERUPTED = OPAL_ERR_INTERUPTED,
    ORTE_ERR_WOULD_BLOCK = OPAL_ERR_WOULD_BLOCK,
    ORTE_ERR_IN_ERRNO = OPAL_ERR_IN_ERRNO,
    ORTE_ERR_UNREACH = OPAL_ERR_UNREACH,
    ORTE_ERR_NOT_FOUND = OPAL_ERR_NOT_FOUND,
    ORTE_EXISTS = OPAL_EXISTS,
    ORTE_ERR_TIMEOUT = OPAL_ERR_TIMEOUT,
    ORTE_ERR_NOT_AVAILABLE = OPAL_ERR_NOT_AVAILABLE,
    ORTE_ERR_PERM = OPAL_ERR_PERM,
    ORTE_ERR_VALUE_OUT_OF_BOUNDS = OPAL_ERR_VALUE_OUT_OF_BOUNDS,
    ORTE_ERR_FILE_READ_FAILURE = OPAL_ERR_FILE_READ_FAILURE,
    ORTE_ERR_FILE_WRITE_FAILURE = OPAL_ERR_FILE_WRITE_FAILURE,
    ORTE_ERR_FILE_OPEN_FAILURE = OPAL_ERR_FILE_OPEN_FAILURE,
    ORTE_ERR_PACK_MISMATCH = OPAL_ERR_PACK_MISMATCH,
    ORTE_ERR_PACK_FAILURE = OPAL_ERR_PACK_FAILURE,
    ORTE_ERR_UNPACK_FAILURE = OPAL_ERR_UNPACK_FAILURE,
    ORTE_ERR_UNPACK_INADEQUATE_SPACE = OPAL_ERR_UNPACK_INADEQUATE_SPACE,
    ORTE_ERR_UNPACK_READ_PAST_END_OF_BUFFER = OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
    ORTE_ERR_TYPE_MISMATCH = OPAL_ERR_TYPE_MISMATCH,
    ORTE_ERR_OPERATION_UNSUPPORTED = OPAL_ERR_OPERATION_UNSUPPORTED,
    ORTE_ERR_UNKNOWN_DATA_TYPE = OPAL_ERR_UNKNOWN_DATA_TYPE,
    ORTE_ERR_BUFFER = OPAL_ERR_BUFFER,
    ORTE_ERR_DATA_TYPE_REDEF = OPAL_ERR_DATA_TYPE_REDEF,
    ORTE_ERR_DATA_OVERWRITE_ATTEMPT = OPAL_ERR_DATA_OVERWRITE_ATTEMPT,

    ORTE_ERR_BASE = -100,
    ORTE_ERR_RECV_LESS_THAN_POSTED = -101,
    ORTE_ERR_RECV_MORE_THAN_POSTED = -102,
    ORTE_ERR_NO_MATCH_YET = -103,
    ORTE_ERR_REQUEST = -104,
    ORTE_ERR_NO_CONNECTION_ALLOWED = -105,
    ORTE_ERR_CONNECTION_REFUSED = -106,
    ORTE_ERR_CONNECTION_FAILED = -107,
    ORTE_ERR_COMM_FAILURE = -108,
    ORTE_ERR_COMPARE_FAILURE = -109,
    ORTE_ERR_COPY_FAILURE = -110,
    ORTE_ERR_PROC_STATE_MISSING = -111,
    ORTE_ERR_PROC_EXIT_STATUS_MISSING = -112,
    ORTE_ERR_INDETERMINATE_STATE_INFO = -113,
    ORTE_ERR_NODE_FULLY_USED = -114,
    ORTE_ERR_INVALID_NUM_PROCS = -115,
    ORTE_ERR_SILENT = -116,
    ORTE_ERR_ADDRESSEE_UNKNOWN = -117,
    ORTE_ERR_SYS_LIMITS_PIPES = -118,
    ORTE_ERR_PIPE_SETUP_FAILURE = -119,
    ORTE_ERR_SYS_LIMITS_CHILDREN = -120,
    ORTE_ERR_FAILED_GET_TERM_ATTRS = -121,
    ORTE_ERR_WDIR_NOT_FOUND = -122,
    ORTE_ERR_EXE_NOT_FOUND = -123,
    ORTE_ERR_PIPE_READ_FAILURE = -124,
    ORTE_ERR_EXE_NOT_ACCESSIBLE = -125,
    ORTE_ERR_FAILED_TO_START = -126,
    ORTE_ERR_FILE_NOT_EXECUTABLE = -127,
    ORTE_ERR_HNP_COULD_NOT_START = -128,
    ORTE_ERR_SYS_LIMITS_SOCKETS = -129,
    ORTE_ERR_SOCKET_NOT_AVAILABLE = -130,
    ORTE_ERR_SYSTEM_WILL_BOOTSTRAP = -131,
    ORTE_ERR_COMM_DISABLED = -132,
};

/* The text of a status code, OPAL's or ORTE's: a static string, never NULL. Any thread. */
const char *opal_strerror(int status) KEEL_PUBLIC(opal_strerror);

/* Process names. */
typedef uint32_t orte_jobid_t;
typedef uint32_t orte_vpid_t;

struct orte_process_name_t {
    orte_jobid_t jobid; /* job family << 16 | job within the family; 0 is the daemons' job */
    orte_vpid_t vpid;   /* the rank within the job */
};
typedef struct orte_process_name_t orte_process_name_t;

#define ORTE_JOBID_WILDCARD (UINT32_MAX - 1)
#define ORTE_JOBID_INVALID UINT32_MAX
#define ORTE_VPID_WILDCARD (UINT32_MAX - 1)
#define ORTE_VPID_INVALID UINT32_MAX

extern const orte_process_name_t orte_name_wildcard KEEL_PUBLIC(orte_name_wildcard);
extern const orte_process_name_t orte_name_invalid KEEL_PUBLIC(orte_name_invalid);
/* The seed's functions take pointers to names that they do not change, without const. */
#define ORTE_NAME_WILDCARD ((orte_process_name_t *) &orte_name_wildcard)
#define ORTE_NAME_INVALID ((orte_process_name_t *) &orte_name_invalid)

enum { OPAL_EQUAL = 0, OPAL_VALUE1_GREATER = 1, OPAL_VALUE2_GREATER = -1 };
enum { ORTE_NS_CMP_JOBID = 0x02, ORTE_NS_CMP_VPID = 0x04, ORTE_NS_CMP_ALL = 0xff };
typedef uint8_t orte_ns_cmp_bitmask_t;

/* Literal comparison of the chosen fields (a wildcard equals only a wildcard). NULL sorts before
 * every name. Returns OPAL_EQUAL, OPAL_VALUE1_GREATER or OPAL_VALUE2_GREATER. */
int orte_util_compare_name_fields(orte_ns_cmp_bitmask_t fields, const orte_process_name_t *a,
                                  const orte_process_name_t *b)
    KEEL_PUBLIC(orte_util_compare_name_fields);

/* "JOBID.VPID" in decimal; * stands for a wildcard, $ for invalid. The string is malloc'd. */
int orte_util_convert_process_name_to_string(char **text, const orte_process_name_t *name)
    KEEL_PUBLIC(orte_util_convert_process_name_to_string);
int orte_util_convert_string_to_process_name(orte_process_name_t *name, const char *text)
    KEEL_PUBLIC(orte_util_convert_string_to_process_name);

/* "[[family,local],vpid]" in one of 16 rotating buffers of the calling thread. NULL is allowed. */
const char *orte_util_print_name_args(const orte_process_name_t *name)
    KEEL_PUBLIC(orte_util_print_name_args);
#define ORTE_NAME_PRINT(name) orte_util_print_name_args(name)

/* A pointer that has the same size on every host (seed: btl.h). */
typedef union opal_ptr_t {
    uint64_t lval;
    uint32_t ival;
    void *pval;
    struct {
        uint32_t uval;
        uint32_t lval;
    } sval;
} opal_ptr_t;

/* A process as the data plane knows it. The pointer is its identity; bootstrap owns it from the
 * hand-off until keel_finalize. */
struct opal_proc_t {
    orte_process_name_t proc_name;
    uint32_t node;        /* processes with the same number share a kernel */
    uint32_t local_rank;  /* rank among the processes of its node */
    const char *hostname; /* node name; borrowed, lives as long as the proc */
};
typedef struct opal_proc_t opal_proc_t;
/* By the older name (keel/ptl.h, keel/btl2.h): a pointer to one may be converted to a pointer to
 * the other. */
struct ompi_proc_t {
    opal_proc_t super;
};
typedef struct ompi_proc_t ompi_proc_t;

/* Versions of components (seeds: rml.h, btl.h). */
#define OPAL_MAJOR_VERSION 1
#define OPAL_MINOR_VERSION 6
#define OPAL_RELEASE_VERSION 0
#define MCA_BASE_MAX_TYPE_NAME_LEN 31
#define MCA_BASE_MAX_COMPONENT_NAME_LEN 63

struct mca_base_component_t {
    int mca_major_version; /* version of this structure */
    int mca_minor_version;
    int mca_release_version;
    char mca_type_name[MCA_BASE_MAX_TYPE_NAME_LEN + 1];
    int mca_type_major_version; /* version of the framework's interface */
    int mca_type_minor_version;
    int mca_type_release_version;
    char mca_component_name[MCA_BASE_MAX_COMPONENT_NAME_LEN + 1];
    int mca_component_major_version;
    int mca_component_minor_version;
    int mca_component_release_version;
    int (*mca_open_component)(void);
    int (*mca_close_component)(void);
    int (*mca_query_component)(void **module, int *priority);
    int (*mca_register_component_params)(void); /* Keel never calls it; NULL is allowed */
};
typedef struct mca_base_component_t mca_base_component_t;

struct mca_base_component_data_t {
    uint32_t param_field; /* MCA_BASE_METADATA_PARAM_* */
};
typedef struct mca_base_component_data_t mca_base_component_data_t;
#define MCA_BASE_METADATA_PARAM_NONE 0u
#define MCA_BASE_METADATA_PARAM_CHECKPOINT 2u

#define MCA_BASE_VERSION_2_0_0 \
    .mca_major_version = 2, .mca_minor_version = 0, .mca_release_version = 0

/* States of ft_event (seeds: rml.h, btl.h). */
enum {
    OPAL_CRS_NONE = 0,
    OPAL_CRS_CHECKPOINT = 1,
    OPAL_CRS_RESTART_PRE = 2,
    OPAL_CRS_RESTART = 3,
    OPAL_CRS_CONTINUE = 4,
    OPAL_CRS_TERM = 5,
    OPAL_CRS_RUNNING = 6,
    OPAL_CRS_ERROR = 7,
};

END_C_DECLS
#endif
