/*
 * A view of an execution: a picture on a terminal, lines elsewhere, nothing with -q.
 */
#include "deploy/follow/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "deploy/cli/store.h"
#include "deploy/common/clock.h"
#include "deploy/common/stream.h"
#include "deploy/follow/screen.h"
#include "deploy/follow/task_progress.h"
#include "deploy/history/gates.h"
#include "runtime/memory.h"

/* Reading may take one part in so many of all time. */
#define READING_PARTS 20

enum mode { QUIET, LINES, PICTURE };

struct tr_follow {
    enum mode mode;
    bool has_color;
    char folder[4096];
    const char *store;         /* the --store of the command; NULL: none */
    char store_word[PATH_MAX]; /* where that is a text of our own */
    const char *hint;
    uint64_t execution;
    struct tr_reader *reader; /* NULL: not open yet */
    struct tr_nodes nodes;
    uint64_t next_ms; /* the next look is due */
    uint32_t drawn;   /* lines on the screen */
};

static enum mode mode_of(const struct tr_invocation *invocation)
{
    const char *terminal = getenv("TERM");
    if (invocation->is_quiet) {
        return QUIET;
    }
    bool is_dumb = terminal == NULL || strcmp(terminal, "dumb") == 0;
    return isatty(STDERR_FILENO) == 1 && !is_dumb ? PICTURE : LINES;
}

int tr_follow_new(const struct tr_invocation *invocation, const char *folder, uint64_t execution,
                  struct tr_follow **out)
{
    struct tr_follow *follow = tr_alloc_zero(1, sizeof *follow);
    const char *no_color = getenv("NO_COLOR");
    if (follow == NULL) {
        return TR_MEMORY;
    }
    follow->mode = mode_of(invocation);
    follow->has_color = no_color == NULL || no_color[0] == '\0';
    follow->execution = execution;
    follow->next_ms = tr_clock_ms() + TR_FOLLOW_MS;
    snprintf(follow->folder, sizeof follow->folder, "%s", folder);
    follow->store = tr_store_word(invocation, follow->store_word);
    tr_nodes_init(&follow->nodes, execution);
    *out = follow;
    return 0;
}

void tr_follow_free(struct tr_follow *follow)
{
    if (follow != NULL) {
        tr_nodes_fini(&follow->nodes);
        tr_reader_close(follow->reader);
        tr_free(follow);
    }
}

static struct tr_screen screen_of(const struct tr_follow *follow)
{
    struct winsize size = {0};
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    return (struct tr_screen){.rows = is_known ? size.ws_row - 1U : 24,
                              .columns = is_known ? size.ws_col : 80,
                              .has_color = follow->has_color};
}

static void draw_picture(struct tr_follow *follow, const struct tr_screen_head *head,
                         struct tr_buffer *buffer)
{
    struct tr_screen screen = screen_of(follow);
    if (follow->drawn > 0) {
        tr_buffer_print(buffer, "\x1b[%uA\x1b[J", follow->drawn);
    }
    follow->drawn = tr_screen_draw(&screen, head, &follow->nodes, buffer);
}

/* What the task of a node says of how far it has come; of a map its bar says that. */
static void say_progress(void *self, const struct tr_node_seen *node, struct tr_buffer *buffer)
{
    struct tr_follow *follow = self;
    struct tr_task_progress progress;
    const struct tr_attempt key = {.execution = follow->execution,
                                   .path = tr_text_of(node->path),
                                   .element = TR_ELEMENT_NONE,
                                   .attempt = node->attempts - 1};
    if (node->attempts > 0 && tr_task_progress_find(follow->reader, &key, &progress)) {
        tr_task_progress_print(&progress, tr_clock_wall_ms(), buffer);
    }
}

static void draw(struct tr_follow *follow, const struct tr_execution *row)
{
    struct tr_buffer buffer;
    struct tr_screen_head head = {
        .name = row->name,
        .store = follow->store,
        .hint = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase) ? NULL : follow->hint,
        .phase = row->phase,
        .created_ms = row->created_ms,
        .now_ms = row->ended_ms != 0 ? row->ended_ms : tr_clock_wall_ms(),
        .says = say_progress,
        .self = follow,
    };
    tr_buffer_init(&buffer, 0);
    if (follow->mode == PICTURE) {
        draw_picture(follow, &head, &buffer);
    } else {
        tr_screen_lines(&head, &follow->nodes, &buffer);
    }
    if (buffer.error == 0 && buffer.size > 0) {
        tr_stream_draw(tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
}

/* Goes to the newest moment; what goes wrong is tried again with a new reader. */
static bool refresh(struct tr_follow *follow)
{
    int error = follow->reader == NULL ? tr_history_open(follow->folder, NULL, &follow->reader)
                                       : tr_reader_refresh(follow->reader);
    if (error != 0 && follow->reader != NULL) {
        tr_reader_close(follow->reader);
        follow->reader = NULL;
    }
    return error == 0;
}

static void look_at_moment(struct tr_follow *follow)
{
    struct tr_executions_row copy;
    if (tr_executions_get(follow->reader, follow->execution, &copy) != 0) {
        return;
    }
    if (tr_nodes_read(&follow->nodes, follow->reader) == 0) {
        draw(follow, &copy.row);
    }
    tr_executions_row_fini(&copy);
}

/* Nobody holds a moment while he waits: the log of the store could not begin anew
 * (runtime/journal/reader.h). */
static void look(struct tr_follow *follow)
{
    if (refresh(follow)) {
        look_at_moment(follow);
        tr_reader_release(follow->reader);
    }
}

void tr_follow_step(struct tr_follow *follow)
{
    uint64_t now_ms = tr_clock_ms();
    if (follow->mode == QUIET || now_ms < follow->next_ms) {
        return;
    }
    look(follow);
    uint64_t took_ms = tr_clock_ms() - now_ms;
    follow->next_ms = now_ms + TR_FOLLOW_MS + READING_PARTS * took_ms;
}

uint32_t tr_follow_timeout_ms(const struct tr_follow *follow)
{
    uint64_t now_ms = tr_clock_ms();
    if (follow->mode == QUIET) {
        return UINT32_MAX;
    }
    return now_ms < follow->next_ms ? (uint32_t)(follow->next_ms - now_ms) : 0;
}

void tr_follow_finish(struct tr_follow *follow)
{
    if (follow->mode != QUIET) {
        look(follow);
    }
}

void tr_follow_say(struct tr_follow *follow, const char *text)
{
    fprintf(stderr, "%s\n", text);
    follow->drawn = 0;
}

void tr_follow_note(struct tr_follow *follow, const char *text)
{
    if (follow->mode != QUIET) {
        tr_follow_say(follow, text);
    }
}

void tr_follow_hint(struct tr_follow *follow, const char *hint)
{
    follow->hint = hint;
}

/* One is enough. */
static int take_gate(void *self, const struct tr_node_status *row)
{
    (void)row;
    *(bool *)self = true;
    return TR_CLOSED;
}

bool tr_follow_has_gate(struct tr_follow *follow)
{
    bool has_gate = false;
    if (refresh(follow)) {
        (void)!tr_gates_waiting(follow->reader, follow->execution, take_gate, &has_gate);
        tr_reader_release(follow->reader);
    }
    return has_gate;
}
