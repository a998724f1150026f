/*
 * The headers every cmocka test begins with, in the order that cmocka asks for.
 */
#ifndef TR_TESTS_SUPPORT_TEST_H
#define TR_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
