/*
 * Telling the service manager that started this process how it stands: sd_notify's protocol, a
 * datagram to the socket that NOTIFY_SOCKET names.
 */
#ifndef TR_DEPLOY_COMMON_NOTIFY_H
#define TR_DEPLOY_COMMON_NOTIFY_H

/* Says "READY=1" and the like; where nobody wants to know, or cannot be told, nothing happens. */
void tr_notify(const char *state);

#endif
