/*
 * The live view: an execution and its nodes as a few lines that are drawn again and again in the
 * same place of a terminal, and the same as plain lines where there is none.
 */
#ifndef TR_DEPLOY_FOLLOW_SCREEN_H
#define TR_DEPLOY_FOLLOW_SCREEN_H

#include "actors/graph/document/buffer.h"
#include "deploy/history/nodes.h"

/* What a screen is like. */
struct tr_screen {
    uint32_t rows;
    uint32_t columns;
    bool has_color;
};

/* The whole of an execution: what stands above its nodes. */
struct tr_screen_head {
    struct tr_text name;
    const char *store; /* the --store of the command, for those that are shown; NULL: none */
    const char *hint;  /* what stands behind it; NULL: nothing */
    uint8_t phase;     /* enum tr_execution_phase */
    uint64_t created_ms;
    uint64_t now_ms; /* or the end */
    /* Appends what a node that runs says of itself, if anything, to a picture; NULL: nothing. */
    void (*says)(void *self, const struct tr_node_seen *node, struct tr_buffer *buffer);
    void *self;
};

/*
 * Appends the lines of a picture, no more than the screen has rows, none wider than it. Nodes that
 * run or failed go before those that are done; what has no room is counted in the last line. Gives
 * the number of lines.
 */
uint32_t tr_screen_draw(const struct tr_screen *screen, const struct tr_screen_head *head,
                        const struct tr_nodes *nodes, struct tr_buffer *buffer);

/*
 * Appends a line for each node that has come to another phase since it was shown, in the order of
 * the times, and notes that it is shown.
 */
void tr_screen_lines(const struct tr_screen_head *head, struct tr_nodes *nodes,
                     struct tr_buffer *buffer);

#endif
