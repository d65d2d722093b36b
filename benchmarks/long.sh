#!/bin/sh
# Documents of 2,048 tokens: a small ModernBERT that reads them whole, beside BERT-mini with windows of 512 and
# BERT-mini with the beginnings alone. Each gets the same minutes. Not run as a whole yet.
#
#   sh benchmarks/long.sh 'novels/*.txt' /tmp/long
#
# The texts are novels; benchmarks/novels.py makes the task. About two and a half hours on two cores.
set -eu
novels=$1 out=$2
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
minutes_32=${MINUTES_32:-14} minutes_long=${MINUTES_LONG:-6} minutes_task=${MINUTES_TASK:-6}
kbert="$python -m kbert"
vocabulary=$out/vocab.txt

records() { # length and predictions
  $kbert pretraining-data --input_files="$out/text/*.txt" --vocab_file="$vocabulary" --output_dir="$out/records_$1" \
    --pairing=full_sentences --split_sentences=en --masking=dynamic --dupe_factor=1 \
    --max_seq_length="$1" --max_predictions_per_seq="$2"
}
pretrained() { # name, longest texts, how many of them are in a batch; then settings of the encoder
  name=$1 longest=$2 batch=$3 && shift 3
  $kbert pretrain --config=configs/pretraining/one_hour_32_tokens.toml \
    --override=optimizer.train_minutes="$minutes_32" --override=encoder.max_position_embeddings="$longest" \
    --input_dir="$out/records_32" --run_dir="$out/${name}_32" "$@"
  $kbert pretrain --config=configs/pretraining/one_hour_128_tokens.toml --override=train_batch_size="$batch" \
    --override=optimizer.train_minutes="$minutes_long" --override=encoder.max_position_embeddings="$longest" \
    --input_dir="$out/records_$longest" --init_checkpoint="$out/${name}_32" --run_dir="$out/$name" "$@"
}
finetuned() { # encoder, name of the run, rows in a batch; then flags
  checkpoint=$out/$1 run=$out/finetuned_$2 batch=$3 && shift 3
  $kbert finetune --config=configs/finetuning/quickstart_pretrained.toml --precision=bfloat16 \
    --override=train_batch_size="$batch" --override=eval_batch_size=8 --override=optimizer.learning_rate=3e-4 \
    --override=optimizer.decay=budget --override=optimizer.train_minutes="$minutes_task" \
    --override=num_train_epochs=100 --override=eval_every_epochs=100 \
    --train_file="$out/train.tsv" --dev_file="$out/dev.tsv" --init_checkpoint="$checkpoint" --run_dir="$run" \
    --seeds=1,2,3,4,5 "$@"
}

$python -m benchmarks.novels --input_files="$novels" --output_dir="$out" --words=1300 --train_rows=16 --dev_rows=10
$kbert vocab --input_files="$out/text/*.txt" --output_file="$vocabulary" --vocab_size=8000
records 32 5
records 512 77
records 2048 308
pretrained bert 512 8
pretrained modern 2048 2 --override=encoder.preset=modernbert_base --override=encoder.hidden_size=256 \
  --override=encoder.num_hidden_layers=4 --override=encoder.num_attention_heads=4 \
  --override=encoder.intermediate_size=640
finetuned modern whole 8 --override=max_seq_length=2048
finetuned bert windows 32 --override=max_seq_length=512 --override=task_settings.long_texts=windows \
  --override=task_settings.doc_stride=510
finetuned bert cut 32 --override=max_seq_length=512
$python -m benchmarks.paired "$out/finetuned_windows" "$out/finetuned_whole" "$out/finetuned_cut"
