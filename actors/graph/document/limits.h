/*
 * Every limit of definitions and values, once and by name. Reaching one is an error that names it.
 *
 * They are wide enough for 100,000 nodes in one workflow, and narrow enough that a hostile file is
 * refused in milliseconds.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_LIMITS_H
#define TR_ACTORS_GRAPH_DOCUMENT_LIMITS_H

/* One file: a definition, an inputs file or a task's document. */
#define TR_FILE_BYTES_MAX (256U << 20)

/* One YAML file. Larger data belongs into JSON or into files of its own. */
#define TR_YAML_BYTES_MAX (64U << 20)

/* Keys of one YAML file, counted before it is parsed. */
#define TR_YAML_KEYS_MAX 800000U

/* Values of one document after aliases are followed. */
#define TR_TREE_NODES_MAX 4000000U

/* How deeply lists and mappings of a document may nest. */
#define TR_TREE_DEPTH_MAX 128U

/* Anchors of one YAML file. */
#define TR_YAML_ANCHORS_MAX 1024U

/* A name: of a task, a workflow, a node, a variable (examples/README.md). */
#define TR_GRAPH_NAME_BYTES_MAX 63U

/* The same in a document of Flyte's, whose names are paths of modules and more. */
#define TR_FLYTE_NAME_BYTES_MAX 255U

/* The id of an arm's node is its branch's with a suffix for each level. */
#define TR_GRAPH_ID_BYTES_MAX 255U

/* How deeply types nest, the parts of one type, its variants or enum values, and all types. */
#define TR_TYPE_DEPTH_MAX 16U
#define TR_TYPE_PARTS_MAX 256U
#define TR_TYPE_VARIANTS_MAX 32U
#define TR_TYPE_VALUES_MAX 1024U
#define TR_TYPES_MAX 16384U

/* How deeply values nest; messages that carry them nest a little more (TR_NESTING_MAX). */
#define TR_LITERAL_DEPTH_MAX 56U

/*
 * Messages of protobuf in each other: a value takes up to three. And the memory that one needs when
 * it is taken apart: of a list that is one element.
 */
#define TR_FLYTE_NESTING_MAX 192U

/* How deeply messages of any type (google.protobuf.Any) are in one another. */
#define TR_FLYTE_ANY_NESTING_MAX 8U
#define TR_FLYTE_BYTES_MAX (1ULL << 30)

/* Tries of union variants while one value is read, for each value in it and at least. */
#define TR_LITERAL_TRIES_EACH 64U
#define TR_LITERAL_TRIES_LEAST 100000U

/* One condition: its text, its parts, how deeply its brackets nest. */
#define TR_CONDITION_BYTES_MAX 65536U
#define TR_CONDITION_PARTS_MAX 1024U
#define TR_CONDITION_DEPTH_MAX 64U

/* The steps of a reference behind its name: `.field` and `[0]`. */
#define TR_REFERENCE_STEPS_MAX 32U

/* References in one text, and what stands between them. */
#define TR_INTERPOLATION_PIECES_MAX 1024U

/* Errors that one check reports; more are counted. */
#define TR_PROBLEMS_MAX 1000U

/* Bytes of a user's text that an error message shows. */
#define TR_SHOWN_BYTES_MAX 80U

/* Files of one definition. */
#define TR_INCLUDES_MAX 256U

/* Nodes of one workflow, arms of branches among them. */
#define TR_WORKFLOW_NODES_MAX 200000U

/* How deeply workflows hold workflows. */
#define TR_WORKFLOW_NESTING_MAX 64U

/* Nodes that a workflow comes to, with those of workflows inside it at each place of a call. */
#define TR_EXPANDED_NODES_MAX 10000000U

/* How deeply a switch holds a switch. */
#define TR_SWITCH_NESTING_MAX 16U

/* Variables of one interface. */
#define TR_VARIABLES_MAX 4096U

/* Words of one `run`. */
#define TR_RUN_WORDS_MAX 4096U

/* Retries of one attempt, and elements of a map that run at once. */
#define TR_RETRIES_MAX 10000U
#define TR_PARALLELISM_MAX 1000000U

/* Codes of one retry_on or never_retry_on, and the bytes of one, which are those of a failure's. */
#define TR_RETRY_CODES_MAX 64U
#define TR_RETRY_CODE_BYTES_MAX 255U

/*
 * Notifications of one workflow or launch plan; what one is sent to and with, packed; addresses of
 * one mail, and the bytes of one.
 */
#define TR_NOTIFICATIONS_MAX 64U
#define TR_NOTIFICATION_BYTES_MAX 65536U
#define TR_MAIL_ADDRESSES_MAX 64U
#define TR_MAIL_ADDRESS_BYTES_MAX 254U

/* Lines of requirements of one task, more of which belong into a file; folders that it mounts. */
#define TR_REQUIREMENTS_MAX 1024U
#define TR_MOUNTS_MAX 64U

/* Memory of one compiled graph and of what its compilation needs. */
#define TR_GRAPH_BYTES_MAX (2ULL << 30)

#endif
