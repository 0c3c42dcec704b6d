"""Commands that create batches and act on them."""
