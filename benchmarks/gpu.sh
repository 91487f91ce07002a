#!/usr/bin/env bash
# Training on one GPU, in six minutes at most: time of a step with and without the loss, and of the same network as an
# exported program, in float32, bfloat16, compiled and without CUDA graphs; and a short job from training to bundle, once
# with the built-in network and once with the exported one. Prints Markdown; keeps a copy in $OUT/gpu.md where OUT is set.
#
#   PYTHON   the interpreter, with torch, numpy, pydantic and safetensors (default: python3). Packages it lacks can lie
#            in benchmarks/.packages, built for its version of Python:
#            pip install --target benchmarks/.packages --only-binary :all: --python-version 3.12 pydantic safetensors
#   DRY=1    the same on a CPU with next to nothing to do, to see that it runs
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD:$PWD/benchmarks/.packages"
export CUBLAS_WORKSPACE_CONFIG=:4096:8 # the product's own setting: deterministic matrix products
PYTHON="${PYTHON:-python3}"

if [ -n "${DRY:-}" ]; then
    patience=10
    steps=(--device cpu --architecture resnet20 --batch-size 8 --rounds 3 --warmup 1)
    compiled=(--device cpu --architecture lenet300_100 --batch-size 8 --rounds 3 --variants plain cnet exported)
    job=(--device cpu --architecture resnet20 --batch-size 32 --images 80 --epochs 1)
else
    patience=1
    steps=(--device cuda --architecture resnet32 --batch-size 128 --rounds 100 --warmup 15)
    compiled=("${steps[@]}" --variants plain cnet exported)
    job=(--device cuda --architecture resnet32 --batch-size 128 --images 50000 --epochs 2)
fi

section() { # title, seconds, command: what fails or takes too long is said, and the rest goes on
    printf '\n## %s\n\n' "$1"
    start=$SECONDS
    timeout "$(($2 * patience))" "${@:3}" 2>"$errors" || {
        status=$?
        failed=1
        printf '(ended with status %s; 124: took longer than %s s)\n' "$status" "$(($2 * patience))"
        tail -n 5 "$errors"
    }
    printf '\n(%s s in all)\n' "$((SECONDS - start))"
}

kept=/dev/null
if [ -n "${OUT:-}" ]; then kept="$OUT/gpu.md"; fi
failed=0
errors="$(mktemp)"
trap 'rm -f "$errors"' EXIT
{
    printf '# Training on a GPU\n\n'
    "$PYTHON" -c 'import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU", torch.__version__)'
    section 'A step, float32' 45 "$PYTHON" benchmarks/training.py "${steps[@]}"
    section 'A step, bfloat16' 35 "$PYTHON" benchmarks/training.py "${steps[@]}" --precision bfloat16
    section 'A short job, bfloat16' 75 "$PYTHON" benchmarks/job.py "${job[@]}" --precision bfloat16
    section 'A short job of an exported network, bfloat16' 60 "$PYTHON" benchmarks/job.py "${job[@]}" --precision bfloat16 --exported
    section 'A step, float32, each launch by itself' 30 "$PYTHON" benchmarks/training.py "${steps[@]}" --no-replay
    section 'A step, bfloat16, compiled' 110 "$PYTHON" benchmarks/training.py "${compiled[@]}" --precision bfloat16 --compile
    exit "$failed"
} | tee "$kept"
