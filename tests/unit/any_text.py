"""Text as hypothesis draws it, for names that come from outside."""

from hypothesis import strategies as st

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Control characters, marks of direction and surrogates among them."""

TAG_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
"""What a tag can hold: an event file's texts are UTF-8, which has no surrogates."""
