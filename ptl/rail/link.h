/* The frames to a process, whichever of its rails carries them, so that the loss of a rail loses
 * none.
 *
 * Where more than one module may lead to a process, each frame to it has a number, and a copy is
 * kept until the process has said that all up to it have come. What a lost rail may have lost is
 * given to another rail; what comes twice is dropped. So each frame is handled once. When the last
 * rail is lost, sends to the process fail.
 *
 * What has come is said by each frame that goes the other way, or by one of its own
 * (ptl/rail/owed.h). KEPT_MOST bytes of copies make messages wait.
 *
 * A frame that names memory or wants it is good on the rail that it was made for; on another it is
 * changed first (adapt). One that is too long for a rail goes in parts. */
#ifndef PTL_RAIL_LINK_H
#define PTL_RAIL_LINK_H

#include <ptl/rail/parts.h>
#include <ptl/rail/rail.h>
#include <ptl/rail/window.h>

struct rail_link {
    struct list all;         /* in rail.all_links */
    const opal_proc_t *proc; /* borrowed */
    /* To it. */
    struct rail_frame **kept; /* owned, and so are they: by number, modulo places */
    size_t kept_bytes;
    struct rail_room *room; /* that waits for it; owned; NULL: for none */
    /* From it. */
    struct rail_window come;
    struct list parts;                /* struct rail_parts, one for each rail; owned */
    struct list owes;                 /* in rail.owing, while it is not told what has come */
    uint32_t owed_frames, owed_bytes; /* since it was told */
    /* To it. */
    uint32_t places;      /* of kept: 0, or a power of two */
    uint32_t first, next; /* numbers: of the oldest that is kept; of the next one */
    uint32_t said;        /* those before this one have come, it said */
    uint32_t waiting;     /* of those that are kept: no rail has taken all of them */
    bool numbers;         /* frames to it have numbers; else it only says which came */
    bool lost;            /* the process was given up */
    bool busy;            /* a module is given one: nothing is freed */
    bool refused;         /* a message found no room; its peer is told when there is some */
};

void rail_link_open(void);
/* Says what has come, and forgets all. */
void rail_link_close(void);

/* That to a process, made where frames to it are to have numbers. NULL: they are not, or there is
 * no memory. */
struct rail_link *rail_link_to(const opal_proc_t *proc);

/* A message's frame: header and size bytes of data (NULL: none) from offset on, which are copied,
 * by the peer's rail. OUT_OF_RESOURCE: ptl_peer_ready will be called; another error: it did not
 * go. */
int rail_link_send(struct mca_ptl_base_peer_t *peer, const void *header, size_t header_size,
                   const opal_convertor_t *data, size_t offset, size_t size) KEEL_MUST_CHECK;
/* The same of a whole message, whose bytes lie together. */
int rail_link_sendi(struct mca_ptl_base_peer_t *peer, const mca_ptl_base_match_header_t *match,
                    const void *bytes) KEEL_MUST_CHECK;
/* A header without data that was made for this rail; later where there is no room now. */
void rail_link_say(struct rail_link *link, struct rail_module *module,
                   struct mca_btl_base_endpoint_t *endpoint, const void *header, size_t size);
/* NUMBERED or CAME. False: it makes no sense. */
bool rail_link_arrived(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                       const uint8_t *data, size_t size) KEEL_MUST_CHECK;
void rail_link_forget(struct rail_link *link);
/* The process is given up; before rail_link_renew. */
void rail_link_lose(const orte_process_name_t *name);
/* The rails to the process are others now. False: there is none, and all that was kept is lost. */
bool rail_link_renew(struct rail_link *link);

#endif
