"""The machine: cores, processes, memory limits, kernel counters and speed."""
