/*
 * Phases, by their words, times, and conditions on labels.
 */
#include "deploy/cli/filters.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/moment.h"
#include "schemas/codec/error.h"
#include "schemas/engine/history.h"

/* Whether a word names a phase: blanks in it may be dashes. */
static bool is_phase(struct tr_text word, const char *phase)
{
    for (size_t i = 0; i < word.size; i++) {
        char typed = word.data[i] == '-' || word.data[i] == '_' ? ' ' : word.data[i];
        if (typed != phase[i]) {
            return false;
        }
    }
    return phase[word.size] == '\0' && word.size > 0;
}

static int unknown_phase(struct tr_text word, char *problem)
{
    int size = snprintf(problem, TR_OPTIONS_PROBLEM_BYTES, "--phase: '%.*s' is no phase; there are",
                        word.size > 60 ? 60 : (int)word.size, word.data);
    for (uint8_t phase = 1; phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        size += snprintf(problem + size, TR_OPTIONS_PROBLEM_BYTES - (size_t)size, "%s '%s'",
                         phase > 1 ? "," : "", tr_execution_phase_word(phase));
    }
    return TR_INVALID;
}

int tr_filters_read_phases(const char *words, uint32_t *phases, char *problem)
{
    uint32_t found = 0;
    while (true) {
        struct tr_text word = {.data = words, .size = strcspn(words, ",")};
        uint8_t phase = 1;
        while (phase < TR_EXECUTION_PHASE_COUNT &&
               !is_phase(word, tr_execution_phase_word(phase))) {
            phase++;
        }
        if (phase == TR_EXECUTION_PHASE_COUNT) {
            return unknown_phase(word, problem);
        }
        found |= 1U << phase;
        words += word.size;
        if (*words++ == '\0') {
            *phases = found;
            return 0;
        }
    }
}

bool tr_filters_read_since(const char *word, uint64_t now_ms, uint64_t *since_ms)
{
    int64_t nanoseconds;
    struct tr_moment moment;
    if (tr_duration_parse(tr_text_of(word), &nanoseconds)) {
        uint64_t span_ms = nanoseconds < 0 ? 0 : (uint64_t)nanoseconds / 1000000;
        *since_ms = span_ms > now_ms ? 0 : now_ms - span_ms;
        return nanoseconds >= 0;
    }
    if (tr_moment_parse(tr_text_of(word), &moment)) {
        *since_ms =
            moment.seconds < 0 ? 0 : (uint64_t)moment.seconds * 1000 + moment.nanoseconds / 1000000;
        return true;
    }
    return false;
}

enum tr_exit_status tr_filters_read_time(const struct tr_invocation *invocation, const char *name,
                                         uint64_t now_ms, uint64_t *time_ms)
{
    const char *word = tr_arguments_value(&invocation->arguments, name);
    uint64_t read_ms = 0;
    if (word == NULL) {
        return TR_EXIT_DONE;
    }
    if (!tr_filters_read_since(word, now_ms, &read_ms)) {
        return tr_command_mistake(invocation->command,
                                  "--%s: '%.60s' is no time; write a span such as 2h, or a date "
                                  "such as 2026-08-20",
                                  name, word);
    }
    *time_ms = read_ms == 0 ? 1 : read_ms;
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_filters_read_labels(const struct tr_invocation *invocation,
                                           struct tr_arena *arena, struct tr_label_selector *labels)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    char problem[TR_LABEL_PROBLEM_BYTES];
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "label") != 0) {
            continue;
        }
        struct tr_text word = tr_text_of(arguments->given[i].value);
        int error = tr_label_selector_read(arena, word, labels, problem);
        if (error == TR_INVALID) {
            return tr_command_mistake(invocation->command, "--label: %s", problem);
        }
        if (error != 0) {
            return tr_command_failed(invocation->command, "%s", tr_error_text(error));
        }
    }
    return TR_EXIT_DONE;
}
