"""The options of Apache Beam, of which it leaves out those that it does not know."""

import shlex

import pytest

from tfrecords_tools.work.beam_pool import BeamPool

pytest.importorskip("apache_beam", reason="NOT RUN ON APACHE BEAM: pip install 'apache-beam==2.77.0'")
from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            "--runer=FlinkRunner --flink_master=h:1",
            "has --runer, which Beam does not know with",
        ),
        ("--runner=DirectRunner --direct_num_worker 4", "has --direct_num_worker, which Beam does not know"),
        ("runner=FlinkRunner", "holds 'runner=FlinkRunner', which is no option; write --NAME=VALUE"),
        ("-runner=FlinkRunner", "holds '-runner=FlinkRunner', which is no option"),
        ("--runner=DirectRunner 4", "holds '4', which is no option"),
        ("--runner=FlinkRuner", "Unexpected pipeline runner: FlinkRuner"),
        ("--runner 'x", "--beam_options=.* cannot be read: No closing quotation."),
        ("--direct_num_workers=two", "cannot be read: argument --direct_num_workers: invalid int value"),
        ("--help", "cannot be read: it asks for help."),
    ],
)
def test_what_beam_would_leave_out_is_refused(tmp_path, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        BeamPool(options, tmp_path)


@pytest.mark.parametrize(
    "options",
    ["", "--runner DirectRunner --direct_num_workers=2", "--runner=FlinkRunner --flink_master=h:1 --own=3"],
)
def test_options_that_a_runner_may_know_reach_it(tmp_path, options):
    parsed = BeamPool(options, tmp_path)._options
    assert parsed.get_all_options() == PipelineOptions(shlex.split(options)).get_all_options()
