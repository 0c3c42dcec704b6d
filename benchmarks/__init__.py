"""The benchmarks of ``make bench``: the speed of the pipeline compared with simpler alternatives."""
