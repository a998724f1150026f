/*
 * Looking at a host: figures, dead letters and recorders of all workers, and what is answered when
 * a worker is stuck or none runs.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scripted.h"

static char text[4U << 20];

/* What tr_host_dump writes. */
static const char *dump(struct tr_host *host)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(tr_host_dump(host, fileno(file)), 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static size_t count_of(const char *all, const char *part)
{
    size_t count = 0;
    while ((all = strstr(all, part)) != NULL) {
        all += strlen(part);
        count++;
    }
    return count;
}

static void test_figures_are_summed_over_workers(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(3, NULL, 0);
    struct tr_ref senders[3];
    for (int i = 0; i < 3; i++) {
        senders[i] = scripted_spawn(host, "somebody");
    }
    for (int i = 0; i < 3; i++) {
        struct tr_scripted_do tell = {
            .verb = SCRIPTED_TELL, .count = 10, .peer = senders[(i + 1) % 3]};
        scripted_do(host, senders[i], tell);
    }
    scripted_await(host, "messages_handled", 33);
    struct tr_metric metrics[TR_METRICS_MAX];
    size_t count = 0;
    assert_int_equal(tr_host_metrics(host, metrics, &count), 0);
    assert_true(count > 10);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(metrics[i].name) > 0 && strlen(metrics[i].text) > 0);
    }
    assert_int_equal(scripted_metric(host, "actors_spawned"), 3);
    assert_int_equal(scripted_metric(host, "messages_handled"), 33);
    assert_int_equal(scripted_metric(host, "dead_letters"), 0);
    tr_host_free(host);
}

/* Counters begin anew with a host; gauges are those of the states that it has loaded. */
static void test_gauges_and_counters_are_summed_over_workers(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    scripted_folder(folder);
    for (uint64_t life = 1; life <= 2; life++) {
        struct tr_host *host = scripted_open(3, folder, 0);
        int64_t gauges[TR_GAUGES_MAX];
        uint64_t counters[SCRIPTED_COUNTERS];
        struct tr_ref senders[3];
        for (int i = 0; i < 3; i++) {
            senders[i] = scripted_spawn(host, "somebody");
        }
        for (int i = 0; i < 3; i++) {
            struct tr_scripted_do tell = {
                .verb = SCRIPTED_TELL, .count = 10, .peer = senders[(i + 1) % 3]};
            scripted_do(host, senders[i], tell);
        }
        scripted_await(host, "messages_handled", 33);
        assert_int_equal(tr_host_gauges(host, gauges), 0);
        assert_int_equal(tr_host_counters(host, counters), 0);
        assert_int_equal(gauges[SCRIPTED_TICKS], 30 * life);
        assert_int_equal(gauges[0], 0);
        assert_int_equal(counters[SCRIPTED_TICKS], 30);
        assert_int_equal(counters[0] + counters[2], 0);
        tr_host_free(host);
    }
    scripted_folder_remove(folder);
}

static uint64_t sum_of(const struct tr_histogram *histogram)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < histogram->size; i++) {
        sum += histogram->counts[i];
    }
    return sum;
}

static void test_the_journal_counts_its_commits(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    struct tr_journal_figures figures;
    scripted_folder(folder);
    struct tr_host *host = scripted_open(1, folder, 0);
    (void)scripted_spawn(host, "ann"); /* returns when it is committed */
    tr_host_journal_figures(host, &figures);
    uint64_t commits = sum_of(&figures.commit_ns);
    assert_true(commits > 0 && figures.batches >= commits && figures.bytes > 0);
    assert_int_equal(sum_of(&figures.commit_operations), commits);
    assert_true(figures.commit_operations.sum >= commits && figures.commit_ns.sum > 0);
    assert_true(figures.commit_ns.bounds[figures.commit_ns.size - 1] == UINT64_MAX);
    assert_int_equal(figures.shortages, 0);
    assert_int_equal(figures.waits_for, 0);
    tr_host_free(host);
    host = scripted_open(1, NULL, 0);
    tr_host_journal_figures(host, &figures);
    assert_int_equal(figures.batches + figures.commit_ns.size, 0);
    tr_host_free(host);
    scripted_folder_remove(folder);
}

static void test_dead_letters_are_kept_with_their_reasons(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    scripted_do(host, bob, (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    scripted_await(host, "actors_ended", 1);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 5, .peer = bob});
    scripted_await(host, "dead_letters", 5);
    struct tr_dead_letter letters[8];
    size_t count = 0;
    assert_int_equal(tr_host_dead_letters(host, letters, 8, &count), 0);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(letters[i].reason, TR_NO_ACTOR);
        assert_int_equal(letters[i].envelope.type, tr_scripted_tick_schema.id);
        assert_int_equal(letters[i].envelope.to_serial, bob.key.serial);
        assert_int_equal(letters[i].envelope.sequence, 1 + i);
        assert_true(letters[i].at_ms > 0);
    }
    assert_int_equal(tr_host_dead_letters(host, letters, 2, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(letters[1].envelope.sequence, 5); /* the newest */
    assert_int_equal(tr_host_dead_letters(host, letters, 0, &count), 0);
    assert_int_equal(count, 0);
    tr_host_free(host);
}

static void test_only_so_many_dead_letters_are_kept(void **state)
{
    (void)state;
    static struct tr_dead_letter letters[2 * TR_DEAD_LETTERS_KEPT];
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref nobody = {{ann.key.group + 16, 16}, 0};
    uint64_t told = TR_DEAD_LETTERS_KEPT + 50;
    scripted_do(host, ann,
                (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = told, .peer = nobody});
    scripted_await(host, "dead_letters", told);
    size_t count = 0;
    assert_int_equal(tr_host_dead_letters(host, letters, TR_COUNT_OF(letters), &count), 0);
    assert_int_equal(count, TR_DEAD_LETTERS_KEPT);
    tr_host_free(host);
}

static void test_recorders_are_dumped_on_demand(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 7, .peer = bob});
    scripted_await(host, "messages_handled", 8);
    const char *all = dump(host);
    assert_int_equal(count_of(all, " point=handled type=64002 "), 7);
    assert_int_equal(count_of(all, " point=send type=64002 "), 7);
    assert_int_equal(count_of(all, " point=receive type=64002 "), 7);
    assert_int_equal(count_of(all, " point=spawn "), 2);
    tr_host_stop(host);
    assert_int_equal(count_of(dump(host), " point=handled type=64002 "), 7);
    tr_host_free(host);
}

static void test_worker_that_is_stuck_is_told_of(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_metric metrics[TR_METRICS_MAX];
    size_t count = 77;
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TIMER, .count = 60000});
    scripted_await(host, "messages_handled", 1);
    scripted_do(host, ann,
                (struct tr_scripted_do){.verb = SCRIPTED_SPIN, .count = TR_OBSERVE_MS + 200});
    assert_int_equal(tr_host_metrics(host, metrics, &count), TR_TIMEOUT);
    assert_int_equal(count, 77);
    scripted_await(host, "messages_handled", 2); /* and when it is back, so are its figures */
    tr_host_free(host);
}

static void test_host_that_does_not_run_has_no_figures(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_metric metrics[TR_METRICS_MAX];
    struct tr_dead_letter letter;
    size_t count = 77;
    tr_host_stop(host);
    assert_int_equal(tr_host_metrics(host, metrics, &count), TR_CLOSED);
    assert_int_equal(tr_host_dead_letters(host, &letter, 1, &count), TR_CLOSED);
    assert_int_equal(count, 77);
    tr_host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_summed_over_workers),
        cmocka_unit_test(test_gauges_and_counters_are_summed_over_workers),
        cmocka_unit_test(test_the_journal_counts_its_commits),
        cmocka_unit_test(test_dead_letters_are_kept_with_their_reasons),
        cmocka_unit_test(test_only_so_many_dead_letters_are_kept),
        cmocka_unit_test(test_recorders_are_dumped_on_demand),
        cmocka_unit_test(test_worker_that_is_stuck_is_told_of),
        cmocka_unit_test(test_host_that_does_not_run_has_no_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
