"""Commands that read results and check solutions."""
