/* Checkpoints and restarts (btl/base.h). */
#ifndef BTL_FTEVENT_H
#define BTL_FTEVENT_H

void btl_ftevent_register_params(void);

#endif
