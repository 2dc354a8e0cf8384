/* Messages by tag in a job of two, where they might wait for each other: prints "ok" from rank 0.
 */
#include <keel/keel.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 20000, TAG = 1 };

static int32_t me;

static void must(int status, int wanted, const char *what)
{
    if (status != wanted) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

static struct keel_pml_context *open_context(uint32_t id)
{
    struct keel_pml_context *context;
    must(keel_pml_context_open(id, NULL, 2, me, &context), OPAL_SUCCESS, "context_open");
    return context;
}

static void send_many(struct keel_pml_context *context, struct keel_pml_request **requests)
{
    static char bytes[64];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < MANY; i++) {
        must(keel_pml_isend(context, &data, 1, TAG, KEEL_PML_STANDARD, &requests[i]), OPAL_SUCCESS,
             "isend");
    }
}

static void receive_many(struct keel_pml_context *context, int count)
{
    char bytes[64];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < count; i++) {
        must(keel_pml_recv(context, &data, 0, TAG, NULL), OPAL_SUCCESS, "recv");
    }
}

/* Sends that found no room go on while their rank waits in a fence. */
static void fence(struct keel_pml_request **requests)
{
    struct keel_pml_context *context = open_context(1);
    if (me == 0) {
        send_many(context, requests);
        must(keel_fence(), ORTE_SUCCESS, "fence");
        must(keel_pml_waitall(MANY, requests, NULL), OPAL_SUCCESS, "waitall");
    } else {
        receive_many(context, MANY);
        must(keel_fence(), ORTE_SUCCESS, "fence");
    }
    must(keel_pml_context_free(&context), OPAL_SUCCESS, "context_free");
}

/* Sends in a context that the peer has not opened stall; one in another context passes them. */
static void pass(struct keel_pml_request **requests)
{
    struct keel_pml_context *first = me == 0 ? open_context(2) : NULL, *second = open_context(3);
    if (me == 0) {
        send_many(first, requests);
        must(keel_pml_send(second, NULL, 1, TAG, KEEL_PML_SYNCHRONOUS), OPAL_SUCCESS, "send");
        must(keel_pml_waitall(MANY, requests, NULL), OPAL_SUCCESS, "waitall");
    } else {
        receive_many(second, 1);
        first = open_context(2);
        receive_many(first, MANY);
    }
    must(keel_pml_context_free(&first), OPAL_SUCCESS, "context_free");
    must(keel_pml_context_free(&second), OPAL_SUCCESS, "context_free");
}

static int ends;

static void ended(struct keel_pml_request *request, const struct keel_pml_status *status, void *arg)
{
    (void) request, (void) status, (void) arg;
    must(keel_finalize(), ORTE_ERR_NOT_SUPPORTED, "finalize in a callback");
    ends++;
}

static void call_back(void)
{
    struct keel_pml_context *context = open_context(4);
    struct keel_pml_request *request;
    if (me == 0) {
        must(keel_pml_isend(context, NULL, 1, TAG, KEEL_PML_STANDARD, &request), OPAL_SUCCESS,
             "isend");
    } else {
        must(keel_pml_irecv(context, NULL, 0, TAG, &request), OPAL_SUCCESS, "irecv");
    }
    must(keel_pml_callback(request, ended, NULL), OPAL_SUCCESS, "callback");
    while (ends == 0) {
        (void) keel_progress();
    }
    must(keel_pml_wait(&request, NULL), OPAL_SUCCESS, "wait");
    must(keel_pml_context_free(&context), OPAL_SUCCESS, "context_free");
}

int main(void)
{
    struct keel_pml_request **requests = calloc(MANY, sizeof(struct keel_pml_request *));
    if (!requests || keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    me = (int32_t) keel_my_name()->vpid;
    fence(requests);
    pass(requests);
    call_back();
    if (me == 0) {
        printf("ok\n");
    }
    free(requests);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
