/* What the OOB puts on its wires, and nothing else: docs/wire.md draws it and says why.
 *
 * All numbers are little-endian. A handshake is HELLO, ANSWER, PROOF, VERDICT; then come frames, in
 * sealed records or plain. */
#ifndef OOB_OOB_WIRE_H
#define OOB_OOB_WIRE_H

#define WIRE_MAGIC "KEEL-OOB"
#define WIRE_VERSION 2

/* Handshake: every message begins with this head. */
enum {
    WIRE_AT_MAGIC = 0,   /* 8 bytes */
    WIRE_AT_VERSION = 8, /* u8 */
    WIRE_AT_TYPE = 9,    /* u8: enum wire_type */
    WIRE_AT_SIZE = 10,   /* u16: the whole message */
    WIRE_MAGIC_SIZE = 8,
    WIRE_HEAD_SIZE = 16, /* 12 to 15 by type */
};

enum wire_purpose { WIRE_LINK, WIRE_PING, WIRE_PURPOSES };

enum wire_type { WIRE_HELLO = 1, WIRE_ANSWER, WIRE_PROOF, WIRE_VERDICT };

/* HELLO and ANSWER. */
enum {
    WIRE_AT_KEY = 12,      /* u8: enum oob_key */
    WIRE_AT_SECURITY = 13, /* u8: enum oob_security */
    WIRE_AT_CIPHERS =
        14, /* u8: HELLO: a bit for each cipher that can be used; ANSWER: the choice */
    WIRE_AT_PURPOSE = 15, /* u8: enum wire_purpose; ANSWER: 0 */
    WIRE_AT_NAME = 16,    /* u32 jobid, u32 vpid: who speaks; ANSWER: whom the HELLO wanted */
    WIRE_AT_WANTED = 24,  /* u32 jobid, u32 vpid: to whom */
    WIRE_AT_EPOCH = 32,   /* u64 */
    WIRE_AT_NONCE = 40,   /* 32 bytes */
    WIRE_AT_PUBLIC = 72,  /* 32 bytes: ephemeral X25519 key; zeros: a plain link */
    WIRE_HELLO_SIZE = 104,
    WIRE_AT_ANSWER_MAC = 104, /* 32 bytes */
    WIRE_ANSWER_SIZE = 136,
};

/* PROOF (12 to 15 are zero) and VERDICT. */
enum {
    WIRE_AT_REASON = 12, /* u8: enum wire_reason */
    WIRE_AT_MODE = 13,   /* u8: enum oob_security of the acceptor */
    WIRE_AT_STATUS = 14, /* i16: status of a denial */
    WIRE_AT_MAC = 16,    /* 32 bytes; zeros in a refusal before the keys are known */
    WIRE_PROOF_SIZE = 48,
    WIRE_VERDICT_SIZE = 48,
    WIRE_MESSAGE_MAX = WIRE_ANSWER_SIZE,
};

enum wire_reason {
    WIRE_WELCOME,
    WIRE_BAD_FORMAT,   /* a field has no meaning */
    WIRE_BAD_VERSION,  /* the head of the verdict has the version that is spoken */
    WIRE_WRONG_NAME,   /* somebody else listens here */
    WIRE_NO_KEY,       /* that kind of key is not held, or not allowed on this socket */
    WIRE_BAD_SECURITY, /* the parameter oob_security differs */
    WIRE_BAD_PROOF,    /* the MAC is wrong: another key */
    WIRE_EXISTS,       /* that name has a live link */
    WIRE_SIMULTANEOUS, /* both connected at once; the other connection is up */
    WIRE_DENIED,       /* not admitted under this name */
    WIRE_BUSY,         /* too many have yet to prove themselves: again in a while */
    WIRE_REASONS
};

/* Sealed records: u32 size of the payload, the payload, a tag. */
#define RECORD_HEAD_SIZE 4u
#define RECORD_TAG_SIZE 16u
#define RECORD_PAYLOAD_MAX 65536u
#define RECORD_SIZE_MAX (RECORD_HEAD_SIZE + RECORD_PAYLOAD_MAX + RECORD_TAG_SIZE)

/* Frames: u32 length, u8 class, the bytes. The length does not count these five. */
#define FRAME_HEAD_SIZE 5u
/* In the class, without bytes: */
#define FRAME_PONG 0xfd  /* the answer to FRAME_PING */
#define FRAME_PING 0xfe  /* are you there? */
#define FRAME_CLOSE 0xff /* the orderly end */

#endif
