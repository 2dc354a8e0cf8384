/* A run_request as bytes: the body of FRONT_SUBMIT. What the front end alone needs (tags, files)
 * stays with it. */
#ifndef LAUNCHER_REQUEST_SUBMIT_H
#define LAUNCHER_REQUEST_SUBMIT_H

#include <keel/buffer.h>
#include <launcher/request/run_request.h>

int submit_pack(opal_buffer_t *buffer, const struct run_request *request) KEEL_MUST_CHECK;
int submit_unpack(opal_buffer_t *buffer, struct run_request *request) KEEL_MUST_CHECK;

#endif
