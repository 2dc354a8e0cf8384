#include <config.h>

#include <keel/types.h>

static const char *const opal_texts[] = {
    [-OPAL_SUCCESS] = "success",
    [-OPAL_ERROR] = "error",
    [-OPAL_ERR_OUT_OF_RESOURCE] = "out of resources",
    [-OPAL_ERR_TEMP_OUT_OF_RESOURCE] = "out of resources for now",
    [-OPAL_ERR_RESOURCE_BUSY] = "resource busy",
    [-OPAL_ERR_BAD_PARAM] = "invalid argument",
    [-OPAL_ERR_FATAL] = "fatal error",
    [-OPAL_ERR_NOT_IMPLEMENTED] = "not implemented",
    [-OPAL_ERR_NOT_SUPPORTED] = "not supported",
    [-OPAL_ERR_INTERUPTED] = "interrupted",
    [-OPAL_ERR_WOULD_BLOCK] = "would block",
    [-OPAL_ERR_IN_ERRNO] = "system error, see errno",
    [-OPAL_ERR_UNREACH] = "peer unreachable",
    [-OPAL_ERR_NOT_FOUND] = "not found",
    [-OPAL_EXISTS] = "exists already",
    [-OPAL_ERR_TIMEOUT] = "timed out",
    [-OPAL_ERR_NOT_AVAILABLE] = "not available",
    [-OPAL_ERR_PERM] = "permission denied",
    [-OPAL_ERR_VALUE_OUT_OF_BOUNDS] = "value out of bounds",
    [-OPAL_ERR_FILE_READ_FAILURE] = "cannot read the file",
    [-OPAL_ERR_FILE_WRITE_FAILURE] = "cannot write the file",
    [-OPAL_ERR_FILE_OPEN_FAILURE] = "cannot open the file",
    [-OPAL_ERR_PACK_MISMATCH] = "packed data has another type",
    [-OPAL_ERR_PACK_FAILURE] = "cannot pack the data",
    [-OPAL_ERR_UNPACK_FAILURE] = "malformed packed data",
    [-OPAL_ERR_UNPACK_INADEQUATE_SPACE] = "more values are packed than there is space for",
    [-OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER] = "read past the end of the buffer",
    [-OPAL_ERR_TYPE_MISMATCH] = "types do not match",
    [-OPAL_ERR_OPERATION_UNSUPPORTED] = "operation not supported for this type",
    [-OPAL_ERR_UNKNOWN_DATA_TYPE] = "unknown data type",
    [-OPAL_ERR_BUFFER] = "buffers of different description, or not empty",
    [-OPAL_ERR_DATA_TYPE_REDEF] = "data type registered already",
    [-OPAL_ERR_DATA_OVERWRITE_ATTEMPT] = "the value holds data already",
};

static const char *const orte_texts[] = {
    [ORTE_ERR_BASE - ORTE_ERR_BASE] = "runtime error",
    [ORTE_ERR_BASE - ORTE_ERR_RECV_LESS_THAN_POSTED] = "received less than was posted",
    [ORTE_ERR_BASE - ORTE_ERR_RECV_MORE_THAN_POSTED] = "received more than was posted",
    [ORTE_ERR_BASE - ORTE_ERR_NO_MATCH_YET] = "no matching message yet",
    [ORTE_ERR_BASE - ORTE_ERR_REQUEST] = "invalid request",
    [ORTE_ERR_BASE - ORTE_ERR_NO_CONNECTION_ALLOWED] = "no connection allowed",
    [ORTE_ERR_BASE - ORTE_ERR_CONNECTION_REFUSED] = "connection refused",
    [ORTE_ERR_BASE - ORTE_ERR_CONNECTION_FAILED] = "connection failed",
    [ORTE_ERR_BASE - ORTE_ERR_COMM_FAILURE] = "communication failed",
    [ORTE_ERR_BASE - ORTE_ERR_COMPARE_FAILURE] = "comparison failed",
    [ORTE_ERR_BASE - ORTE_ERR_COPY_FAILURE] = "copy failed",
    [ORTE_ERR_BASE - ORTE_ERR_PROC_STATE_MISSING] = "process state missing",
    [ORTE_ERR_BASE - ORTE_ERR_PROC_EXIT_STATUS_MISSING] = "exit status of a process missing",
    [ORTE_ERR_BASE - ORTE_ERR_INDETERMINATE_STATE_INFO] = "state information inconclusive",
    [ORTE_ERR_BASE - ORTE_ERR_NODE_FULLY_USED] = "all slots of the node are used",
    [ORTE_ERR_BASE - ORTE_ERR_INVALID_NUM_PROCS] = "invalid number of processes",
    [ORTE_ERR_BASE - ORTE_ERR_SILENT] = "error reported already",
    [ORTE_ERR_BASE - ORTE_ERR_ADDRESSEE_UNKNOWN] = "addressee unknown",
    [ORTE_ERR_BASE - ORTE_ERR_SYS_LIMITS_PIPES] = "the system's limit on pipes is reached",
    [ORTE_ERR_BASE - ORTE_ERR_PIPE_SETUP_FAILURE] = "cannot set up a pipe",
    [ORTE_ERR_BASE - ORTE_ERR_SYS_LIMITS_CHILDREN] = "the system's limit on processes is reached",
    [ORTE_ERR_BASE - ORTE_ERR_FAILED_GET_TERM_ATTRS] = "cannot get the terminal's attributes",
    [ORTE_ERR_BASE - ORTE_ERR_WDIR_NOT_FOUND] = "working directory not found",
    [ORTE_ERR_BASE - ORTE_ERR_EXE_NOT_FOUND] = "program not found",
    [ORTE_ERR_BASE - ORTE_ERR_PIPE_READ_FAILURE] = "cannot read from a pipe",
    [ORTE_ERR_BASE - ORTE_ERR_EXE_NOT_ACCESSIBLE] = "program not accessible",
    [ORTE_ERR_BASE - ORTE_ERR_FAILED_TO_START] = "process failed to start",
    [ORTE_ERR_BASE - ORTE_ERR_FILE_NOT_EXECUTABLE] = "file not executable",
    [ORTE_ERR_BASE - ORTE_ERR_HNP_COULD_NOT_START] = "the head node process could not start",
    [ORTE_ERR_BASE - ORTE_ERR_SYS_LIMITS_SOCKETS] = "the system's limit on sockets is reached",
    [ORTE_ERR_BASE - ORTE_ERR_SOCKET_NOT_AVAILABLE] = "no socket available",
    [ORTE_ERR_BASE - ORTE_ERR_SYSTEM_WILL_BOOTSTRAP] = "the system starts by itself",
    [ORTE_ERR_BASE - ORTE_ERR_COMM_DISABLED] = "communication is not enabled",
};

const char *opal_strerror(int status)
{
    if (status <= OPAL_SUCCESS && status >= OPAL_ERR_DATA_OVERWRITE_ATTEMPT) {
        return opal_texts[-status];
    }
    if (status <= ORTE_ERR_BASE && status >= ORTE_ERR_COMM_DISABLED) {
        return orte_texts[ORTE_ERR_BASE - status];
    }
    return "unknown status code";
}
