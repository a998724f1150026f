/*
 * Who gives a command, for the history: "ann@desk".
 */
#ifndef TR_DEPLOY_WHO_H
#define TR_DEPLOY_WHO_H

#define TR_WHO_BYTES 256

/* The user's name and the host's; what is not known is "?". */
void tr_who(char who[TR_WHO_BYTES]);

#endif
