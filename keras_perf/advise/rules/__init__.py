"""Each rule looks at a situation and recommends, or does not."""
