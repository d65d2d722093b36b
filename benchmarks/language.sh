#!/bin/sh
# From raw text in a language to a classifier on two cores, with vocabularies of one's own and a multilingual
# one; docs/beyond.md has what came out.
#
#   sh benchmarks/language.sh 'novels/*.txt' multilingual/vocab.txt tweets/train.tsv tweets/dev.tsv /tmp/german
#
# The novels are as benchmarks/novels.py reads them; the TSV files have a header with label and text. An hour
# from text to classifier for each of the three encoders, four hours in all.
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
  pretrained 32 "${MINUTES_32:-35}" "$name"
  pretrained 128 "${MINUTES_128:-5}" "$name" --init_checkpoint="$out/${name}_32"
}
finetuned() { # encoder, name of the run, train file, dev file, epochs, learning rate; then flags
  checkpoint=$out/$1 run=$out/finetuned_$2 train_file=$3 dev_file=$4 epochs=$5 rate=$6 && shift 6
  $kbert finetune --config=configs/finetuning/quickstart_pretrained.toml --precision=bfloat16 \
    --override=train_batch_size=32 --override=num_train_epochs="$epochs" \
    --override=optimizer.learning_rate="$rate" --train_file="$train_file" --dev_file="$dev_file" \
    --init_checkpoint="$checkpoint" --run_dir="$run" --seeds=1,2,3,4,5 "$@"
}
finetuned_twice() { # encoder, name, learning rate for novels; then flags
  encoder=$1 name=$2 rate=$3 && shift 3
  finetuned "$encoder" "novels_$name" "$out/train.tsv" "$out/dev.tsv" 6 "$rate" "$@"
  finetuned "$encoder" "$name" "$train" "$dev" 3 3e-4 "$@"
}

$python -m benchmarks.novels --input_files="$novels" --output_dir="$out" --train_rows=100
$kbert vocab --input_files="$out/text/*.txt" --output_file="$out/wordpiece.txt" --vocab_size=16000 --nodo_lower_case
$kbert vocab --input_files="$out/text/*.txt" --output_dir="$out/unigram" --vocab_size=16000 --tokenizer=unigram
encoder wordpiece --vocab_file="$out/wordpiece.txt" --nodo_lower_case
encoder unigram --tokenizer="$out/unigram"
encoder multilingual --vocab_file="$multilingual" --nodo_lower_case
finetuned_twice wordpiece_128 scratch 1e-4 --from_scratch
for name in wordpiece unigram multilingual; do
  finetuned_twice "${name}_128" "$name" 5e-4
done
for runs in "$out/finetuned_novels" "$out/finetuned"; do
  $python -m benchmarks.paired \
    --run_dirs="${runs}_scratch,${runs}_wordpiece,${runs}_unigram,${runs}_multilingual"
done
