"""The machine: cores, processes, memory limits, host facts and speed."""
