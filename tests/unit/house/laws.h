/*
 * The laws of the house as data: who may include whom, which words and headers belong to which
 * files, how large things may be. check.c applies them; to change a law, change its row in laws.c.
 *
 * Paths are from the root of the tree; patterns are those of a shell, where `*` passes `/` too.
 */
#ifndef TR_TESTS_UNIT_HOUSE_LAWS_H
#define TR_TESTS_UNIT_HOUSE_LAWS_H

#include <stddef.h>

enum house_law {
    HOUSE_LAW_INCLUDE,    /* includes follow the floors and are written from the root */
    HOUSE_LAW_BAN,        /* a word or header outside the files it belongs to */
    HOUSE_LAW_READER,     /* a library that only one file may speak to */
    HOUSE_LAW_FILE_SIZE,  /* lines in a file */
    HOUSE_LAW_FUNCTION,   /* lines in a function */
    HOUSE_LAW_WIDTH,      /* columns in a line */
    HOUSE_LAW_OPENING,    /* a .c file opens with a few lines of explanation */
    HOUSE_LAW_GUARD,      /* a header has the include guard its path asks for */
    HOUSE_LAW_BRACES,     /* a body has braces, always */
    HOUSE_LAW_UNFINISHED, /* no marks of work left undone */
    HOUSE_LAW_BLANKS,     /* no tabs, no trailing blanks, a newline at the end */
    HOUSE_LAW_README,     /* each folder has one */
    HOUSE_LAW_TOP_LEVEL,  /* exactly what belongs there */
    HOUSE_LAW_COUNT
};

enum {
    HOUSE_FILE_LINES_MAX = 1000,
    HOUSE_FUNCTION_LINES_MAX = 70, /* between the braces */
    HOUSE_LINE_COLUMNS_MAX = 100,
    HOUSE_OPENING_LINES_MIN = 2,
    HOUSE_README_DEPTH_MAX = 2, /* deeper folders are explained by the README above them */
};

/*
 * Files below `folder`, a floor or a room of one, may include what begins with one of `allowed`. A
 * room's law stands in place of its floor's.
 */
struct house_include_law {
    const char *folder;
    const char *allowed[16];
};

/* Words that are called, words at all, or headers, in no file but the excepted. */
enum house_ban_form { HOUSE_BAN_CALL, HOUSE_BAN_WORD, HOUSE_BAN_HEADER };

struct house_ban {
    enum house_ban_form form;
    const char *words[32];
    const char *except[8];
    const char *remedy;
};

/* A header that one .c file may include, and any test. */
struct house_reader {
    const char *header;
    const char *except;
};

struct house_unfinished {
    const char *word;
    int any_case;
};

extern const char *const house_law_names[HOUSE_LAW_COUNT];
extern const char *const house_folders[];
extern const char *const house_top_level[];
extern const struct house_include_law house_include_laws[];
extern const size_t house_include_law_count;
extern const struct house_ban house_bans[];
extern const size_t house_ban_count;
extern const struct house_reader house_readers[];
extern const size_t house_reader_count;
extern const struct house_unfinished house_unfinished_words[];
extern const size_t house_unfinished_count;

#endif
