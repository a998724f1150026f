/*
 * Files that a dynamic task has left in its folder and that its graph names: that folder is removed
 * before the graph runs, so they go into the blobs first.
 */
#ifndef TR_DEPLOY_INQUIRIES_DECIDE_PATHS_H
#define TR_DEPLOY_INQUIRIES_DECIDE_PATHS_H

#include "actors/graph/compiled/graph.h"
#include "runtime/troupe.h"
#include "schemas/runtime/inquiry.h"

/* Why one cannot be kept, in words. */
#define TR_DECIDE_PATHS_BYTES 1024

/*
 * Keeps them, and puts their blobs into the literals of the graph, whose hash changes with that.
 * TR_INVALID: the task's failure, with its code and words; others with words, too.
 */
TR_MUST_USE int tr_decide_paths(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                                struct tr_graph *graph, const char **code,
                                char words[TR_DECIDE_PATHS_BYTES]);

#endif
