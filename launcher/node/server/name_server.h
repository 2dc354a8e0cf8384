/* Names that ranks publish, each with a port for others to find: kept by the HNP, asked by every
 * daemon. Messages on RML_TAG_NAMES: to the HNP c command, q request, s name, s port ("" but for
 * publish); from it NAMES_ANSWER, q request, i status, s port ("" but for lookup). On the loop. */
#ifndef LAUNCHER_NODE_SERVER_NAME_SERVER_H
#define LAUNCHER_NODE_SERVER_NAME_SERVER_H

#include <rml/interface/core.h>

enum names_command { NAMES_PUBLISH = 1, NAMES_LOOKUP, NAMES_UNPUBLISH, NAMES_ANSWER };

struct names; /* one a daemon */

/* status: ORTE_SUCCESS; ORTE_EXISTS for publish; ORTE_ERR_NOT_FOUND for the others;
 * ORTE_ERR_OUT_OF_RESOURCE. port: for lookup, borrowed. */
typedef void (*names_fn)(void *arg, int status, const char *port);

/* me, hnp: names of this daemon and of the one that keeps the names, which may be the same. */
int names_create(struct names **names, struct rml *rml, const orte_process_name_t *me,
                 const orte_process_name_t *hnp) KEEL_MUST_CHECK;
void names_destroy(struct names *names);
/* done is called once, later, unless the call fails or the question is dropped. */
int names_ask(struct names *names, enum names_command command, const char *name, const char *port,
              names_fn done, void *arg) KEEL_MUST_CHECK;
void names_drop(struct names *names, const void *arg); /* questions with this arg */

#endif
