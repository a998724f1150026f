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

/* How much slower a sanitizer makes a program, at most: what a test of time multiplies with. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_SLOWNESS 30
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TEST_SLOWNESS 30
#endif
#endif
#ifndef TEST_SLOWNESS
#define TEST_SLOWNESS 1
#endif

#endif
