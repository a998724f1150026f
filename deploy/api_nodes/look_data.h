/*
 * What nodes got and gave, and how Flyte names that.
 */
#ifndef TR_DEPLOY_API_NODES_LOOK_DATA_H
#define TR_DEPLOY_API_NODES_LOOK_DATA_H

#include "deploy/api_nodes/look_nodes.h"

/* The same for nodes and their attempts. */
struct tr_look_data {
    Flyteidl__Core__LiteralMap *inputs;
    Flyteidl__Core__LiteralMap *outputs;
    Flyteidl__Admin__UrlBlob *inputs_blob;
    Flyteidl__Admin__UrlBlob *outputs_blob;
};

/* Of a node by its id. False: the job has failed. */
TR_MUST_USE bool tr_look_data_read(struct tr_look *look, const char *word,
                                   struct tr_look_data *data);

/* By which URLs GetData gives them: flyte://v1/PROJECT/DOMAIN/EXECUTION/NODE/i. */
Flyteidl__Admin__FlyteURLs *tr_look_data_urls(struct tr_look *look, const char *word);

/*
 * The path of the deck of an attempt (UINT32_MAX: the last one) of a node, or of an element of an
 * array, by a word such as n0-3; or where it would be.
 * False: the job has failed; with NOT_FOUND where no attempt has begun.
 */
TR_MUST_USE bool tr_look_deck(struct tr_look *look, const char *word, uint32_t attempt,
                              struct tr_text *path);

#endif
