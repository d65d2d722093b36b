#!/bin/sh
# Documents of 2,048 tokens: a small ModernBERT that reads them whole, the same with windows of 512, BERT-tiny with
# windows, and with the first 512 tokens alone. Each gets the same minutes. docs/beyond.md has what came out.
#
#   taskset -c 0 sh benchmarks/long.sh 'novels/*.txt' /tmp/long
#
# The texts are novels; benchmarks/novels.py makes the task. Over an hour on one core, as its figures were measured.
set -eu
novels=$1 out=$2
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
minutes_32=${MINUTES_32:-5} minutes_long=${MINUTES_LONG:-3} minutes_task=${MINUTES_TASK:-2}
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
finetuned() { # encoder, name of the run; then flags
  checkpoint=$out/$1 run=$out/finetuned_$2 && shift 2
  $kbert finetune --config=configs/finetuning/quickstart_pretrained.toml --precision=bfloat16 \
    --override=eval_batch_size=8 --override=optimizer.learning_rate=1e-3 \
    --override=optimizer.decay=budget --override=optimizer.train_minutes="$minutes_task" \
    --override=num_train_epochs=100 --override=eval_every_epochs=100 \
    --train_file="$out/train.tsv" --dev_file="$out/dev.tsv" --init_checkpoint="$checkpoint" --run_dir="$run" \
    --seeds=1,2,3,4,5 "$@"
}
windows() { # encoder, name of the run
  finetuned "$1" "$2" --override=train_batch_size=8 --override=max_seq_length=512 \
    --override=task_settings.long_texts=windows --override=task_settings.doc_stride=510
}

$python -m benchmarks.novels --input_files="$novels" --output_dir="$out" \
  --words=1300 --train_rows=60 --dev_rows=10
$kbert vocab --input_files="$out/text/*.txt" --output_file="$vocabulary" --vocab_size=8000
records 32 5
records 512 77
records 2048 308
pretrained bert 512 8 --override=encoder.preset=bert_tiny
pretrained modern 2048 2 --override=encoder.preset=modernbert_base --override=encoder.hidden_size=128 \
  --override=encoder.num_hidden_layers=2 --override=encoder.num_attention_heads=2 \
  --override=encoder.intermediate_size=320
finetuned modern whole --override=train_batch_size=2 --override=max_seq_length=2048
windows modern windows_modern
windows bert windows_bert
finetuned bert cut_bert --override=train_batch_size=8 --override=max_seq_length=512
runs=$out/finetuned
$python -m benchmarks.paired \
  --run_dirs="${runs}_windows_bert,${runs}_windows_modern,${runs}_whole,${runs}_cut_bert"
