"""Programs trained in turn: as they are, with what `try_advice` found, and mended by hand."""
