"""The command `kbert`, and what its scripts share: how they start, what they say, how they end.

A script defines absl flags and calls `script.run(main)`; it ends with `closing_output.print_result`.
Work that takes long is named by `progress.activity`, or counted by `progress.Progress`.
"""
