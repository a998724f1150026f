#!/bin/sh
# The tasks of flow.yaml. Inputs come as words; outputs are values of JSON, which `json` makes of a
# text.
set -eu

json() {
    printf '"'
    printf '%s\n' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' |
        awk 'NR > 1 { printf "%s", "\\n" } { gsub(/\t/, "\\t"); printf "%s", $0 }'
    printf '"'
}
outputs() { # NAME VALUE...
    before='{'
    while [ $# -gt 1 ]; do
        printf '%s"%s": %s' "$before" "$1" "$2"
        before=', '
        shift 2
    done >"$TROUPE_OUTPUTS"
    echo '}' >>"$TROUPE_OUTPUTS"
}
fail() { # CODE MESSAGE [false]
    printf '{"code": %s, "message": %s, "recoverable": %s}\n' \
        "$(json "$1")" "$(json "$2")" "${3-true}" >"$TROUPE_ERROR"
    exit 1
}
progress() { echo "$*" >"${TROUPE_PROGRESS:-/dev/stderr}"; }

case $1 in
split)
    list=
    for word in $2; do
        list="$list${list:+, }$(json "$word")"
    done
    [ -n "$list" ] || fail NothingToDo "the text has no words" false
    outputs words "[$list]"
    ;;
measure)
    progress "measuring $2"
    outputs size "${#2}" shown "$(json "<$2>")"
    ;;
esac
