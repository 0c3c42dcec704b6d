"""What ``make bench`` runs: how fast the pipeline is beside plainer ways of doing the same."""
