/* Tests of active messages. The receiver copies every byte to its place, as a user would have it.
 */
#include <config.h>

#include <tools/perf/test.h>

const char *needs_sends(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_SEND ? NULL : "it carries no messages";
}

int run_am(struct pair *pair, size_t size, unsigned count)
{
    int status = OPAL_SUCCESS;
    for (unsigned i = 0; i < count && status == OPAL_SUCCESS; i++) {
        unsigned expected = pair->echoes + 1;
        status = pair_send(pair, size, EXPECT_ECHO);
        while (pair->echoes != expected && status == OPAL_SUCCESS) {
            status = pair_drive(pair);
        }
    }
    return status;
}

/* Ends when the other end has received all of them and said so. */
int run_ams(struct pair *pair, size_t size, unsigned count)
{
    unsigned expected = pair->receipts + 1;
    int status = OPAL_SUCCESS;
    for (unsigned i = 1; i <= count && status == OPAL_SUCCESS; i++) {
        status = pair_send(pair, size, i == count ? EXPECT_RECEIPT : EXPECT_NOTHING);
        while (pair->under_way >= pair->window && status == OPAL_SUCCESS) {
            status = pair_drive(pair);
        }
    }
    while ((pair->receipts != expected || pair->under_way > 0) && status == OPAL_SUCCESS) {
        status = pair_drive(pair);
    }
    return status;
}
