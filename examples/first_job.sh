#!/bin/sh
# Compress a checkpoint with curl: sh examples/first_job.sh model.pth [URL]
set -eu
FILE=$1
SERVER=${2:-http://127.0.0.1:8000}
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# With keys, add -H "Authorization: Bearer $CNET_API_KEY" to each call.
CHECKPOINT=$(curl -sS --fail-with-body -T "$FILE" -X POST "$SERVER/v1/checkpoints?filename=$(basename "$FILE")" | field id)
echo "uploaded $CHECKPOINT"

SPEC='{"checkpoint": "'$CHECKPOINT'", "quantize": {"name": "auto", "quality": "safe"}}'
JOB=$(curl -sS --fail-with-body --json "$SPEC" "$SERVER/v1/jobs" | field id)
echo "submitted $JOB"

STATUS=queued
while [ "$STATUS" = queued ] || [ "$STATUS" = running ] || [ "$STATUS" = cancelling ]; do
    STATUS=$(curl -sS --fail-with-body "$SERVER/v1/jobs/$JOB?wait=30" | field status)
    echo "$STATUS"
done
[ "$STATUS" = succeeded ]

curl -sS --fail "$SERVER/v1/jobs/$JOB/bundle" -o model.cnet.npz
curl -sS --fail "$SERVER/v1/jobs/$JOB/model?format=pt" -o model.pt
ls -l model.cnet.npz model.pt
