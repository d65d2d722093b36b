#!/bin/sh
# One NVIDIA GPU in twenty minutes: does kbert run, and how fast beside Hugging Face; see docs/gpu.md.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
threads=${THREADS:-8}

nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version --format=csv
"$python" - <<'EOF'
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
if not gpus:
    raise SystemExit("error: TensorFlow sees no GPU; docs/install.md says how to install it with CUDA's libraries.")
print(tf.__version__, [tf.config.experimental.get_device_details(gpu) for gpu in gpus])
EOF

echo "== from raw text to predictions, with XLA on the GPU"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m kbert quickstart --output_dir="$folder/quickstart"

echo "== pretraining steps: kbert with XLA, Hugging Face with torch.compile, both in bfloat16"
while read -r encoder batch_size seq_length predictions; do
  "$python" -m benchmarks.training_step --encoder="$encoder" --batch_size="$batch_size" --seq_length="$seq_length" \
    --predictions="$predictions" --threads="$threads" --rounds=5 --steps_per_turn=2 --updates_per_step=10 \
    --contestants=kbert/bfloat16+compile,hugging_face/bfloat16,hugging_face/bfloat16+compile
done <<'EOF'
bert_base 64 128 20
bert_base 256 128 20
bert_base 16 512 76
bert_base 64 512 76
bert_large 32 128 20
bert_large 16 512 76
EOF
