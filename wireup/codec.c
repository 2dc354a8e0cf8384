#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <wireup/codec.h>
#include <wireup/proto.h>

enum { VALUE_BYTES_MIN = 4 }; /* how many of them there are stands before values */

bool codec_goes_on(const struct codec *codec)
{
    return codec->status == ORTE_SUCCESS;
}

void codec_fail(struct codec *codec, int status)
{
    codec->status = codec_goes_on(codec) ? status : codec->status;
}

void codec_check(struct codec *codec, bool right)
{
    if (codec->unpacks && !right) {
        codec_fail(codec, ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    }
}

void codec_u32(struct codec *codec, uint32_t *number, uint32_t max)
{
    uint32_t read = 0;
    if (codec_goes_on(codec)) {
        codec->status = codec->unpacks ? proto_unpack(codec->buffer, "u", &read)
                                       : proto_pack(codec->buffer, "u", *number);
        codec_check(codec, read <= max);
    }
    if (codec_goes_on(codec) && codec->unpacks) {
        *number = read;
    }
}

void codec_u8(struct codec *codec, unsigned *number, uint8_t max)
{
    uint8_t read = 0;
    if (codec_goes_on(codec)) {
        codec->status = codec->unpacks ? proto_unpack(codec->buffer, "c", &read)
                                       : proto_pack(codec->buffer, "c", *number);
        codec_check(codec, read <= max);
    }
    if (codec_goes_on(codec) && codec->unpacks) {
        *number = read;
    }
}

void codec_flag(struct codec *codec, bool *flag)
{
    unsigned number = *flag;
    codec_u8(codec, &number, UINT8_MAX);
    if (codec_goes_on(codec) && codec->unpacks) {
        *flag = number;
    }
}

void codec_text(struct codec *codec, char **text)
{
    if (codec_goes_on(codec)) {
        codec->status = codec->unpacks ? proto_unpack(codec->buffer, "s", text)
                                       : proto_pack(codec->buffer, "s", *text ? *text : "");
    }
}

void codec_optional_text(struct codec *codec, char **text)
{
    codec_text(codec, text);
    if (codec_goes_on(codec) && codec->unpacks && !**text) {
        free(*text);
        *text = NULL;
    }
}

void codec_strings(struct codec *codec, char ***strings)
{
    if (codec_goes_on(codec)) {
        codec->status = codec->unpacks ? proto_unpack_strings(codec->buffer, strings)
                                       : proto_pack_strings(codec->buffer, *strings);
    }
}

void codec_window(struct codec *codec, struct window *window)
{
    uint32_t rows = window->rows, columns = window->columns;
    codec_u32(codec, &rows, UINT32_MAX);
    codec_u32(codec, &columns, UINT32_MAX);
    codec_check(codec, !codec->unpacks || window_make(window, rows, columns));
}

void codec_u32s(struct codec *codec, uint32_t **numbers, uint32_t count)
{
    if (codec_goes_on(codec)) {
        codec->status = codec->unpacks
                            ? proto_unpack_u32s(codec->buffer, count, numbers)
                            : opal_dss.pack(codec->buffer, *numbers, (int32_t) count, OPAL_UINT32);
    }
}

void codec_array(struct codec *codec, void *array, uint32_t *count, uint32_t read, size_t size)
{
    codec_check(codec, read <= proto_left(codec->buffer) / VALUE_BYTES_MIN);
    if (!codec_goes_on(codec) || !codec->unpacks || read == 0) {
        return;
    }
    void *room = calloc(read, size);
    if (!room) {
        codec_fail(codec, ORTE_ERR_OUT_OF_RESOURCE);
        return;
    }
    memcpy(array, &room, sizeof(room)); /* whatever it points to */
    *count = read;
}
