"""What was observed, as small frozen records that know neither their maker nor their reader."""
