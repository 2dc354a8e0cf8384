#include <config.h>

#include <base/data/few.h>
#include <base/data/least.h>
#include <btl/interface/base.h>
#include <ptl/rail/link.h>
#include <ptl/rail/owed.h>
#include <ptl/rail/way.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_BYTES = 128,      /* of a frame, that a module gets as its header */
    SMALL_BYTES = 192,     /* of frames that come from a pool */
    SMALL_AT_ONCE = 64,    /* that the pool grows by */
    FIRST_PLACES = 16,     /* of a link's copies */
    KEPT_MOST = 1 << 20,   /* bytes of copies of which messages add no more */
    PARTS_MOST = 64 << 20, /* bytes of a frame that comes in parts */
};

/* A copy, with its NUMBERED header. */
struct rail_frame {
    const struct rail_module *module; /* the rail that it was made for, or given to */
    uint32_t size, given;             /* bytes; those that the rail took */
    bool small;                       /* of the pool */
    uint8_t bytes[];
};

/* ---- copies ---- */

static inline struct rail_frame *frame_new(size_t size)
{
    bool small = size <= SMALL_BYTES;
    struct rail_frame *frame = small ? pool_get(&rail.small_frames) : malloc(sizeof(*frame) + size);
    if (frame) {
        frame->size = (uint32_t) size;
        frame->given = 0;
        frame->small = small;
    }
    return frame;
}

static inline void frame_free(struct rail_frame *frame)
{
    if (frame->small) {
        pool_put(&rail.small_frames, frame);
    } else {
        free(frame);
    }
}

/* Of a frame that is kept, or is to be. */
static struct rail_frame **place_of(const struct rail_link *link, uint32_t number)
{
    return &link->kept[number & (link->places - 1)];
}

/* Makes places for twice as many. False: no memory. */
static bool grow(struct rail_link *link)
{
    const uint32_t places = link->places > 0 ? 2 * link->places : FIRST_PLACES;
    struct rail_frame **kept = malloc(places * sizeof(struct rail_frame *));
    if (!kept) {
        return false;
    }
    for (uint32_t number = link->first; number != link->next; number++) {
        kept[number & (places - 1)] = *place_of(link, number);
    }
    free(link->kept);
    link->kept = kept;
    link->places = places;
    return true;
}

/* With room for so many bytes behind its header; its number is taken. NULL: no memory. */
static inline struct rail_frame *frame_append(struct rail_link *link,
                                              const struct rail_module *module, size_t size)
{
    if (link->next - link->first == link->places && !grow(link)) {
        return NULL;
    }
    struct rail_frame *frame = frame_new(RAIL_NUMBER_BYTES + size);
    if (frame) {
        frame->module = module;
        *place_of(link, link->next) = frame;
        rail_encode_number(frame->bytes, link->next++);
        link->kept_bytes += frame->size;
    }
    return frame;
}

/* Its place is another one's, or nobody's. */
static inline void frame_remove(struct rail_link *link, struct rail_frame *frame)
{
    link->kept_bytes -= frame->size;
    link->waiting -= frame->given < frame->size;
    frame_free(frame);
}

/* ---- room ---- */

/* A frame that is larger than KEPT_MOST goes alone. */
static bool has_room(const struct rail_link *link, size_t size)
{
    return link->waiting == 0 && (link->kept_bytes == 0 || link->kept_bytes + size <= KEPT_MOST) &&
           link->next - link->first < RAIL_WINDOW;
}

static int refuse(struct rail_link *link, struct mca_ptl_base_peer_t *peer)
{
    link->refused = peer->refused = true;
    return OPAL_ERR_OUT_OF_RESOURCE;
}

/* Messages that were refused may come again. */
static void tell_of_room(struct rail_link *link)
{
    if (!link->refused || !has_room(link, KEPT_MOST / 2)) {
        return;
    }
    link->refused = false;
    for (size_t i = 0; i < rail.count; i++) {
        struct keel_ptl_module_t *ptl = &rail.modules[i]->super;
        struct mca_ptl_base_peer_t *peer =
            roster_find(rail.modules[i]->roster, &link->proc->proc_name);
        if (peer && peer->refused) {
            peer->refused = false;
            ptl->ptl_peer_ready(ptl, peer);
        }
    }
}

/* ---- rails ---- */

/* None to a process that was given up. */
static struct rail_way way_to(const struct rail_link *link, const struct rail_module *preferred)
{
    return link->lost ? (struct rail_way){0} : rail_way_any(link->proc, preferred);
}

/* A copy may take the place of the frame, where it gets longer. NULL: no memory, and the process is
 * given up. */
static struct rail_frame *rewrite(struct rail_link *link, struct rail_frame *frame,
                                  const struct rail_way *way, struct rail_header *header,
                                  size_t taken)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    if (header->type == RAIL_RNDV) {
        rail_announce_again(header, way->module, way->endpoint);
    } else {
        header->flags = 0;
    }
    const size_t rest = frame->size - RAIL_NUMBER_BYTES - taken, size = rail_encode(bytes, header);
    struct rail_frame *copy = frame_new(RAIL_NUMBER_BYTES + size + rest);
    if (!copy) {
        rail_give_up(way->module, way->endpoint, "there was no memory for a message to it");
        return NULL;
    }
    memcpy(copy->bytes, frame->bytes, RAIL_NUMBER_BYTES);
    memcpy(copy->bytes + RAIL_NUMBER_BYTES, bytes, size);
    memcpy(copy->bytes + RAIL_NUMBER_BYTES + size, frame->bytes + RAIL_NUMBER_BYTES + taken, rest);
    link->kept_bytes += copy->size;
    link->waiting++;
    *place_of(link, rail_number_of(copy->bytes)) = copy;
    frame_remove(link, frame);
    return copy;
}

/* Makes a frame one for this rail. Nobody waits any more for memory of a rail that is lost: who
 * asked for it is emptied, for its number has to come. */
static struct rail_frame *adapt(struct rail_link *link, struct rail_frame *frame,
                                const struct rail_way *way)
{
    struct rail_header header;
    size_t taken;
    if (frame->module != way->module && frame->size > RAIL_NUMBER_BYTES &&
        rail_decode(&header, frame->bytes + RAIL_NUMBER_BYTES, frame->size - RAIL_NUMBER_BYTES,
                    &taken) == OPAL_SUCCESS) {
        if (header.type == RAIL_WANT) {
            link->kept_bytes -= frame->size - RAIL_NUMBER_BYTES;
            frame->size = RAIL_NUMBER_BYTES;
        } else if (header.type == RAIL_RNDV || header.type == RAIL_PULL) {
            frame = rewrite(link, frame, way, &header, taken);
        }
    }
    if (frame) {
        frame->module = way->module;
    }
    return frame;
}

/* ---- to a rail ---- */

/* In parts, from where it was before. */
static int give_parts(struct rail_frame *frame, const struct rail_way *way, size_t most)
{
    uint8_t head[RAIL_PART_BYTES];
    const uint32_t whole = frame->size - RAIL_NUMBER_BYTES;
    int status = OPAL_SUCCESS;
    while (frame->given < frame->size && status == OPAL_SUCCESS) {
        const uint32_t offset = frame->given > 0 ? frame->given - RAIL_NUMBER_BYTES : 0;
        const size_t size = least(whole - offset, most - RAIL_PART_BYTES);
        rail_encode_part(head, frame->bytes, offset, whole);
        status =
            rail_way_put(way, head, sizeof(head), frame->bytes + RAIL_NUMBER_BYTES + offset, size);
        if (status == OPAL_SUCCESS) {
            frame->given = (uint32_t) (RAIL_NUMBER_BYTES + offset + size);
        }
    }
    return status;
}

/* One that is longer than what a module gets as its header. */
static int give_long(struct rail_frame *frame, const struct rail_way *way)
{
    const size_t most = way->module->frag_size + RAIL_LONG_BYTES + RAIL_NUMBER_BYTES;
    if (frame->size > most) {
        return give_parts(frame, way, most);
    }
    frame->given = 0;
    return rail_way_put(way, frame->bytes, HEAD_BYTES, frame->bytes + HEAD_BYTES,
                        frame->size - HEAD_BYTES);
}

/* An error: the rail did not take all of it. */
static inline int give(struct rail_link *link, struct rail_frame *frame, const struct rail_way *way)
{
    rail_set_came(frame->bytes, link->come.expected);
    link->busy = true;
    int status = frame->size <= HEAD_BYTES ? rail_way_put(way, frame->bytes, frame->size, NULL, 0)
                                           : give_long(frame, way);
    link->busy = false;
    if (status == OPAL_SUCCESS) {
        frame->given = frame->size;
        if (link->owed_frames > 0) {
            rail_owed_told(link);
        }
    }
    return status;
}

static void there_is_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          struct keel_btl_pending *pending, int status);

static void wait_no_more(struct rail_link *link)
{
    rail_room_leave(link->room);
    link->room = NULL;
}

static void wait_for_room(struct rail_link *link, const struct rail_way *way)
{
    int status;
    wait_no_more(link);
    link->room = rail_room_await(way->module, way->endpoint, there_is_room, link, &status);
}

/* Those that have come are forgotten. */
static inline void release(struct rail_link *link)
{
    while (link->first != link->said) {
        frame_remove(link, *place_of(link, link->first++));
    }
}

/* By its rail, or another one. False: not now. */
static bool give_one(struct rail_link *link, struct rail_frame *frame)
{
    const struct rail_way way = way_to(link, frame->module);
    if (!way.module || !(frame = adapt(link, frame, &way))) {
        return false;
    }
    int status = give(link, frame, &way);
    link->waiting -= status == OPAL_SUCCESS;
    if (btl_is_shortage(status)) {
        wait_for_room(link, &way);
    }
    return status == OPAL_SUCCESS;
}

/* Those that wait now. False: there was none that the process may have, or a rail did not take one.
 */
static bool give_waiting(struct rail_link *link)
{
    const uint32_t first = link->first;
    bool some = false;
    for (uint32_t i = 0; i < RAIL_WINDOW && first + i != link->next && link->waiting > 0; i++) {
        struct rail_frame *frame = *place_of(link, first + i);
        if (frame->given < frame->size) {
            some = give_one(link, frame);
            if (!some) {
                break;
            }
        }
    }
    return some;
}

/* Gives what waits to rails, as far as they take it. One that takes none and is not short is about
 * to be lost: rail_link_renew follows. */
static void flush(struct rail_link *link)
{
    /* answers may come to the end while a module is called */
    while (link->waiting > 0 && give_waiting(link)) {
    }
    release(link);
    tell_of_room(link);
}

static void there_is_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint;
    struct rail_link *link = rail_room_end(pending);
    link->room = NULL;
    if (status == OPAL_SUCCESS) {
        flush(link);
    }
}

/* A message's frame, the last one that is kept, was not taken. It is nobody's any more, unless
 * others came behind it while the module was called. */
static int take_back(struct rail_link *link, struct mca_ptl_base_peer_t *peer,
                     struct rail_frame *frame, int status)
{
    const struct rail_way way = {peer->module, peer->endpoint};
    link->waiting++;
    if (status != OPAL_ERR_UNREACH && *place_of(link, link->next - 1) == frame &&
        link->said != link->next) { /* else the process says that it has come */
        link->next--;
        frame_remove(link, frame);
        return rail_want_room(peer, status);
    }
    if (btl_is_shortage(status)) {
        wait_for_room(link, &way);
    }
    return OPAL_SUCCESS;
}

/* A message's frame of so many bytes, which are to be filled in. *status: why there is none. */
static inline struct rail_frame *frame_begin(struct mca_ptl_base_peer_t *peer, size_t size,
                                             int *status)
{
    struct rail_link *link = peer->link_to;
    if (!has_room(link, RAIL_NUMBER_BYTES + size)) {
        *status = refuse(link, peer);
        return NULL;
    }
    struct rail_frame *frame = frame_append(link, peer->module, size);
    if (!frame) {
        *status = rail_want_room(peer, OPAL_ERR_OUT_OF_RESOURCE);
    }
    return frame;
}

static inline int frame_go(struct mca_ptl_base_peer_t *peer, struct rail_frame *frame)
{
    struct rail_link *link = peer->link_to;
    const struct rail_way way = {peer->module, peer->endpoint};
    int status = give(link, frame, &way);
    if (status != OPAL_SUCCESS) {
        status = take_back(link, peer, frame, status);
    }
    if (status == OPAL_SUCCESS && link->waiting > 0) {
        flush(link); /* answers came meanwhile */
    }
    release(link);
    return status;
}

int rail_link_send(struct mca_ptl_base_peer_t *peer, const void *header, size_t header_size,
                   const opal_convertor_t *data, size_t offset, size_t size)
{
    int status;
    struct rail_frame *frame = frame_begin(peer, header_size + size, &status);
    if (!frame) {
        return status;
    }
    memcpy(frame->bytes + RAIL_NUMBER_BYTES, header, header_size);
    if (size > 0) {
        opal_convertor_t from = *data;
        opal_convertor_set_position(&from, &offset);
        (void) opal_convertor_pack_bytes(&from, frame->bytes + RAIL_NUMBER_BYTES + header_size,
                                         size);
    }
    return frame_go(peer, frame);
}

int rail_link_sendi(struct mca_ptl_base_peer_t *peer, const mca_ptl_base_match_header_t *match,
                    const void *bytes)
{
    int status;
    const size_t size = match->hdr_msg_length;
    struct rail_frame *frame = frame_begin(peer, RAIL_MATCH_BYTES + size, &status);
    if (!frame) {
        return status;
    }
    rail_encode_match(frame->bytes + RAIL_NUMBER_BYTES, match);
    copy_few(frame->bytes + RAIL_NUMBER_BYTES + RAIL_MATCH_BYTES, bytes, size);
    return frame_go(peer, frame);
}

void rail_link_say(struct rail_link *link, struct rail_module *module,
                   struct mca_btl_base_endpoint_t *endpoint, const void *header, size_t size)
{
    if (link->lost) {
        return;
    }
    struct rail_frame *frame = NULL;
    if (link->kept_bytes >= KEPT_MOST + rail.answers_most) {
        rail_give_up(module, endpoint, "more answers to it wait than ptl_rail_answers_size");
    } else if (!(frame = frame_append(link, module, size))) {
        rail_give_up(module, endpoint, "there was no memory for an answer to it");
    }
    if (frame) {
        memcpy(frame->bytes + RAIL_NUMBER_BYTES, header, size);
        link->waiting++;
        if (!link->busy) {
            flush(link); /* a rail that is new may not be there yet: rail_link_renew follows */
        }
    }
}

/* ---- arrivals ---- */

/* The process says which have come. */
static inline void heard(struct rail_link *link, uint32_t number)
{
    if (number - link->said > link->next - link->said) {
        return; /* late */
    }
    link->said = number;
    if (!link->busy) {
        release(link);
        if (link->waiting > 0) {
            flush(link);
        } else {
            tell_of_room(link);
        }
    }
}

/* A frame, once. False: it makes no sense. */
static inline bool take(struct rail_link *link, struct rail_module *module,
                        struct mca_btl_base_endpoint_t *endpoint, uint32_t number,
                        const uint8_t *bytes, size_t size)
{
    bool good = true;
    switch (rail_window_take(&link->come, number)) {
    case RAIL_NEW:
        good = size == 0 || rail_take(module, endpoint, bytes, size);
        break;
    case RAIL_AGAIN:
        break;
    case RAIL_TOO_FAR:
        good = false;
        break;
    case RAIL_NO_MEMORY:
        rail_give_up(module, endpoint, rail_no_memory);
        break;
    }
    rail_owed_frame(link, size);
    return good;
}

/* Where the rail was lost in between, the frame comes again from its beginning. */
static bool take_part(struct rail_link *link, struct rail_module *module,
                      struct mca_btl_base_endpoint_t *endpoint, const struct rail_part *part)
{
    struct rail_parts *parts = rail_parts_over(&link->parts, endpoint);
    if (part->whole > PARTS_MOST) {
        return false;
    }
    if (part->offset == 0 && !(parts = rail_parts_begin(&link->parts, parts, endpoint, part))) {
        rail_give_up(module, endpoint, rail_no_memory);
        return true;
    }
    if (!parts || parts->number != part->number || parts->size != part->whole ||
        parts->come != part->offset) {
        return true;
    }
    memcpy(parts->bytes + part->offset, part->bytes, part->size);
    parts->come += part->size;
    if (parts->come < parts->size) {
        return true;
    }
    list_remove(&parts->link); /* the link may end meanwhile */
    bool good = take(link, module, endpoint, part->number, parts->bytes, part->whole);
    rail_parts_end(parts);
    return good;
}

/* ---- life ---- */

/* More than one module may lead to it, now or when another one fails. */
static bool is_to_have_numbers(const opal_proc_t *proc)
{
    const struct btl_host *host = btl_host();
    unsigned ways = 0;
    if (!rail.failover || proc == host->ops->me(host->arg)) {
        return false;
    }
    for (size_t i = 0; i < rail.count; i++) {
        ways += btl_reaches(rail.modules[i]->btl, proc);
    }
    return ways > 1;
}

static struct rail_link *link_create(const opal_proc_t *proc, bool numbers)
{
    struct rail_link *link = roster_add(rail.links, &proc->proc_name, NULL);
    if (link) {
        link->proc = proc;
        link->numbers = numbers;
        link->lost = roster_find(rail.given_up, &proc->proc_name);
        list_init(&link->parts);
        list_init(&link->owes);
        list_append(&rail.all_links, &link->all);
        link->first = link->next = link->said = rail.first_number;
        rail_window_init(&link->come, rail.first_number);
    }
    return link;
}

struct rail_link *rail_link_to(const opal_proc_t *proc)
{
    struct rail_link *link = roster_find(rail.links, &proc->proc_name);
    if (!link && rail.count > 1 && is_to_have_numbers(proc)) {
        link = link_create(proc, true);
    }
    return link && link->numbers ? link : NULL;
}

/* That to the process at the other end, which is made. NULL: it is no peer, or there is no memory
 * for it. */
static struct rail_link *link_over(const struct rail_module *module,
                                   const struct mca_btl_base_endpoint_t *endpoint)
{
    if (rail.last_endpoint == endpoint) {
        return rail.last;
    }
    const opal_proc_t *proc = btl_proc_of(module->btl, endpoint);
    struct rail_link *link = proc ? roster_find(rail.links, &proc->proc_name) : NULL;
    if (!proc) {
        return NULL;
    }
    rail.last = link ? link : link_create(proc, is_to_have_numbers(proc));
    rail.last_endpoint = rail.last ? endpoint : NULL;
    return rail.last;
}

bool rail_link_arrived(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                       const uint8_t *data, size_t size)
{
    struct rail_part part;
    if (!rail_decode_number(&part, data, size)) {
        return false;
    }
    struct rail_link *link = link_over(module, endpoint);
    if (!link) {
        return false;
    }
    if (part.kind == RAIL_PART_LOST) {
        rail_given_up_by(&link->proc->proc_name);
        return true;
    }
    if (link->lost) {
        rail_owed_word(link); /* it does not know */
        return true;
    }
    heard(link, part.came);
    switch (part.kind) {
    case RAIL_PART_NONE:
        return true;
    case RAIL_PART_WHOLE:
        return take(link, module, endpoint, part.number, part.bytes, part.size);
    default:
        return take_part(link, module, endpoint, &part);
    }
}

/* The last rail is lost. */
static void end(struct rail_link *link)
{
    wait_no_more(link);
    link->said = link->next;
    release(link);
    while (!list_empty(&link->parts)) {
        rail_parts_end(container_of(link->parts.next, struct rail_parts, link));
    }
    rail_owed_told(link);
}

void rail_link_lose(const orte_process_name_t *name)
{
    struct rail_link *link = roster_find(rail.links, name);
    if (link) {
        link->lost = true;
    }
}

bool rail_link_renew(struct rail_link *link)
{
    if (!way_to(link, NULL).module) {
        end(link);
        if (rail_way_any(link->proc, NULL).module) {
            rail_owed_word(link); /* that it is lost; the process may not know */
        }
        return false;
    }
    wait_no_more(link);
    /* one of which a part was given begins again: others may come before its next part */
    for (uint32_t number = link->first; number != link->next; number++) {
        struct rail_frame *frame = *place_of(link, number);
        if (frame->given > 0 &&
            (frame->given < frame->size || way_to(link, frame->module).module != frame->module)) {
            link->waiting += frame->given == frame->size;
            frame->given = 0;
        }
    }
    rail_owed_word(link); /* what was said may be lost */
    flush(link);
    return true;
}

void rail_link_open(void)
{
    pool_init(&rail.small_frames, sizeof(struct rail_frame) + SMALL_BYTES,
              _Alignof(struct rail_frame), SMALL_AT_ONCE, 0, NULL, NULL);
    list_init(&rail.all_links);
    rail_owed_open();
}

void rail_link_forget(struct rail_link *link)
{
    rail.last_endpoint = rail.last == link ? NULL : rail.last_endpoint;
    end(link);
    list_remove(&link->all);
    free(link->kept);
    rail_window_fini(&link->come);
    roster_remove(rail.links, link, true);
}

void rail_link_close(void)
{
    rail_owed_close();
    for (struct list *item; (item = list_pop(&rail.all_links));) {
        rail_link_forget(container_of(item, struct rail_link, all));
    }
    pool_fini(&rail.small_frames);
}
