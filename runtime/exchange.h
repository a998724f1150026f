/*
 * What a program gives the services of its host: how documents of programs outside are read and
 * written, answers to calls, where the values of secrets are, and how object stores are reached.
 * Part of the public header, troupe.h.
 */
#ifndef TR_RUNTIME_EXCHANGE_H
#define TR_RUNTIME_EXCHANGE_H

#include "schemas/codec/field.h"
#include "schemas/runtime/http.h"

/* Words of what goes wrong with a document, and the code of a failure. */
#define TR_EXCHANGE_EXPLAIN_BYTES 1024
#define TR_EXCHANGE_CODE_BYTES 64

/* Lets others go first between pieces of what takes long (runtime/blob/turn.h). */
struct tr_turn;

/* A call that the program answers itself: its message, and how the answer is given. */
struct tr_inquiry {
    void *program; /* tr_host_options.program */
    const char *store_folder;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
    const struct tr_turn *turn; /* for what takes long */
    int (*reply)(const struct tr_inquiry *inquiry, const struct tr_schema *schema,
                 const void *body);
};

/* Gives the answer, whose views may end when this returns. What packing says. */
TR_MUST_USE static inline int tr_inquiry_answer(const struct tr_inquiry *inquiry,
                                                const struct tr_schema *schema, const void *body)
{
    return inquiry->reply(inquiry, schema, body);
}

/*
 * What the program knows of documents that programs outside write and read, for values that no
 * message carries. Called by the files service's thread, which may wait for disks; they own nothing
 * and keep nothing. `plan` comes from the program's own actors.
 */
struct tr_fence;

/* A document that is to be read. */
struct tr_exchange_reading {
    struct tr_bytes plan;
    const char *store_folder;
    struct tr_text path;
    /* Of it and of all that it names; NULL: none (schemas/runtime/files.h). */
    const struct tr_fence *fence;
    const struct tr_turn *turn;
};

/* One that is to be written, to an open file. */
struct tr_exchange_writing {
    struct tr_bytes plan;
    const char *store_folder;
    int descriptor;
    const struct tr_turn *turn;
};

struct tr_exchange {
    /* Writes a document. Errors with words. */
    int (*write)(const struct tr_exchange_writing *writing, char *explain);
    /*
     * Reads a document into packed slots of tr_alloc that fit into half a message. What is wrong
     * with the document itself is a code and words, and 0; errors are the machine's.
     */
    int (*read)(const struct tr_exchange_reading *reading, struct tr_bytes *slots, char *code,
                char *explain);
    /*
     * Answers a call of an actor to the files service that is none of its own, such as a look into
     * the history: with one `tr_inquiry_answer`, or an error with words. NULL: there is none.
     */
    int (*answer)(const struct tr_inquiry *inquiry, char *explain);
};

/* Where the values of processes' secrets may be. */
enum tr_secret_kind { TR_SECRET_ENVIRONMENT, TR_SECRET_FOLDER, TR_SECRET_COMMAND };

struct tr_secret_source {
    enum tr_secret_kind kind;
    const char *folder; /* NULL: the user's own, troupe/secrets in $XDG_CONFIG_HOME or ~/.config */
    /* argv, ended by NULL; GROUP/KEY[@VERSION] is put behind it, and what it prints is the value */
    const char *const *command;
};

/* How files at URIs that begin alike are reached; texts may be empty. */
struct tr_object_store {
    struct tr_text uri;           /* the beginning: "s3://", "s3://results", "https://host/path" */
    struct tr_text endpoint;      /* a URL before BUCKET/KEY; else that of the scheme */
    struct tr_text region;        /* that requests are signed for; else that of the scheme */
    struct tr_text ca_file;       /* else the system's */
    struct tr_http_secret secret; /* of each request; without a key there is none */
};

#endif
