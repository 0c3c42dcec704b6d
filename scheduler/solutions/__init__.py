"""Solutions in files, and their verification."""
