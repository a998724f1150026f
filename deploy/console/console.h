/*
 * Where a command writes, and for whom. A command of the terminal writes to the process's own
 * streams, for its user. Whoever calls one from a thread of an engine gives that thread others.
 */
#ifndef TR_DEPLOY_CONSOLE_CONSOLE_H
#define TR_DEPLOY_CONSOLE_CONSOLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tr_buffer;

/* A file that a command tells of. */
struct tr_console_file {
    const char *path;
    const char *name; /* under which it is kept elsewhere */
    const char *media_type;
    uint64_t size_bytes;   /* set where it is linked */
    struct tr_buffer *url; /* appended to then */
};

struct tr_console {
    FILE *out;
    FILE *err;
    const char *identity; /* who calls, for the history */
    uint32_t answer_ms;   /* how long an engine may take to answer where a command says nothing */
    const atomic_bool *is_gone; /* nobody waits for it any more; NULL: somebody always does */
    /*
     * By which URL who calls gets a file; NULL: by its path. TR_NOT_FOUND, TR_DENIED, TR_NO_FILE
     * (it is a folder whose files may be had), TR_OUTSIDE (who calls may not have it), TR_MEMORY.
     */
    int (*link)(void *self, struct tr_console_file *file);
    void *link_self;

    /* What a command says of how it ended, beside its words. */
    int error;     /* an enum tr_error; 0: nothing is known */
    bool has_more; /* a limit has left something out */
    uint64_t next; /* what that begins with, where a command counts by numbers of its own */
};

/* The streams of this thread. */
FILE *tr_console_out(void);
FILE *tr_console_err(void);

/* The console of this thread; NULL: it is the process's own. */
const struct tr_console *tr_console(void);

/* Sets it, until NULL is set; it outlives that. */
void tr_console_set(struct tr_console *console);

/* Whether nobody waits for what this thread does, so that it may end. */
bool tr_console_is_gone(void);

/* For programs that call: which error a refusal is of, and that a limit has left something out. */
void tr_console_note_error(int error);
void tr_console_note_more(void);
void tr_console_note_next(uint64_t next);

#endif
