"""Solutions that files bring, and checking them."""
