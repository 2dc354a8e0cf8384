#include <config.h>

#include <rml/message/cut.h>
#include <rml/message/stamp.h>

size_t rml_cut_next(struct rml_cut *cut, struct iovec *pieces, int *piece_count)
{
    size_t bytes = 0;
    *piece_count = 0;
    while (cut->index < cut->count && *piece_count < OOB_TX_IOV && bytes < RML_FRAME_MAX) {
        const struct iovec *part = &cut->parts[cut->index];
        size_t length = part->iov_len - cut->offset;
        length = length < RML_FRAME_MAX - bytes ? length : RML_FRAME_MAX - bytes;
        if (length > 0) {
            pieces[(*piece_count)++] =
                (struct iovec){(char *) part->iov_base + cut->offset, length};
            bytes += length;
            cut->offset += length;
        }
        if (cut->offset == part->iov_len) {
            cut->index++;
            cut->offset = 0;
        }
    }
    return bytes;
}

size_t rml_cut_count(const struct iovec *parts, size_t count, size_t size)
{
    if (count == 1 && size <= RML_FRAME_MAX) {
        return 1;
    }
    struct rml_cut cut = {.parts = parts, .count = count};
    struct iovec pieces[OOB_TX_IOV];
    int piece_count;
    size_t frames = 0;
    for (size_t done = 0; done < size; frames++) {
        done += rml_cut_next(&cut, pieces, &piece_count);
    }
    return frames > 0 ? frames : 1;
}
