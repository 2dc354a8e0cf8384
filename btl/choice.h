/* The parameter btl: the components to open ("self,sm"), or not to open ("^tcp"). */
#ifndef BTL_CHOICE_H
#define BTL_CHOICE_H

#include <btl/base.h>

/* BAD_PARAM, with the reason: an empty or unknown name, one that stands twice, a ^ that is not the
 * first character, or nothing that would be opened. */
int btl_choice_check(const char *choice, char *reason, size_t size) KEEL_MUST_CHECK;
/* Whether a choice that was checked opens this component. */
bool btl_choice_opens(const char *choice, const struct btl_component *entry);

#endif
