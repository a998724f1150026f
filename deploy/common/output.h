/*
 * The forms in which results are written, for a command or for another program.
 */
#ifndef TR_DEPLOY_COMMON_OUTPUT_H
#define TR_DEPLOY_COMMON_OUTPUT_H

/* How results are printed, in the order of the words that -o takes. */
#define TR_OUTPUT_WORDS "text|json|yaml|name|table|wide|proto"
enum tr_output {
    TR_OUTPUT_TEXT,
    TR_OUTPUT_JSON,
    TR_OUTPUT_YAML,
    TR_OUTPUT_NAME,
    TR_OUTPUT_TABLE,
    TR_OUTPUT_WIDE,
    TR_OUTPUT_PROTO, /* a message of Flyte's */
};

#endif
