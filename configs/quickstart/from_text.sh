# What `make quickstart` runs, step by step; the line above a command is its title. At the end it reads what
# these commands have written, asks the classifier in every way, and makes the page.
#
# By hand, in the folder that holds configs: sh configs/quickstart/from_text.sh
# It needs the extras serve and litert (docs/install.md).
set -e
run=quickstart_run
text=configs/quickstart/text

# Vocabulary: WordPieces learned from the text
kbert vocab --input_files=$text/train.txt.xz --output_file=$run/vocab.txt \
    --vocab_size=6000 --num_unused_tokens=10

# As long as the passages that are classified: a position that pretraining never sees keeps random weights.
# Pretraining records, train: masked tokens and sentence pairs as TFRecords
kbert pretraining-data --input_files=$text/train.txt.xz \
    --vocab_file=$run/vocab.txt --output_dir=$run/records/train \
    --max_seq_length=64 --max_predictions_per_seq=10 --dupe_factor=10 --num_shards=8

# Pretraining records, heldout: masked tokens and sentence pairs as TFRecords
kbert pretraining-data --input_files=$text/heldout.txt.xz \
    --vocab_file=$run/vocab.txt --output_dir=$run/records/heldout \
    --max_seq_length=64 --max_predictions_per_seq=10 --dupe_factor=5 --num_shards=1

# Pretraining: masked LM and next sentence
kbert pretrain --config=configs/pretraining/smoke.toml --input_dir=$run/records/train \
    --eval_input_dir=$run/records/heldout --run_dir=$run/pretraining

# Once for each seed. The first is evaluated, exported and served: never the best, which only the test
# passages could tell.
# Fine-tuning: which area of the library does a passage describe?
kbert finetune --config=configs/finetuning/smoke.toml --init_checkpoint=$run/pretraining \
    --train_file=$text/train.tsv --dev_file=$text/dev.tsv \
    --other_dev_file=test=$text/test.tsv --seeds=1,2,3 \
    --run_dir=$run/classifiers

# The control: the same without pretraining
kbert finetune --config=configs/finetuning/smoke.toml --init_checkpoint=$run/pretraining \
    --train_file=$text/train.tsv --dev_file=$text/dev.tsv \
    --other_dev_file=test=$text/test.tsv --seeds=1,2,3 --from_scratch \
    --run_dir=$run/classifiers_from_scratch

# Evaluation: masked LM on held-out text
kbert evaluate --run_dir=$run/pretraining --input_dir=$run/records/heldout \
    --output_file=$run/masked_lm.json

# Prediction: filling masks
kbert predict --run_dir=$run/pretraining --output_file=$run/fill_mask.jsonl \
    --text='Return the number of [MASK] in the list.' \
    --text='This method raises a [MASK] if the key is not found.' \
    --text='If the file does not [MASK], an exception is raised.' \
    --text='The [MASK] is closed when the connection is lost.'

# Evaluation: the classifier of the first seed on modules it has not seen
kbert evaluate --run_dir=$run/classifiers/seed-1 \
    --eval_file=$text/test.tsv --output_file=$run/classifier.json

# Export: a SavedModel with tokenization in the graph
kbert export --run_dir=$run/classifiers/seed-1 \
    --model_base_path=$run/serving/library_area

# After minutes of training many answers are near ties, which int8 may tip: the report says how many.
# Export: LiteRT files
kbert export-litert --run_dir=$run/classifiers/seed-1 --output_dir=$run/litert \
    --quantization=float32,dynamic_int8 --eval_file=$text/test.tsv --min_agreement=0
