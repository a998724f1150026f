#!/bin/sh
# The same with curl: begins a registered launch plan once for each day, and says how it stands.
#
#     client.sh http://127.0.0.1:30080 nightly
base="$1/api/troupe/v1"
curl -sS --fail-with-body "$base/plans/default/development/$2/trigger" \
    -H 'content-type: application/json' -H "idempotency-key: $2 $(date -I)" -d '{}'
curl -sS --fail-with-body "$base/executions?plan=$2&limit=3"
