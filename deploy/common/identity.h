/*
 * The user that gives a command, for the history: "ann@desk".
 */
#ifndef TR_DEPLOY_COMMON_IDENTITY_H
#define TR_DEPLOY_COMMON_IDENTITY_H

#define TR_IDENTITY_BYTES 256

/* The user's name and the host's; what is not known is "?". */
void tr_identity_read(char identity[TR_IDENTITY_BYTES]);

#endif
