#!/bin/sh
# From raw text in a language to a classifier on two cores, with vocabularies of one's own and a multilingual
# one; docs/beyond.md has what came out.
#
#   sh benchmarks/language.sh 'novels/*.txt' multilingual/vocab.txt tweets/train.tsv tweets/dev.tsv /tmp/german
#
# The novels are as benchmarks/novels.py reads them; the TSV files have a header with label and text. An hour
# for each of the three encoders; MINUTES_32=5 MINUTES_128=1.25 makes a short one.
set -eu
novels=$1 multilingual=$2 train=$3 dev=$4 out=$5
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
language=${LANGUAGE_CODE:-de}
kbert="$python -m kbert"

records() { # of texts, of a length, into a folder; then flags
  texts=$1 length=$2 predictions=$3 folder=$4 && shift 4
  $kbert pretraining-data --input_files="$texts" --output_dir="$folder" --pairing=full_sentences \
    --split_sentences="$language" --dupe_factor=1 --max_seq_length="$length" \
    --max_predictions_per_seq="$predictions" "$@"
}
pretrained() { # length, minutes, name; then flags
  length=$1 minutes=$2 name=$3 && shift 3
  $kbert pretrain --config="configs/pretraining/one_hour_${length}_tokens.toml" \
    --override=optimizer.train_minutes="$minutes" --input_dir="$out/records_${name}_$length" \
    --eval_input_dir="$out/heldout_${name}_$length" --run_dir="$out/${name}_$length" "$@"
}
encoder() { # a name; then the flags of its tokenizer
  name=$1 && shift
  for shape in "32 5" "128 20"; do
    records "$out/text/*.txt" ${shape% *} ${shape#* } "$out/records_${name}_${shape% *}" --masking=dynamic "$@"
    records "$out/heldout/*.txt" ${shape% *} ${shape#* } "$out/heldout_${name}_${shape% *}" "$@"
  done
  pretrained 32 "${MINUTES_32:-52}" "$name"
  pretrained 128 "${MINUTES_128:-8}" "$name" --init_checkpoint="$out/${name}_32"
}
finetuned() { # encoder, run; then flags
  checkpoint=$1 run=$2 && shift 2
  $kbert finetune --config=configs/finetuning/quickstart_pretrained.toml --precision=bfloat16 \
    --override=train_batch_size=32 --override=num_train_epochs=3 --override=optimizer.learning_rate=3e-4 \
    --train_file="$train" --dev_file="$dev" --init_checkpoint="$checkpoint" --run_dir="$run" \
    --seeds=1,2,3,4,5 "$@"
}

$python -m benchmarks.novels --input_files="$novels" --output_dir="$out"
$kbert vocab --input_files="$out/text/*.txt" --output_file="$out/wordpiece.txt" --vocab_size=16000 --nodo_lower_case
$kbert vocab --input_files="$out/text/*.txt" --output_dir="$out/unigram" --vocab_size=16000 --tokenizer=unigram
encoder wordpiece --vocab_file="$out/wordpiece.txt" --nodo_lower_case
encoder unigram --tokenizer="$out/unigram"
encoder multilingual --vocab_file="$multilingual" --nodo_lower_case
for name in wordpiece unigram multilingual; do
  finetuned "$out/${name}_128" "$out/finetuned_$name"
done
finetuned "$out/wordpiece_128" "$out/finetuned_scratch" --from_scratch
$python -m benchmarks.paired "$out/finetuned_scratch" "$out/finetuned_wordpiece" "$out/finetuned_unigram" \
  "$out/finetuned_multilingual"
