"""Text as hypothesis draws it, for names that come from outside."""

from hypothesis import strategies as st

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Control characters, marks of direction and surrogates among them."""
