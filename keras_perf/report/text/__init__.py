"""Tables and lists, in every form they are told in."""
