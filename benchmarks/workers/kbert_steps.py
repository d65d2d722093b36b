"""kbert's own train step on masked LM and next sentence, for the workers of training."""


def model_and_steps(encoder: dict, precision: str, optimizer: dict, num_warmup_steps: int, strategy):
    """A model with random weights, and what makes its steps. All steps train this model.

    Args:
      encoder: the values of an `EncoderConfig`.
      precision: "bfloat16" stands for "mixed_bfloat16".
      optimizer: numbers of AdamW.
      num_warmup_steps: after them the rate is constant but for rounding.
      strategy: the `tf.distribute.Strategy`.

    Returns:
      (model, step_on): `step_on(batches, updates_per_step, **options)`, with options of `TrainStep`, is a
      function that takes so many updates on the next of the batches and returns their mean masked-LM loss.
    """
    import keras
    import tensorflow as tf

    from kbert.config import EncoderConfig, OptimizerConfig
    from kbert.encoder import BertEncoder
    from kbert.runs.run_directory import trained_weights
    from kbert.tasks.pretraining.objectives import Pretraining
    from kbert.training.evaluation_step import means
    from kbert.training.optimizers import make_optimizer
    from kbert.training.optimizers.schedule import make_schedule
    from kbert.training.train_step import TrainStep

    keras.utils.set_random_seed(1)
    precision = "mixed_bfloat16" if precision == "bfloat16" else precision
    task, adam = Pretraining(), OptimizerConfig(name="adamw", **optimizer)
    with strategy.scope():
        model = task.build_model(BertEncoder(EncoderConfig(**encoder), dtype=precision))
        weights_optimizer = make_optimizer(adam, trained_weights(model))
        global_step = tf.Variable(0, dtype=tf.int64, trainable=False)
    schedule = make_schedule(adam, 10**9, num_warmup_steps)

    def step_on(batches, updates_per_step=1, **options):
        step = TrainStep(
            task,
            model,
            weights_optimizer,
            schedule,
            global_step,
            strategy,
            seed=1,
            precision=precision,
            **options,
        )
        endless, updates = iter(batches), tf.constant(updates_per_step)
        return lambda: {"masked_lm_loss": float(means(step.run(endless, updates))["masked_lm_loss"])}

    return model, step_on
