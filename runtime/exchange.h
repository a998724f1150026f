/*
 * What a program provides to the services of its host: reading and writing documents of outside
 * programs, answers to calls, the sources of secrets, and access to object stores. Part of the
 * public header, troupe.h.
 */
#ifndef TR_RUNTIME_EXCHANGE_H
#define TR_RUNTIME_EXCHANGE_H

#include "schemas/codec/field.h"
#include "schemas/runtime/http.h"

/* Bytes of the words about a document, and of the code of a failure. */
#define TR_EXCHANGE_EXPLAIN_BYTES 1024
#define TR_EXCHANGE_CODE_BYTES 64

/* Yields between pieces of long work (runtime/blob/turn.h). */
struct tr_turn;

/* A call that the program answers: its message, and the function to reply. */
struct tr_inquiry {
    void *program; /* tr_host_options.program */
    const char *store_folder;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
    const struct tr_turn *turn; /* for long work */
    int (*reply)(const struct tr_inquiry *inquiry, const struct tr_schema *schema,
                 const void *body);
    /* Keeps a graph, as tr_host_put_graph does: before the answer that says that it is there. */
    int (*put_graph)(const struct tr_inquiry *inquiry, struct tr_bytes row, uint64_t now_ms);
};

/* Sends the answer, whose views may end when this returns. Errors of packing. */
TR_MUST_USE static inline int tr_inquiry_answer(const struct tr_inquiry *inquiry,
                                                const struct tr_schema *schema, const void *body)
{
    return inquiry->reply(inquiry, schema, body);
}

/*
 * The program's functions for documents that outside programs write and read, for values too large
 * for messages. Called on the files service's thread, which may wait for disks; they keep no state.
 * `plan` comes from the program's own actors.
 */
struct tr_fence;

/* A document to read. */
struct tr_exchange_reading {
    struct tr_bytes plan;
    const char *store_folder;
    struct tr_text path;
    /* For it and all files that it names; NULL: none (schemas/runtime/files.h). */
    const struct tr_fence *fence;
    const struct tr_turn *turn;
};

/* A document to write, to an open file. */
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
     * Reads a document into packed slots, allocated by tr_alloc, that fit into half a message. A
     * defect of the document itself gives a code and words, and 0; errors are the machine's.
     */
    int (*read)(const struct tr_exchange_reading *reading, struct tr_bytes *slots, char *code,
                char *explain);
    /*
     * Answers a call to the files service that is none of its own, such as a query of the history:
     * with one `tr_inquiry_answer`, or an error with words. NULL: none.
     */
    int (*answer)(const struct tr_inquiry *inquiry, char *explain);
};

/* The sources of processes' secrets. */
enum tr_secret_kind { TR_SECRET_ENVIRONMENT, TR_SECRET_FOLDER, TR_SECRET_COMMAND };

struct tr_secret_source {
    enum tr_secret_kind kind;
    const char *folder; /* NULL: the user's, troupe/secrets in $XDG_CONFIG_HOME or ~/.config */
    /* argv, NULL-terminated; GROUP/KEY[@VERSION] is appended, and its output is the value */
    const char *const *command;
};

/* What a command has printed: a view of its token, and until when that is good. */
struct tr_credential {
    struct tr_bytes token;
    uint64_t expires_ms; /* since 1970; 0: it is not said */
    const char *problem; /* of TR_INVALID, in words */
};

/*
 * Who the program is to a server, and how it knows that one. A request names its identity, so that
 * neither keys nor tokens are in a message; and only one that goes below `url` may.
 */
struct tr_identity {
    const char *name;
    const char *url;             /* without a / at its end */
    struct tr_bytes ca;          /* PEM; empty: as the request says. The same of the next two */
    struct tr_bytes certificate; /* PEM */
    struct tr_bytes key;         /* PEM */
    const char *connect_to;      /* HOST:PORT where the server is whose name is in `url`; NULL */
    const char *proxy;           /* a URL; NULL: none */
    const char *token;           /* for Authorization: Bearer; else */
    const char *token_file;      /* a file that holds one; else */
    const char *const *command;  /* that prints one, as `read` reads it; NULL: none */
    int (*read)(struct tr_bytes printed, struct tr_credential *credential); /* TR_INVALID */
    const char *const *environment; /* NAME=VALUE, which the command gets beside ours; NULL */
};

static inline bool tr_identity_has_token(const struct tr_identity *identity)
{
    return identity != NULL &&
           (identity->token != NULL || identity->token_file != NULL || identity->command != NULL);
}

/* A buffer that is enough for a value, closing zero included. */
#define TR_VARIABLE_BYTES 1024

/*
 * Makes the value of a variable for a process, by the absolute folder of its attempt,
 * STORE/attempts/EXECUTION/NAME, on the thread of the process service. False: it has none.
 */
struct tr_variable_maker {
    bool (*find)(const void *self, struct tr_text folder, struct tr_text name,
                 char value[TR_VARIABLE_BYTES]); /* NULL: there are none */
    const void *self;                            /* outlives the host */
};

/* Access to files whose URIs have a common prefix; texts may be empty. */
struct tr_object_store {
    struct tr_text uri;           /* the prefix: "s3://", "s3://results", "https://host/path" */
    struct tr_text endpoint;      /* a URL before BUCKET/KEY; default: the scheme's */
    struct tr_text region;        /* for signing requests; default: the scheme's */
    struct tr_text ca_file;       /* default: the system's */
    struct tr_http_secret secret; /* of each request; none without a key */
};

#endif
