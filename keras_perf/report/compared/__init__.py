"""Two runs beside each other: how much faster, which settings differ, which advice was taken."""
