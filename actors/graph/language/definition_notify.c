/*
 * Notifications of workflows and launch plans: a list in the file, each packed for the graph in the
 * form that schemas/engine/notify.h describes.
 *
 * All of it is checked here, templates among them: a notification that cannot be sent would show
 * for the first time when something has failed in the night.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"
#include "actors/graph/language/notify_template.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/process.h"

/* Unless they are given: about 40 minutes in all. */
#define RETRIES 10U
#define BACKOFF_FIRST_NS 5000000000LL
#define BACKOFF_MAX_NS 600000000000LL
#define TIMEOUT_NS 30000000000LL
#define TIMEOUT_NS_MAX 3600000000000LL

#define MAIL_SUBJECT "{{.executionName}}: {{.phase}}"
#define MAIL_TEXT                                                                       \
    "The execution {{.executionName}} of {{.workflow}} in {{.project}}/{{.domain}} is " \
    "{{.phase}}.\n\n"                                                                   \
    "error: {{.error}} [{{.errorCode}}]\nnode: {{.errorNode}}{{.gate}}\n"               \
    "started: {{.startedAt}}\nended: {{.endedAt}}\nlabels: {{.labels}}\n"

/* Headers of one request, beside those that it always has; and secrets of one. */
#define HEADERS_MAX 64U
#define SECRETS_MAX TR_NOTIFY_SECRETS_MAX

/* A notification while it is read. */
struct notify {
    struct tr_notification *out;
    const struct tr_tree *ways[TR_NOTIFY_KIND_COUNT];
    const struct tr_tree *secrets;
};

/* The parts of a request. */
struct request {
    struct tr_text url;
    const struct tr_tree *headers;
    const struct tr_tree *body;
    struct tr_http_secret secrets[SECRETS_MAX];
    uint32_t secret_count;
    bool is_wrong;
};

/* ------------------------------------------------------------------------ packing */

/* Keeps what was packed as the target; too much is told. */
static void take_target(struct tri_definition *definition, const struct tr_tree *tree,
                        struct notify *notify, struct tr_buffer *buffer)
{
    if (buffer->error == 0 && buffer->size <= TR_NOTIFICATION_BYTES_MAX) {
        notify->out->target = tr_arena_bytes(definition->arena, tr_buffer_bytes(buffer));
    } else if (buffer->error == 0 || buffer->error == TR_LIMIT) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "the notification has more than %u bytes\nshorten its texts",
                       TR_NOTIFICATION_BYTES_MAX);
    } else if (definition->arena->error == 0) {
        definition->arena->error = buffer->error;
    }
    tr_buffer_fini(buffer);
}

/* Appends what `pack` writes into room that is large enough for `count` rows of short texts. */
#define ROW_BYTES_MAX 4096U

static void add_packed(struct tr_buffer *buffer, const uint8_t *bytes,
                       const struct tr_writer *writer)
{
    if (writer->error != 0) {
        buffer->error = buffer->error != 0 ? buffer->error : writer->error;
        return;
    }
    tr_buffer_add(buffer, bytes, tr_writer_size(writer));
}

/* ------------------------------------------------------------------------ requests */

/* Letters, digits and `-`, `_`. */
static bool is_header_name(struct tr_text name)
{
    for (size_t i = 0; i < name.size; i++) {
        char byte = (char)(name.data[i] | 0x20);
        bool is_fine = (byte >= 'a' && byte <= 'z') || (name.data[i] >= '0' && name.data[i] <= '9');
        if (!is_fine && name.data[i] != '-' && name.data[i] != '_') {
            return false;
        }
    }
    return name.size > 0 && name.size <= 256;
}

static bool check_header_name(struct tri_definition *definition, const struct tr_tree *key)
{
    if (is_header_name(key->text)) {
        return true;
    }
    tri_report_add(definition->report, key->place, "InvalidValue",
                   "'%.*s' is no name of a header\nwrite letters, digits and -",
                   TRI_SHOWN(key->text));
    return false;
}

/* http://HOST... or https://HOST...; passwords belong to the secrets. */
static bool is_url(struct tr_text url)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < TR_COUNT_OF(schemes); i++) {
        size_t size = strlen(schemes[i]);
        if (url.size <= size || memcmp(url.data, schemes[i], size) != 0) {
            continue;
        }
        const char *host = url.data + size;
        const char *end = url.data + url.size;
        const char *slash = memchr(host, '/', (size_t)(end - host));
        end = slash == NULL ? end : slash;
        return end > host && memchr(host, '@', (size_t)(end - host)) == NULL;
    }
    return false;
}

static void read_url(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct request *request = target;
    if (!tri_keys_read_text(definition, value, &request->url)) {
        request->is_wrong = true;
        return;
    }
    bool is_clean = true;
    for (size_t i = 0; i < request->url.size; i++) {
        is_clean = is_clean && (unsigned char)request->url.data[i] > ' ';
    }
    tri_notify_check_texts(definition, value);
    /* A template may hold blanks; what stands before the first one may not. */
    bool has_template = tr_template_is_in(request->url.data, request->url.size);
    if (!is_url(request->url) || (!is_clean && !has_template)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no URL that can be asked\n"
                       "write http://HOST/PATH or https://HOST/PATH, without a password",
                       TRI_SHOWN(request->url));
        request->is_wrong = true;
    }
}

static void read_headers(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct request *request = target;
    struct tr_text text;
    if (!tri_keys_expect_map(definition, value, "headers")) {
        request->is_wrong = true;
        return;
    }
    if (value->count > HEADERS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "headers has %u headers, more than %u\nleave some out", value->count,
                       HEADERS_MAX);
        request->is_wrong = true;
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        bool is_fine = check_header_name(definition, value->pairs[i].key) &&
                       tri_keys_read_text(definition, value->pairs[i].value, &text);
        request->is_wrong = request->is_wrong || !is_fine;
        tri_notify_check_texts(definition, value->pairs[i].value);
    }
    request->headers = value;
}

/* One more secret that becomes a header. */
static void add_secret(struct tri_definition *definition, const struct tr_tree *value,
                       struct request *request, struct tr_http_secret row)
{
    struct tr_secret secret;
    if (request->secret_count == SECRETS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a request has at most %u secrets\nleave some out", SECRETS_MAX);
        request->is_wrong = true;
        return;
    }
    tri_notify_refuse_templates(definition, value);
    if (!tri_keys_read_secret(definition, value, &secret)) {
        request->is_wrong = true;
        return;
    }
    row.group = secret.group;
    row.key = secret.key;
    row.version = secret.version;
    request->secrets[request->secret_count++] = row;
}

static void read_header_secrets(struct tri_definition *definition, const struct tr_tree *value,
                                void *target)
{
    struct request *request = target;
    if (!tri_keys_expect_map(definition, value, "secrets")) {
        request->is_wrong = true;
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        const struct tr_pair *pair = &value->pairs[i];
        struct tr_http_secret row = {.header = pair->key->text, .prefix = tr_text_of("")};
        if (check_header_name(definition, pair->key)) {
            add_secret(definition, pair->value, request, row);
        } else {
            request->is_wrong = true;
        }
    }
}

static void read_bearer(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_http_secret row = {.header = tr_text_of("Authorization"),
                                 .prefix = tr_text_of("Bearer ")};
    add_secret(definition, value, target, row);
}

static void read_basic(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_http_secret row = {.kind = TR_HTTP_SECRET_BASIC,
                                 .header = tr_text_of("Authorization"),
                                 .prefix = tr_text_of("")};
    add_secret(definition, value, target, row);
}

static void read_authorization(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    static const struct tri_key keys[] = {{"bearer", read_bearer, 0}, {"basic", read_basic, 0}};
    struct request *request = target;
    tri_keys_read_keys(definition, value, "authorization", keys, TR_COUNT_OF(keys), target);
    if (value->kind != TR_TREE_MAP) {
        request->is_wrong = true;
    } else if (value->count != 1) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "authorization is one of bearer and basic\nwrite {bearer: GROUP/KEY} or "
                       "{basic: GROUP/KEY}");
        request->is_wrong = true;
    }
}

static void read_body(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct request *request = target;
    tri_notify_check_texts(definition, value);
    request->body = value;
}

static void pack_headers(const struct tr_tree *headers, struct tr_buffer *buffer)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_buffer_text_value(buffer, tr_text_of("headers"));
    tr_buffer_array(buffer, headers->count);
    for (uint32_t i = 0; i < headers->count; i++) {
        tr_buffer_cut(&line, 0);
        tr_buffer_add_text(&line, headers->pairs[i].key->text);
        tr_buffer_add_string(&line, ": ");
        tr_buffer_add_text(&line, headers->pairs[i].value->text);
        tr_buffer_text_value(buffer, tr_buffer_text(&line));
    }
    buffer->error = buffer->error != 0 ? buffer->error : line.error;
    tr_buffer_fini(&line);
}

/* False: the body is none, which was told. */
static bool pack_http(struct tri_definition *definition, const struct request *request,
                      struct tr_buffer *buffer)
{
    struct tr_literal_reader reader = {.report = definition->report, .arena = definition->scratch};
    uint8_t rows[SECRETS_MAX * ROW_BYTES_MAX];
    struct tr_writer writer = tr_writer_of(rows, sizeof rows);
    tr_buffer_map(buffer, 1U + (request->headers != NULL ? 1U : 0U) +
                              (request->secret_count > 0 ? 1U : 0U) +
                              (request->body != NULL ? 1U : 0U));
    if (request->body != NULL) {
        tr_buffer_text_value(buffer, tr_text_of("body"));
        if (!tr_literal_read(&reader, NULL, request->body, buffer)) {
            return false;
        }
    }
    if (request->headers != NULL) {
        pack_headers(request->headers, buffer);
    }
    if (request->secret_count > 0) {
        tr_buffer_text_value(buffer, tr_text_of("secrets"));
        int error = tr_http_secrets_pack(request->secrets, request->secret_count, &writer);
        buffer->error = buffer->error != 0 ? buffer->error : error;
        add_packed(buffer, rows, &writer);
    }
    tr_buffer_text_value(buffer, tr_text_of("url"));
    tr_buffer_text_value(buffer, request->url);
    return true;
}

static void read_http(struct tri_definition *definition, const struct tr_tree *tree,
                      struct notify *notify)
{
    static const struct tri_key keys[] = {
        {"url", read_url, 0},
        {"headers", read_headers, 0},
        {"secrets", read_header_secrets, 0},
        {"authorization", read_authorization, 0},
        {"body", read_body, 0},
    };
    struct request request = {.url = tr_text_of("")};
    tri_keys_read_keys(definition, tree, "http", keys, TR_COUNT_OF(keys), &request);
    if (tree->kind == TR_TREE_MAP && tr_tree_find(tree, "url") == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "http does not say where to\nadd url: https://HOST/PATH");
    }
    struct tr_buffer buffer;
    if (request.is_wrong || request.url.size == 0) {
        return;
    }
    tr_buffer_init(&buffer, 0);
    if (pack_http(definition, &request, &buffer)) {
        take_target(definition, tree, notify, &buffer);
    } else {
        tr_buffer_fini(&buffer);
    }
}

/* ------------------------------------------------------------------------ commands */

static bool check_words(struct tri_definition *definition, const struct tr_tree *tree)
{
    struct tr_text word;
    bool is_fine = tri_keys_expect_list(definition, tree, "command");
    if (is_fine && (tree->count == 0 || tree->count > TR_RUN_WORDS_MAX)) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "command has %u words\nwrite a program and its arguments, at most %u words",
                       tree->count, TR_RUN_WORDS_MAX);
        return false;
    }
    for (uint32_t i = 0; is_fine && i < tree->count; i++) {
        is_fine = tri_keys_read_text(definition, tree->items[i], &word);
    }
    return is_fine;
}

static void pack_secrets(const struct tr_secret *secrets, uint32_t count, struct tr_buffer *buffer)
{
    struct tr_process_secret rows[SECRETS_MAX];
    uint8_t bytes[SECRETS_MAX * ROW_BYTES_MAX];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = (struct tr_process_secret){.name = secrets[i].name,
                                             .group = secrets[i].group,
                                             .key = secrets[i].key,
                                             .version = secrets[i].version,
                                             .is_file = secrets[i].is_file};
    }
    tr_buffer_text_value(buffer, tr_text_of("secrets"));
    int error = tr_process_secrets_pack(rows, count, &writer);
    buffer->error = buffer->error != 0 ? buffer->error : error;
    add_packed(buffer, bytes, &writer);
}

static void read_command(struct tri_definition *definition, const struct tr_tree *tree,
                         struct notify *notify)
{
    struct tr_secret *secrets = NULL;
    uint32_t count = 0;
    struct tr_buffer buffer;
    bool is_fine = check_words(definition, tree);
    tri_notify_check_command(definition, tree);
    if (notify->secrets != NULL) {
        tri_notify_refuse_templates(definition, notify->secrets);
        is_fine = tri_keys_read_secrets(definition, notify->secrets, &secrets, &count) && is_fine;
    }
    if (count > SECRETS_MAX) {
        tri_report_add(definition->report, notify->secrets->place, "InvalidValue",
                       "a notification has at most %u secrets\nleave some out", SECRETS_MAX);
        return;
    }
    if (!is_fine) {
        return;
    }
    tr_buffer_init(&buffer, 0);
    tr_buffer_map(&buffer, count > 0 ? 2 : 1);
    tr_buffer_text_value(&buffer, tr_text_of("run"));
    tr_buffer_array(&buffer, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        tr_buffer_text_value(&buffer, tree->items[i]->text);
    }
    if (count > 0) {
        pack_secrets(secrets, count, &buffer);
    }
    take_target(definition, tree, notify, &buffer);
}

/* --------------------------------------------------------------------------- mails */

/* The parts of a mail. */
struct mail {
    const struct tr_tree *const *to;
    uint32_t to_count;
    struct tr_text subject;
    struct tr_text text;
    bool is_wrong;
};

/* One word with an `@` in the middle that is no option of the program that sends it. */
static bool is_address(struct tr_text address)
{
    const char *at = address.size > 0 ? memrchr(address.data, '@', address.size) : NULL;
    for (size_t i = 0; i < address.size; i++) {
        unsigned char byte = (unsigned char)address.data[i];
        if (byte <= ' ' || byte == 0x7f || strchr(",;<>()\"\\", (int)byte) != NULL) {
            return false;
        }
    }
    return at != NULL && at > address.data && at + 1 < address.data + address.size &&
           address.data[0] != '-' && address.size <= TR_MAIL_ADDRESS_BYTES_MAX;
}

static bool check_address(struct tri_definition *definition, const struct tr_tree *tree)
{
    bool is_text = tr_tree_is_text(tree);
    if (is_text && is_address(tree->text)) {
        return true;
    }
    struct tr_text shown =
        is_text ? tr_arena_print(definition->scratch, "'%.*s'", TRI_SHOWN(tree->text))
                : tr_text_of(tr_tree_noun(tree));
    tri_report_add(definition->report, tree->place, "InvalidValue",
                   "%.*s is no address of a mail\nwrite one such as ops@example.org",
                   TRI_TEXT(shown));
    return false;
}

static void read_to(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct mail *mail = target;
    bool is_list = value->kind == TR_TREE_LIST;
    if (!is_list) {
        const struct tr_tree **one = tr_arena_array(definition->scratch, 1, sizeof *one);
        if (one != NULL) {
            one[0] = value;
        }
        mail->to = one;
        mail->to_count = one == NULL ? 0 : 1;
    } else {
        mail->to = (const struct tr_tree *const *)value->items;
        mail->to_count = value->count;
    }
    if (is_list && (value->count == 0 || value->count > TR_MAIL_ADDRESSES_MAX)) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "to has %u addresses\nwrite some, at most %u", value->count,
                       TR_MAIL_ADDRESSES_MAX);
        mail->is_wrong = true;
        return;
    }
    for (uint32_t i = 0; i < mail->to_count; i++) {
        /* What a value makes of an address is checked nowhere before it is a program's argument. */
        tri_notify_refuse_templates(definition, mail->to[i]);
        mail->is_wrong = !check_address(definition, mail->to[i]) || mail->is_wrong;
    }
}

static void read_subject(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct mail *mail = target;
    mail->is_wrong = !tri_keys_read_text(definition, value, &mail->subject) || mail->is_wrong;
    tri_notify_check_texts(definition, value);
}

static void read_text(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct mail *mail = target;
    mail->is_wrong = !tri_keys_read_text(definition, value, &mail->text) || mail->is_wrong;
    tri_notify_check_texts(definition, value);
}

static void read_mail(struct tri_definition *definition, const struct tr_tree *tree,
                      struct notify *notify)
{
    static const struct tri_key keys[] = {
        {"to", read_to, 0}, {"subject", read_subject, 0}, {"text", read_text, 0}};
    struct mail mail = {.subject = tr_text_of(MAIL_SUBJECT), .text = tr_text_of(MAIL_TEXT)};
    struct tr_buffer buffer;
    tri_keys_read_keys(definition, tree, "mail", keys, TR_COUNT_OF(keys), &mail);
    if (tree->kind == TR_TREE_MAP && tr_tree_find(tree, "to") == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "mail does not say to whom\nadd to: ADDRESS, or a list");
    }
    if (mail.is_wrong || mail.to_count == 0) {
        return;
    }
    tr_buffer_init(&buffer, 0);
    tr_buffer_map(&buffer, 3);
    tr_buffer_text_value(&buffer, tr_text_of("subject"));
    tr_buffer_text_value(&buffer, mail.subject);
    tr_buffer_text_value(&buffer, tr_text_of("text"));
    tr_buffer_text_value(&buffer, mail.text);
    tr_buffer_text_value(&buffer, tr_text_of("to"));
    tr_buffer_array(&buffer, mail.to_count);
    for (uint32_t i = 0; i < mail.to_count; i++) {
        tr_buffer_text_value(&buffer, mail.to[i]->text);
    }
    take_target(definition, tree, notify, &buffer);
}

/* ------------------------------------------------------------------ a notification */

static void add_phase(struct tri_definition *definition, const struct tr_tree *tree,
                      struct tr_notification *out)
{
    static const char *const words[] = {
#define TRI_WORD(name, number, text) [number] = (text),
        TR_NOTIFY_PHASES(TRI_WORD)
#undef TRI_WORD
    };
    uint32_t phase;
    if (tri_keys_read_word(definition, tree, words, TR_COUNT_OF(words), &phase)) {
        out->phases |= 1U << phase;
    }
}

static void read_on(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct notify *notify = target;
    if (value->kind != TR_TREE_LIST) {
        add_phase(definition, value, notify->out);
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        add_phase(definition, value->items[i], notify->out);
    }
    if (value->count == 0) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "on names no phase\nwrite some of: succeeded failed aborted timed_out "
                       "waiting");
    }
}

static void note_http(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct notify *notify = target;
    (void)definition;
    notify->ways[TR_NOTIFY_BY_HTTP] = value;
}

static void note_command(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct notify *notify = target;
    (void)definition;
    notify->ways[TR_NOTIFY_BY_COMMAND] = value;
}

static void note_mail(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct notify *notify = target;
    (void)definition;
    notify->ways[TR_NOTIFY_BY_MAIL] = value;
}

static void note_secrets(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct notify *notify = target;
    (void)definition;
    notify->secrets = value;
}

static void read_retries(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct notify *notify = target;
    (void)tri_keys_read_count(definition, value, 0, TR_RETRIES_MAX, &notify->out->retries);
}

static void read_backoff(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct notify *notify = target;
    tri_keys_read_backoff(definition, value, &notify->out->backoff);
}

static void read_timeout(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct notify *notify = target;
    if (tri_keys_read_duration(definition, value, &notify->out->timeout_ns) &&
        notify->out->timeout_ns > TIMEOUT_NS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "an attempt of a notification takes at most an hour\nwrite timeout: 1h, or "
                       "less");
    }
}

/* Reads the one way there is; what else there is, is told. */
static void read_way(struct tri_definition *definition, const struct tr_tree *tree,
                     struct notify *notify)
{
    uint32_t count = 0;
    for (uint8_t kind = 0; kind < TR_NOTIFY_KIND_COUNT; kind++) {
        notify->out->kind = notify->ways[kind] != NULL ? kind : notify->out->kind;
        count += notify->ways[kind] != NULL ? 1 : 0;
    }
    if (count != 1) {
        tri_report_add(definition->report, tree->place,
                       count == 0 ? "ValueRequired" : "InvalidValue",
                       "a notification goes by one of http, command and mail\n%s",
                       count == 0 ? "add http: {url: URL}, command: [PROGRAM] or mail: {to: "
                                    "ADDRESS}"
                                  : "keep one of them, and write a second notification");
        return;
    }
    const struct tr_tree *way = notify->ways[notify->out->kind];
    struct tr_text before = definition->key;
    if (notify->secrets != NULL && notify->out->kind != TR_NOTIFY_BY_COMMAND) {
        tri_report_add(
            definition->report, notify->secrets->place, "InvalidValue",
            "'secrets' beside '%s' has no meaning\n%s", tr_notify_kind_word(notify->out->kind),
            notify->out->kind == TR_NOTIFY_BY_HTTP ? "write it inside of http" : "remove it");
    }
    definition->key = tr_text_of(tr_notify_kind_word(notify->out->kind));
    switch ((enum tr_notify_kind)notify->out->kind) {
    case TR_NOTIFY_BY_HTTP:
        read_http(definition, way, notify);
        break;
    case TR_NOTIFY_BY_COMMAND:
        read_command(definition, way, notify);
        break;
    case TR_NOTIFY_BY_MAIL:
        read_mail(definition, way, notify);
        break;
    case TR_NOTIFY_KIND_COUNT:
        break;
    }
    definition->key = before;
}

static void read_one(struct tri_definition *definition, const struct tr_tree *tree,
                     struct tr_notification *out)
{
    static const struct tri_key keys[] = {
        {"on", read_on, 0},           {"http", note_http, 0},       {"command", note_command, 0},
        {"mail", note_mail, 0},       {"secrets", note_secrets, 0}, {"retries", read_retries, 0},
        {"backoff", read_backoff, 0}, {"timeout", read_timeout, 0},
    };
    struct notify notify = {.out = out};
    *out = (struct tr_notification){
        .folder = definition->folder,
        .retries = RETRIES,
        .backoff = {.first_ns = BACKOFF_FIRST_NS, .max_ns = BACKOFF_MAX_NS, .factor = 2},
        .timeout_ns = TIMEOUT_NS,
    };
    tri_keys_read_keys(definition, tree, "a notification", keys, TR_COUNT_OF(keys), &notify);
    if (tree->kind != TR_TREE_MAP) {
        return;
    }
    if (tr_tree_find(tree, "on") == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "the notification does not say when\nadd on: failed, or a list of phases");
    }
    read_way(definition, tree, &notify);
}

/* What is wrong has been told, and leaves no graph: so nothing need be left out here. */
void tri_keys_read_notify(struct tri_definition *definition, const struct tr_tree *tree,
                          const struct tr_notification **notifications, uint32_t *count)
{
    if (!tri_keys_expect_list(definition, tree, "notify")) {
        return;
    }
    if (tree->count > TR_NOTIFICATIONS_MAX) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "notify has %u notifications, more than %u\nleave some out", tree->count,
                       TR_NOTIFICATIONS_MAX);
        return;
    }
    struct tr_notification *items = tr_arena_array(definition->arena, tree->count, sizeof *items);
    for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
        read_one(definition, tree->items[i], &items[i]);
    }
    *notifications = items;
    *count = items == NULL ? 0 : tree->count;
}
