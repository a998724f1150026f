/*
 * What other users of the machine see of a command line.
 */
#ifndef TR_DEPLOY_CLI_HIDE_H
#define TR_DEPLOY_CLI_HIDE_H

#include "schemas/codec/base.h"

/*
 * Takes the passwords of locators out of what ps shows of this process: `argv` gets copies, and
 * where the system reads the words a locator stands without its password, also behind --store=.
 * They were to be seen until now. Called first of all; the copies last as long as the process.
 * TR_MEMORY.
 */
TR_MUST_USE int tr_arguments_hide(int argc, char **argv);

#endif
