/* First fragments, as modules bring them. */
#ifndef PML_ARRIVAL_H
#define PML_ARRIVAL_H

#include <pml/requests/recv.h>

/* Call of modules. */
bool arrival_upcall_match(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag,
                          mca_ptl_base_match_header_t *header);
bool arrival_upcall_matchi(struct keel_ptl_module_t *ptl, const mca_ptl_base_match_header_t *header,
                           const void *bytes);
/* The messages that came before this context was opened arrive. */
void arrival_of_early(struct keel_pml_context *context);
/* Gives back what waits for a receive, in a context that is to be closed. */
void arrival_drop_unexpected(struct keel_pml_context *context);
/* The same of that and of what waits for its turn. */
void arrival_drop(struct keel_pml_context *context);
/* Gives back what waits for a context that cannot be opened. */
void arrival_forget(struct pml *pml, uint16_t id);
/* The same of what a peer that has ended only announced. */
void arrival_end_early(const struct peer *peer);
/* The same of all contexts. */
void arrival_drop_early(struct pml *pml);

#endif
