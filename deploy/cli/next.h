/*
 * The commands with which one goes on from what was just shown, to be pasted into a shell:
 *
 *     next: troupe logs 'fan-out/squares[3]'
 *           troupe recover fan-out
 */
#ifndef TR_DEPLOY_CLI_NEXT_H
#define TR_DEPLOY_CLI_NEXT_H

#include <stdio.h>

#include "deploy/cli/command.h"

struct tr_next {
    const struct tr_invocation *invocation;
    FILE *stream;
    const char *lead; /* what stands before the next command */
};

/* With -q nothing is printed. */
void tr_next_init(struct tr_next *next, const struct tr_invocation *invocation, FILE *stream);

/*
 * Prints `troupe COMMAND EXECUTION/PATH[ELEMENT]`, with the --store that was given; an empty path
 * and TR_ELEMENT_NONE are left out.
 */
void tr_next_print(struct tr_next *next, const char *command, struct tr_text execution,
                   struct tr_text path, uint64_t element);

#endif
