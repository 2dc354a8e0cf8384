#include <rml/message/cut.h>
#include <rml/message/stamp.h>
#include <tests/lib/unit.h>

static char bytes[3 * RML_FRAME_MAX];

/* Cuts the parts up; the frames must hold all bytes in their order. */
static size_t cut_all(const struct iovec *parts, size_t count, size_t size)
{
    struct rml_cut cut = {.parts = parts, .count = count};
    struct iovec pieces[OOB_TX_IOV];
    int piece_count;
    size_t frames = rml_cut_count(parts, count, size), index = 0, offset = 0, sum = 0;
    for (size_t i = 0; i < frames; i++) {
        size_t length = rml_cut_next(&cut, pieces, &piece_count);
        ck_assert(length <= RML_FRAME_MAX && piece_count <= OOB_TX_IOV);
        for (int piece = 0; piece < piece_count; piece++) {
            while (offset == parts[index].iov_len) {
                index++;
                offset = 0;
            }
            ck_assert_ptr_eq(pieces[piece].iov_base, (char *) parts[index].iov_base + offset);
            offset += pieces[piece].iov_len;
            ck_assert_uint_le(offset, parts[index].iov_len);
            sum += pieces[piece].iov_len;
        }
    }
    ck_assert_uint_eq(sum, size);
    return frames;
}

START_TEST(frames_of_a_message)
{
    struct iovec one = {bytes, 5};
    ck_assert_uint_eq(cut_all(&one, 1, 5), 1);
    one.iov_len = RML_FRAME_MAX;
    ck_assert_uint_eq(cut_all(&one, 1, RML_FRAME_MAX), 1);
    one.iov_len = RML_FRAME_MAX + 1;
    ck_assert_uint_eq(cut_all(&one, 1, RML_FRAME_MAX + 1), 2);
    one.iov_len = sizeof(bytes);
    ck_assert_uint_eq(cut_all(&one, 1, sizeof(bytes)), 3);
}
END_TEST

START_TEST(an_empty_message_is_a_frame)
{
    struct iovec none[2] = {{NULL, 0}, {bytes, 0}};
    ck_assert_uint_eq(cut_all(none, 2, 0), 1);
    ck_assert_uint_eq(cut_all(none, 0, 0), 1);
}
END_TEST

START_TEST(many_pieces)
{
    struct iovec parts[3 * OOB_TX_IOV];
    size_t size = 0;
    for (size_t i = 0; i < 3 * OOB_TX_IOV; i++) {
        parts[i] = (struct iovec){bytes + 7 * i, i % 5}; /* some are empty */
        size += i % 5;
    }
    ck_assert_uint_eq(cut_all(parts, 3 * OOB_TX_IOV, size), 3);
}
END_TEST

UNIT_MAIN("rml/cut")
