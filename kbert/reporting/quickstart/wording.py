"""How the quickstart's figures are worded, on the page and in the table."""


def versions(results):
    return f"kbert {results['kbert_version']}, Python {results['python']}, TensorFlow {results['tensorflow']}"


def classifier_data(classifier):
    return (
        f"{classifier['num_train_examples']:,} training and {classifier['num_test_examples']:,} test "
        f"passages, {len(classifier['labels'])} labels"
    )


def over_seeds(result):
    """Accuracy, F1 and loss, each as mean and deviation."""
    shares = (f"{percent(result[name]['mean'])} ± {points(result[name])}" for name in ("accuracy", "f1"))
    return [*shares, f"{result['loss']['mean']:.2f} ± {result['loss']['deviation']:.2f}"]


def points(score):
    return f"{100 * score['deviation']:.1f}"


def num_seeds(result):
    return f"{len(result['accuracy']['values'])} seeds"


def differences(answers):
    return (
        f"at most {answers['max_difference']:.1e} in float32, "
        f"{answers['max_difference_int8']:.1e} with dynamic int8"
    )


def unknown_share(results):
    return f"{100 * results['vocabulary']['unknown_share']:.2f}%"


def percent(share):
    return f"{100 * share:.1f}%"


def milliseconds(value):
    return f"{value:.1f} ms"


def megabytes(num_bytes):
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 50_000 else f"{num_bytes / 1e3:.1f} kB"
