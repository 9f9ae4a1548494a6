"""What a person reads: diagnosis and comparison, as text, Markdown and frames."""
