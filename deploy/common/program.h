/*
 * What a process of this program says of itself: its version, and how it ended.
 */
#ifndef TR_DEPLOY_COMMON_PROGRAM_H
#define TR_DEPLOY_COMMON_PROGRAM_H

/* The version of the program; on a wire and on a disk each schema has its own. */
#define TR_PROGRAM_VERSION "0.1.0"

/* What a process of `troupe` ends with. */
enum tr_exit_status {
    TR_EXIT_DONE = 0,    /* done, and succeeded */
    TR_EXIT_FAILED = 1,  /* the workflow failed or timed out */
    TR_EXIT_USAGE = 2,   /* bad usage, or a definition or inputs with errors */
    TR_EXIT_ABORTED = 3, /* the workflow was aborted */
    TR_EXIT_ENGINE = 4,  /* the engine or its environment failed */
};

#endif
