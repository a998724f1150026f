/*
 * The pages for people, at the port of `troupe serve --http` and of `troupe console`: files that
 * are a part of the program. All that they show they get from the API (../web/), with the token
 * that it wants, so that these files are for everybody.
 */
#ifndef TR_DEPLOY_PAGES_PAGES_H
#define TR_DEPLOY_PAGES_PAGES_H

#include "deploy/door/door.h"

/* Below which the pages are. */
#define TR_PAGES_PATH "/console"

#define TR_PAGES_PARTS 2

/* What the door is to hand to them; of static storage. */
const struct tr_door_part *tr_pages_parts(void);

/* Whether this program has them: without npm the build leaves them out. */
bool tr_pages_are_there(void);

#endif
